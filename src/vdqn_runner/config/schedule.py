"""Numbers that change over training: constant, linear, exponential or piecewise linear.

A setting that takes a schedule also takes a bare number, which is the constant schedule.
"""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from vdqn_runner.config.model import Settings

Unit = Literal["steps", "episodes"]
UNIT = "what is counted: environment steps of one seed, or its episodes"


class ConstantSchedule(Settings):
    """The same value throughout."""

    kind: Literal["constant"] = "constant"
    value: float = Field(description="the value")


class LinearSchedule(Settings):
    """A straight line from ``start`` to ``end``, then ``end``."""

    kind: Literal["linear"] = "linear"
    start: float = Field(description="value at the beginning")
    end: float = Field(description="value after `duration`, kept from then on")
    duration: int = Field(
        ge=1, le=10**15, description="how many units the way from start to end takes"
    )
    unit: Unit = Field("steps", description=UNIT)


class ExponentialSchedule(Settings):
    """A geometric way from ``start`` to ``end``, then ``end``."""

    kind: Literal["exponential"] = "exponential"
    start: float = Field(gt=0, description="value at the beginning")
    end: float = Field(gt=0, description="value after `duration`, kept from then on")
    duration: int = Field(
        ge=1, le=10**15, description="how many units the way from start to end takes"
    )
    unit: Unit = Field("steps", description=UNIT)


Time = Annotated[int, Field(ge=0, le=10**15)]
Point = Annotated[tuple[Time, float], Field(strict=False)]


def _rising(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Return ``points`` if each time is later than the one before."""
    if any(late <= early for (early, _), (late, _) in pairwise(points)):
        raise PydanticCustomError("points", "times must rise")
    return points


class PiecewiseSchedule(Settings):
    """Straight lines between points, constant before the first and after the last."""

    kind: Literal["piecewise"] = "piecewise"
    points: Annotated[
        tuple[Point, ...], Field(strict=False, min_length=1), AfterValidator(_rising)
    ] = Field(description="[[time, value], ...], whole times from 0 up that rise")
    unit: Unit = Field("steps", description=UNIT)


AnySchedule = ConstantSchedule | LinearSchedule | ExponentialSchedule | PiecewiseSchedule


def _number_is_constant(value: object) -> object:
    """Turn a bare number into the mapping of a constant schedule."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"kind": "constant", "value": value}
    return value


Schedule = Annotated[
    Annotated[AnySchedule, Field(discriminator="kind")], BeforeValidator(_number_is_constant)
]


def extremes(schedule: AnySchedule) -> tuple[float, ...]:
    """Return values of ``schedule`` between which all of its values lie."""
    match schedule:
        case ConstantSchedule(value=value):
            return (value,)
        case LinearSchedule(start=start, end=end) | ExponentialSchedule(start=start, end=end):
            return (start, end)
        case PiecewiseSchedule(points=points):
            return tuple(value for _, value in points)
