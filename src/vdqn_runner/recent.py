"""The return that the progress line shows: of the last episodes of each seed."""

import math
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

EPISODES = 100
"""As many as ``vdqn-runs ls`` and ``vdqn-summary`` look at."""


class MeanReturn(NamedTuple):
    """A mean over seeds.

    Attributes:
        value: The mean; NaN if there is no seed in it.
        seeds: How many seeds are in it.
    """

    value: float = math.nan
    seeds: int = 0


class RecentReturns:
    """The returns of the last episodes of each seed.

    They are those that this process has seen end: of a seed that goes on from a checkpoint, the
    episodes before it are missing until it has had enough new ones, and a seed that was done before
    is not here. Seeds that are done now, or have failed, stay.
    """

    def __init__(self) -> None:
        self._returns: dict[int, deque[float]] = {}
        self._means: dict[int, float] = {}

    def add(self, seed: int, value: float) -> None:
        """Take note of an episode's return."""
        returns = self._returns.setdefault(seed, deque(maxlen=EPISODES))
        returns.append(value)
        self._means[seed] = math.fsum(returns) / len(returns)

    def mean(self) -> MeanReturn:
        """Return the mean over the seeds that have had an episode, of each one's own mean."""
        seeds = len(self._means)
        return MeanReturn(sum(self._means.values()) / seeds, seeds) if seeds else MeanReturn()


def joined(means: Iterable[MeanReturn]) -> MeanReturn:
    """Return the mean over the seeds of several processes."""
    known = [mean for mean in means if mean.seeds]
    seeds = sum(mean.seeds for mean in known)
    total = sum(mean.value * mean.seeds for mean in known)
    return MeanReturn(total / seeds, seeds) if seeds else MeanReturn()
