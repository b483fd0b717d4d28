"""Numbers in a page: those that people read, and those that charts are drawn from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vdqn_runner.analysis.stats import Floats, Summary, mean, summarise

MISSING = "–"
# More points than this cannot be told apart in a panel.
MAX_POINTS = 1000
# Every interval is drawn from its own generator with this seed, as in the figures.
BOOTSTRAP_SEED = 0
_DIGITS = 5


def shown(value: float) -> str:
    """A number as a reader wants it: about three significant digits, and no exponent."""
    if not math.isfinite(value):
        return MISSING if math.isnan(value) else f"{value:g}"
    if value == 0:
        return "0"
    # Digits that rounding brings forth count: 0.9999 is 1.
    magnitude = math.floor(math.log10(float(f"{abs(value):.2e}")))
    text = f"{value:.{max(0, min(2 - magnitude, 9))}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def with_interval(value: float, low: float, high: float) -> str:
    """An estimate and its interval: `10.3 [9.8, 10.7]`."""
    return MISSING if math.isnan(value) else f"{shown(value)} [{shown(low)}, {shown(high)}]"


def compact(values: Sequence[float] | Floats) -> list[float | int | None]:
    """Numbers for a chart, to five significant digits; what is not finite is None."""
    result: list[float | int | None] = []
    for value in np.asarray(values, dtype=np.float64).tolist():
        rounded = float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
        whole = rounded is not None and rounded.is_integer() and abs(rounded) < 1e15
        result.append(int(rounded) if whole and rounded is not None else rounded)
    return result


def block_size(n_iterations: int) -> int:
    """How many iterations a point of a chart stands for: 1 unless there are very many."""
    return max(1, -(-n_iterations // MAX_POINTS))


def block_means(values: Floats, size: int) -> Floats:
    """Means of `size` iterations each, [S, I] -> [S, I // size]; NaN where one is missing."""
    n = values.shape[1] // size
    return np.asarray(values[:, : n * size].reshape(len(values), n, size).mean(axis=2))


def row_means(values: Floats) -> Floats:
    """Mean of what there is in each row, [R, C] -> [R]; NaN where there is nothing."""
    present = ~np.isnan(values)
    totals = np.where(present, values, 0).sum(axis=1)
    counts = present.sum(axis=1)
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def summary_of(values: Floats) -> Summary:
    """Mean over seeds of values [S, I] with its interval, over the seeds that have a value.

    Where values are missing at the ends of seeds alone it is the summary that the figures show.
    """
    present = ~np.isnan(values)
    if present.any(axis=0).all() and (present[:, 1:] <= present[:, :-1]).all():
        return summarise(values, mean, np.random.default_rng(BOOTSTRAP_SEED))
    n_seeds = present.sum(axis=0)
    ends = np.array([mean_of(column) for column in values.T]).reshape(-1, 3)
    return Summary(n_seeds, ends[:, 0], ends[:, 1], ends[:, 2])


def mean_of(values: Floats) -> tuple[float, float, float]:
    """Mean of one value a seed, [S], and its interval; NaN values do not count."""
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan, math.nan, math.nan
    summary = summary_of(known[:, None])
    return float(summary.center[0]), float(summary.low[0]), float(summary.high[0])
