"""When a seed has learned its task, and when it has solved it: the return stays where it should.

One iteration below the level is no failure: all three algorithms go on exploring, and on the chain
one left step in the first state costs an episode its whole return. An iteration is 10 episodes, so
a policy that fails in 2 % of its episodes, and so has 98 % of the best return, leaves nearly every
fifth iteration below 95 %. Hence the slack of a fifth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vdqn_runner.analysis.stats import (
    EPISODES_PER_ITERATION,
    Floats,
    bootstrap_interval,
    iteration_means,
)

SLACK = 0.2
WINDOW = 10  # iterations, so 100 episodes

NEVER = 1e12
"""Stands for "not solved" in order statistics: larger than any number of episodes, yet finite, so
that interpolation between it and a number gives no NaN."""


def solved_episode(
    returns: ArrayLike, threshold: float, slack: float = SLACK, window: int = WINDOW
) -> float:
    """First episode, a multiple of 10, from which the returns of one seed stay at a threshold.

    It is the start of the first iteration whose mean return is at least the threshold, such that
    of each of the following at most a share `slack` of iterations is below the threshold:

    1. the `window` iterations that begin with it (so that one lucky iteration is no start),
    2. all iterations from it to the end of the run,
    3. the last `window` iterations of the run (so that a run that loses it in the end has none).

    Args:
        returns: [E], one a finished episode, in order; the rest after the last complete iteration
            does not count.
        threshold: the least mean return of an iteration, in units of return.
        slack: share of iterations that may be below, in [0, 1).
        window: in iterations, at least 1.

    Returns:
        The episode, counted from 0; NaN if there is none, as in a run shorter than `window`. A mean
        over seeds must treat NaN as censored: see `censored`.

    Raises:
        ValueError: slack or window is out of range.
    """
    if not 0 <= slack < 1 or window < 1:
        raise ValueError(f"slack={slack} must be in [0, 1) and window={window} at least 1")
    means = iteration_means(returns)
    below = ~(means >= threshold)
    # Entry i is the number of iterations before i that are below.
    before = np.concatenate([[0], np.cumsum(below)])
    n, total = len(below), before[-1]
    starts = np.arange(n - window + 1) if n >= window else np.arange(0)
    good = ~below[starts]
    good &= before[starts + window] - before[starts] <= slack * window
    good &= total - before[starts] <= slack * (n - starts)
    if not good.any() or total - before[n - window] > slack * window:
        return float("nan")
    return float(good.argmax() * EPISODES_PER_ITERATION)


def learned_episode(returns: ArrayLike, threshold: float) -> float:
    """How many episodes a seed needs until the last 100 return a threshold on average.

    Those before the first count 0, and nothing is asked of what comes after. With a tenth of the
    best return as the threshold that is an average regret below 0.9, bsuite's measure of deep sea
    (Osband et al., 2020).

    Args:
        returns: [E], one a finished episode, in order.
        threshold: the least mean return, above 0, in units of return.

    Returns:
        A number of episodes, 1 to E; NaN if they are too few.

    Raises:
        ValueError: the threshold is not above 0.
    """
    if threshold <= 0:
        raise ValueError(f"threshold={threshold} must be above 0")
    count = WINDOW * EPISODES_PER_ITERATION
    sums = np.cumsum(np.concatenate([np.zeros(count), np.asarray(returns, dtype=np.float64)]))
    # Sums of rounded numbers: one that is at the threshold is not to miss it by its last digits.
    good = (sums[count:] - sums[:-count]) / count >= threshold * (1 - 1e-9)
    return float(good.argmax() + 1) if good.any() else float("nan")


def median_of_seeds(episodes: Floats) -> tuple[float, float, float]:
    """Median over seeds of the episodes until solved or learned, and its 95 % bootstrap interval.

    The generator's seed is fixed, so the interval does not depend on what else is shown.

    Args:
        episodes: [S], `NEVER` where a seed has not done it; so a result may be as large.
    """
    low, high = bootstrap_interval(
        episodes[:, None], lambda v: np.median(v, axis=0), np.random.default_rng(0)
    )
    return float(np.median(episodes)), float(low[0]), float(high[0])


def censored(episodes: ArrayLike, limit: int) -> Floats:
    """Episodes with NaN (never solved) replaced by the length of the run.

    A mean of the result is a lower bound on the mean number of episodes wherever one was replaced.
    """
    array = np.asarray(episodes, dtype=np.float64)
    return np.where(np.isnan(array), float(limit), array)
