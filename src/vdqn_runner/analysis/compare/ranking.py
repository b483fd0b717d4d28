"""Which system is better over several environments (Agarwal et al. 2021).

Scores come as one array [S] for each environment; seeds are resampled within each environment
(a stratified bootstrap), so that every environment keeps its weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from vdqn_runner.analysis.stats import CONFIDENCE, RESAMPLES, Floats

Estimate = tuple[float, float, float]
"""An estimate with the ends of its 95 % interval."""


def interquartile_mean(tasks: Sequence[Floats]) -> float:
    """Mean of the middle half of the scores of all seeds on all environments."""
    return float(stats.trim_mean(np.concatenate(tasks), 0.25))


def probability_of_improvement(ours: Sequence[Floats], theirs: Sequence[Floats]) -> float:
    """Mean over environments of P(X > Y) + P(X = Y) / 2 for a random seed of each system."""
    return float(np.mean([_beats(x, y) for x, y in zip(ours, theirs, strict=True)]))


def with_interval(statistic: Callable[..., float], *groups: Sequence[Floats]) -> Estimate:
    """A statistic of one or more groups of scores, with its stratified bootstrap interval.

    The generator's seed is fixed, so the interval does not depend on what else is shown.
    """
    rng = np.random.default_rng(0)
    values = [
        statistic(*([scores[rng.integers(len(scores), size=len(scores))] for scores in group]
                    for group in groups))
        for _ in range(RESAMPLES)
    ]  # fmt: skip
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.quantile(values, tails)
    return statistic(*groups), float(low), float(high)


def _beats(x: Floats, y: Floats) -> float:
    greater = (x[:, None] > y).mean()
    return float(greater + (x[:, None] == y).mean() / 2)
