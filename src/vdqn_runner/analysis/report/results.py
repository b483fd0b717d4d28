"""The table of what runs reached."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vdqn_runner.analysis.report.gather import Shown
from vdqn_runner.analysis.report.numbers import MISSING, mean_of, row_means, shown, with_interval
from vdqn_runner.analysis.report.tables import Cell, number_cell, table, text_cell
from vdqn_runner.analysis.stats import Floats

LAST = 10  # iterations


def results_html(runs: Sequence[Shown]) -> str:
    """A table with a row a run: returns in all, at the end, and of greedy trials."""
    policies = list(dict.fromkeys(policy for one in runs for policy in one.evaluations))
    header = [
        "Environment", "Run", "Seeds", "Return, all episodes",
        f"Return, last {10 * LAST} episodes", "Range of seeds",
        *(f"Greedy at the end, {policy}" for policy in policies),
    ]  # fmt: skip
    rows = [_row(one, policies) for one in runs]
    return table("Mean over seeds [95 % bootstrap interval]", header, rows)


def _row(one: Shown, policies: Sequence[str]) -> list[Cell]:
    ends = last(one.returns.values)
    return [
        text_cell(one.env),
        text_cell(one.label),
        number_cell(len(one.run.seeds), str(len(one.run.seeds))),
        _estimate(row_means(one.returns.values)),
        _estimate(ends),
        _range(ends[~np.isnan(ends)]),
        *(_greedy(one, policy) for policy in policies),
    ]


def last(values: Floats) -> Floats:
    """Mean of each seed's last `LAST` iterations; NaN for one that has fewer: [S, I] -> [S]."""
    result = np.full(len(values), np.nan)
    for i, row in enumerate(values):
        known = row[~np.isnan(row)]
        if len(known) >= LAST:
            result[i] = known[-LAST:].mean()
    return result


def at_end(values: Floats) -> Floats:
    """The last value of each seed that has any: [S, I] -> [<= S]."""
    rows = [row[~np.isnan(row)] for row in values]
    return np.array([row[-1] for row in rows if len(row)])


def _greedy(one: Shown, policy: str) -> Cell:
    if policy not in one.evaluations:
        return _estimate(np.array([]))
    return _estimate(at_end(one.evaluations[policy].values))


def _estimate(values: Floats) -> Cell:
    center, low, high = mean_of(values)
    return number_cell(center, with_interval(center, low, high))


def _range(values: Floats) -> Cell:
    if not len(values):
        return number_cell(math.nan, MISSING)
    low, high = float(values.min()), float(values.max())
    return number_cell(low, f"{shown(low)} to {shown(high)}")
