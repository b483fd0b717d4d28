"""Bootstrap intervals over seeds, and the size of the difference of two algorithms.

Whole seeds are resampled, those of two runs independently of each other. The interval is BCa where
it is defined, else the percentile interval (where all seeds agree, or nearly so). With 10 seeds a
nominal 95 % interval is somewhat too narrow: for normal values the percentile interval covers about
90 %, and so does BCa. A verdict of "reproduced" is to be read with that in mind.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from vdqn_runner.analysis.claims.result import Effect
from vdqn_runner.analysis.stats import CONFIDENCE, Floats

RESAMPLES = 9999
# A whole curve a seed costs a hundred times the memory and time of a number a seed.
CURVE_RESAMPLES = 1999


def mean_interval(values: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Interval of the mean over seeds of values [S], S >= 2."""
    return _interval((values,), _mean, RESAMPLES, rng)


def difference_interval(
    first: Floats, second: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """Interval of mean(first) - mean(second), over seeds [S] and [T], both at least 2."""
    return _interval((first, second), _difference, RESAMPLES, rng)


def distance(first: Floats, second: Floats) -> float:
    """Mean absolute difference of the mean curves of two algorithms, [S, I] and [T, I]."""
    return float(np.abs(first.mean(axis=0) - second.mean(axis=0)).mean())


def distance_interval(
    first: Floats, second: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """Interval of `distance`, over seeds [S, I] and [T, I], both S and T at least 2."""

    def of_seeds(chosen: Any, others: Any, axis: int = -1) -> Any:
        # Seeds are the last axis of the indices: [R, S] -> curves [R, S, I] -> means [R, I].
        ours = first[chosen].mean(axis=axis - 1)
        theirs = second[others].mean(axis=axis - 1)
        return np.abs(ours - theirs).mean(axis=-1)

    return _interval(
        (np.arange(len(first)), np.arange(len(second))), of_seeds, CURVE_RESAMPLES, rng
    )


def effect(names: tuple[str, str], first: Floats, second: Floats) -> Effect:
    """Probability of improvement and difference of means of first over second, [S] and [T]."""
    sign = np.sign(first[:, None] - second[None, :])
    improvement = float((sign.mean() + 1) / 2)
    return Effect(*names, improvement, float(first.mean() - second.mean()))


def _mean(values: Any, axis: int = -1) -> Any:
    return np.mean(values, axis=axis)


def _difference(first: Any, second: Any, axis: int = -1) -> Any:
    return np.mean(first, axis=axis) - np.mean(second, axis=axis)


def _interval(
    samples: Sequence[Any],
    statistic: Callable[..., Any],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            # Where every jackknife value is the same, BCa divides zero by zero: the NaN says so.
            warnings.simplefilter("ignore", RuntimeWarning)
            found = stats.bootstrap(
                samples,
                statistic,
                n_resamples=resamples,
                confidence_level=CONFIDENCE,
                method=method,
                vectorized=True,
                axis=-1,
                rng=rng,
            ).confidence_interval
        low, high = float(found.low), float(found.high)
        if np.isfinite([low, high]).all():
            break
    return low, high
