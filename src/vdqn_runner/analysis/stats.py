"""Statistics of training curves: pure functions on arrays [S, I] (seeds, iterations).

A seed that is still training has fewer iterations than the others; it is padded with NaN at its
end, and every statistic of an iteration rests on the seeds that have completed that iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]

EPISODES_PER_ITERATION = 10
RESAMPLES = 2000
CONFIDENCE = 0.95
# Bounds the memory of one block of resampled values: 2^22 float64 are 32 MiB.
_BLOCK = 2**22


def iteration_means(values: ArrayLike) -> Floats:
    """Mean over each iteration of 10 episodes: [E] -> [E // 10].

    Episodes after the last complete iteration are left out.
    """
    array = np.asarray(values, dtype=np.float64)
    n = len(array) // EPISODES_PER_ITERATION
    complete = array[: n * EPISODES_PER_ITERATION].reshape(n, EPISODES_PER_ITERATION)
    return np.asarray(complete.mean(axis=1))


def stack(rows: Sequence[Floats]) -> Floats:
    """Rows of unequal length, one per seed, as one array [S, I] that is padded with NaN."""
    result = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for seed, row in enumerate(rows):
        result[seed, : len(row)] = row
    return result


def mean(values: Floats) -> Floats:
    """Mean over seeds: [S, ...] -> [...]."""
    return np.asarray(values.mean(axis=0))


def iqm(values: Floats) -> Floats:
    """Interquartile mean over seeds, [S, ...] -> [...] (Agarwal et al. 2021).

    The mean of what remains when floor(S / 4) values are cut off at each end.
    """
    cut = len(values) // 4
    return mean(np.sort(values, axis=0)[cut : len(values) - cut])


def bootstrap_interval(
    values: Floats,
    statistic: Statistic,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> tuple[Floats, Floats]:
    """Percentile bootstrap interval of a statistic over seeds, for each iteration.

    Whole seeds are resampled, the same ones in all iterations; each iteration has its own interval
    (pointwise, not a band for the whole curve). With one seed both ends equal the statistic. With
    few seeds such an interval is somewhat too narrow: for 5 normal values, 95 % covers about 82 %.

    Args:
        values: [S, I], no NaN.
        statistic: maps [S, ...] to [...], over the first axis.
        rng: the only source of randomness.
        resamples: number of bootstrap samples.
        confidence: nominal coverage, in (0, 1).

    Returns:
        The lower and the upper end, [I] each.
    """
    n_seeds, n_iterations = values.shape
    chosen = rng.integers(n_seeds, size=(n_seeds, resamples))
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    ends = np.empty((2, n_iterations))
    width = max(1, _BLOCK // chosen.size)
    for start in range(0, n_iterations, width):
        block = slice(start, start + width)
        ends[:, block] = np.quantile(statistic(values[chosen, block]), tails, axis=0)
    return ends[0], ends[1]


@dataclass(frozen=True)
class Summary:
    """A curve over seeds; entry i of each array [I] belongs to iteration i, counted from 0.

    Attributes:
        n_seeds: how many seeds have completed the iteration; never increases along the curve.
        center: the statistic over those seeds.
        low: lower end of its 95 % bootstrap interval.
        high: upper end.
    """

    n_seeds: NDArray[np.int64]
    center: Floats
    low: Floats
    high: Floats


def summarise(values: Floats, statistic: Statistic, rng: np.random.Generator) -> Summary:
    """Statistic and interval of every iteration over the seeds that have completed it.

    Args:
        values: [S, I]; NaN marks what a seed has not reached yet, and only ends a row.
        statistic: `mean` or `iqm`.
        rng: drives the bootstrap.
    """
    present = ~np.isnan(values)
    n_seeds = present.sum(axis=0)
    center, low, high = (np.empty(values.shape[1]) for _ in range(3))
    # Rows end in NaN, so iterations with as many seeds are neighbours and have the same seeds.
    for n in np.unique(n_seeds):
        columns = n_seeds == n
        part = values[present[:, columns.argmax()]][:, columns]
        center[columns] = statistic(part)
        low[columns], high[columns] = bootstrap_interval(part, statistic, rng)
    return Summary(n_seeds, center, low, high)
