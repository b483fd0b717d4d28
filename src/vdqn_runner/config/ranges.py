"""Intervals in which a setting must lie: they check a value and say themselves in words."""

import math
from dataclasses import dataclass
from typing import TypeVar

from pydantic_core import PydanticCustomError

from vdqn_runner.config.schedule import AnySchedule, extremes
from vdqn_runner.config.words import number

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Within:
    """The numbers from ``low`` to ``high``; works as a pydantic ``AfterValidator``.

    Attributes:
        low: Lower end.
        high: Upper end; infinity for none.
        above: Whether ``low`` itself is excluded.
        below: Whether ``high`` itself is excluded.
    """

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies in the interval."""
        over = value > self.low if self.above else value >= self.low
        under = value < self.high if self.below else value <= self.high
        return over and under

    def __str__(self) -> str:
        """The interval in words, as it follows "a number"."""
        start = f"{'above' if self.above else 'from'} {number(self.low)}"
        if math.isinf(self.high):
            return start if self.above else f"{start} up"
        return f"{start} to {'below ' if self.below else ''}{number(self.high)}"

    def __call__(self, value: Number) -> Number:
        """Return ``value``, or refuse it."""
        if not self.contains(value):
            raise PydanticCustomError("range", "outside the range")
        return value


@dataclass(frozen=True)
class ScheduleWithin:
    """Schedules whose values all lie in ``range`` and are not 0 throughout if ``some``."""

    range: Within
    some: bool = False

    def __str__(self) -> str:
        """The values in words, as they follow "a number"."""
        return f"{self.range}, not 0 throughout" if self.some else str(self.range)

    def __call__(self, schedule: AnySchedule) -> AnySchedule:
        """Return ``schedule``, or refuse it."""
        values = extremes(schedule)
        if not all(map(self.range.contains, values)) or (self.some and not any(values)):
            raise PydanticCustomError("range", "outside the range")
        return schedule
