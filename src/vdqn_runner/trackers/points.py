"""Rows of the logs as points: named numbers with a step and a time.

    episode/return, episode/length, ...          a finished episode
    update/loss, update/bellman_error, ...       a row of updates.csv
    evaluation/mean/return, .../sample/length    mean over the trials of a policy

The step is the environment step of the row. The time is the moment at which the seed was started
and the seconds that timing.csv counts until then, which stay the same when a row is sent again.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from vdqn_runner.runs.folder import EPISODES, EVALUATIONS, TIMING, UPDATES

Row = Mapping[str, str]

# What says which row it is, and is no figure.
_PLACE = frozenset({"seed", "episode", "iteration", "step"})
_FIGURES = ("return", "length")


@dataclass(frozen=True)
class Point:
    """The figures of one step.

    Attributes:
        step: The environment step.
        seconds: When, in seconds since 1970.
        values: Number by name; none of them is NaN, which stands for no number.
    """

    step: int
    seconds: float
    values: Mapping[str, float]


@dataclass
class Times:
    """When each step was, from the rows of timing.csv so far."""

    started: float
    _steps: list[int] = field(default_factory=lambda: [0])
    _seconds: list[float] = field(default_factory=lambda: [0.0])

    def add(self, rows: Iterable[Row]) -> None:
        """Take the next rows, which are in the order of their steps."""
        for row in rows:
            self._steps.append(int(row["step"]))
            self._seconds.append(self._seconds[-1] + float(row["seconds"]))

    def at(self, step: int) -> float:
        """Return the time of the last row not after ``step``: never that of a row to come."""
        return self.started + self._seconds[bisect_right(self._steps, step) - 1]


def start_of(moment: str) -> float:
    """Return a moment in ISO 8601 as seconds since 1970."""
    return datetime.fromisoformat(moment).timestamp()


def points(tables: Mapping[str, Sequence[Row]], times: Times) -> list[Point]:
    """Return the points of some steps, in their order, one for each step.

    Args:
        tables: All rows of these steps, by file name.
        times: Is given the rows of timing.csv.

    Raises:
        KeyError, ValueError: A row is none of the run's logs.
    """
    times.add(tables.get(TIMING, ()))
    figures: dict[int, dict[str, float]] = {}
    for name, group in ((EPISODES, "episode"), (UPDATES, "update")):
        for row in tables.get(name, ()):
            values = figures.setdefault(int(row["step"]), {})
            values |= {f"{group}/{k}": float(v) for k, v in row.items() if k not in _PLACE}
    for step, values in _evaluations(tables.get(EVALUATIONS, ())):
        figures.setdefault(step, {}).update(values)
    return [Point(step, times.at(step), _known(figures[step])) for step in sorted(figures)]


def _evaluations(rows: Iterable[Row]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield (step, mean figures) of each policy."""
    trials: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        trials.setdefault((int(row["step"]), row["policy"]), []).append(row)
    for (step, policy), same in trials.items():
        means = {name: math.fsum(float(row[name]) for row in same) / len(same) for name in _FIGURES}
        yield step, {f"evaluation/{policy}/{name}": mean for name, mean in means.items()}


def _known(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if not math.isnan(value)}
