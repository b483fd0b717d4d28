"""What a report shows of each run, read from its folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import env_order, per_seed
from vdqn_runner.analysis.labels import labels, legend_order
from vdqn_runner.analysis.load import (
    VISIT_COLUMNS,
    Run,
    load_episodes,
    load_evaluations,
    load_status,
    load_updates,
)
from vdqn_runner.analysis.report.numbers import block_means, block_size
from vdqn_runner.analysis.stats import EPISODES_PER_ITERATION, Floats, stack
from vdqn_runner.runs.status import Status

_LAYER = re.compile(r"sigma_layer(\d+)_q(\d+)")


@dataclass(frozen=True)
class Series:
    """One quantity of one run along training.

    Attributes:
        seeds: the seeds, [S].
        x: iterations, counted from 0, that the values belong to, [I].
        values: [S, I]; NaN where a seed has none.
    """

    seeds: tuple[int, ...]
    x: Floats
    values: Floats


@dataclass(frozen=True)
class Shown:
    """A run and all that the report says of it.

    Attributes:
        run: the run.
        label: its name among the runs of its environment.
        look: colour and dash, the same in all panels.
        episodes_done: finished episodes, by seed.
        statuses: by seed.
        returns: training returns, one a whole iteration, [S, I]; I = 0 before the first.
        visits: visits of states by column of the log; empty unless the run is of a chain.
        sigma: quantiles of sigma by layer and percentage; empty where they are not logged.
        evaluations: mean returns of greedy trials by policy; empty where there are none.
    """

    run: Run
    label: str
    look: style.Look
    episodes_done: Mapping[int, int]
    statuses: Mapping[int, Status | None]
    returns: Series
    visits: Mapping[str, Series]
    sigma: Mapping[tuple[int, int], Series]
    evaluations: Mapping[str, Series]

    @property
    def env(self) -> str:
        """The environment as it is written in the page."""
        return self.run.env_name

    @property
    def folder(self) -> str:
        """`<name>/<env>/<algo>/<hash>`, which says nothing about the machine."""
        return "/".join(self.run.path.resolve().parts[1:][-4:])


def gather(runs: Sequence[Run]) -> list[Shown]:
    """Read the runs, ordered by environment and then as in a legend.

    Raises:
        RunError: a log that cannot be read.
    """
    names = labels(runs)
    looks = style.styles((run.algo, name) for run, name in zip(runs, names, strict=True))
    found = [_read(run, name, looks[name]) for run, name in zip(runs, names, strict=True)]
    return sorted(found, key=lambda one: (env_order(one.run), _place(one)))


def panels(runs: Sequence[Shown]) -> list[list[Shown]]:
    """The runs of each environment, in their order."""
    by_env: dict[str, list[Shown]] = {}
    for one in runs:
        by_env.setdefault(one.run.env, []).append(one)
    return list(by_env.values())


def for_chart(series: Series) -> Series:
    """The series itself, or where it has too many points the means of blocks of them."""
    block = block_size(len(series.x))
    if block == 1:
        return series
    return Series(
        series.seeds,
        block_means(series.x[None, :], block)[0],
        block_means(series.values, block),
    )


def _place(one: Shown) -> tuple[object, ...]:
    return (*legend_order(one.run.algo, one.label), str(one.run.path))


def _read(run: Run, label: str, look: style.Look) -> Shown:
    episodes, updates, evaluations = load_episodes(run), load_updates(run), load_evaluations(run)
    counts = episodes.groupby("seed").size()
    returns = _per_iteration(episodes, "return")
    visits = [c for c in VISIT_COLUMNS if run.n is not None and (run.n, c) != (3, VISIT_COLUMNS[1])]
    return Shown(
        run=run,
        label=label,
        look=look,
        episodes_done={seed: int(counts.get(seed, 0)) for seed in run.seeds},
        statuses=load_status(run),
        returns=returns,
        visits={column: _per_iteration(episodes, column) for column in visits},
        sigma=_sigma(updates),
        evaluations={
            str(policy): _evaluations(part)
            for policy, part in evaluations.groupby("policy", sort=True)
        },
    )


def _per_iteration(episodes: pd.DataFrame, column: str) -> Series:
    seeds = tuple(int(seed) for seed in sorted(episodes["seed"].unique()))
    values = per_seed(episodes, column)
    return Series(seeds, np.arange(values.shape[1], dtype=np.float64), values)


def _sigma(updates: pd.DataFrame) -> dict[tuple[int, int], Series]:
    found = {}
    for column in updates.columns:
        match = _LAYER.fullmatch(column)
        if match and updates[column].notna().any():
            groups = [(int(str(seed)), part) for seed, part in updates.groupby("seed")]
            values = stack([part[column].to_numpy(np.float64) for _, part in groups])
            longest = max((part for _, part in groups), key=len)
            x = longest["iteration"].to_numpy(np.float64)
            seeds = tuple(seed for seed, _ in groups)
            found[int(match[1]), int(match[2])] = Series(seeds, x, values)
    return found


def _evaluations(trials: pd.DataFrame) -> Series:
    """Mean over the trials of each seed; an evaluation after e episodes is at iteration e / 10."""
    table = trials.pivot_table(index="seed", columns="episode", values="return", aggfunc="mean")
    return Series(
        tuple(int(seed) for seed in table.index),
        table.columns.to_numpy(np.float64) / EPISODES_PER_ITERATION,
        table.to_numpy(np.float64),
    )
