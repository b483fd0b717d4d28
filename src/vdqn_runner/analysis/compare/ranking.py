"""Which system is better over several environments (Agarwal et al. 2021).

Scores come as one array [..., S] for each environment; the axes before the last are those of
resamples. Seeds are resampled within each environment (a stratified bootstrap), so that every
environment keeps its weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from vdqn_runner.analysis.stats import CONFIDENCE, RESAMPLES, Floats

Estimate = tuple[float, float, float]
"""An estimate with the ends of its 95 % interval."""


def interquartile_mean(tasks: Sequence[Floats]) -> Floats:
    """Mean of the middle half of the scores of all seeds on all environments, ``[...]``."""
    return np.asarray(stats.trim_mean(np.concatenate(tasks, axis=-1), 0.25, axis=-1))


def probability_of_improvement(ours: Sequence[Floats], theirs: Sequence[Floats]) -> Floats:
    """Mean over environments of P(X > Y) + P(X = Y) / 2 for a random seed of each, ``[...]``."""
    chances = [_beats(x, y) for x, y in zip(ours, theirs, strict=True)]
    mean: Floats = np.mean(chances, axis=0)
    return mean


def with_interval(statistic: Callable[..., Floats], *groups: Sequence[Floats]) -> Estimate:
    """A statistic of one or more groups of scores, with its stratified bootstrap interval.

    The generator's seed is fixed, so the interval does not depend on what else is shown.

    Args:
        statistic: from a sequence of scores `[..., S]`, one for each environment, of each group
            to numbers `[...]`.
        groups: one array [S] for each environment.
    """
    rng = np.random.default_rng(0)
    values = statistic(
        *(
            [scores[rng.integers(len(scores), size=(RESAMPLES, len(scores)))] for scores in group]
            for group in groups
        )
    )
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(statistic(*groups)), float(low), float(high)


def _beats(x: Floats, y: Floats) -> Floats:
    x, y = x[..., :, None], y[..., None, :]
    chance: Floats = ((x > y) + 0.5 * (x == y)).mean(axis=(-2, -1))
    return chance
