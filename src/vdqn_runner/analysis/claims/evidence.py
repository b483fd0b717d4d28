"""Which runs the claims rest on, and whether each is complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vdqn_runner.analysis.labels import algo_name, labels
from vdqn_runner.analysis.load import VISIT_COLUMNS, Run, load_episodes
from vdqn_runner.analysis.stats import Floats, iteration_means
from vdqn_runner.errors import ConfigError

NAME = "paper"
CHAIN_EPISODES = 2000
CONTROL_EPISODES = 1000
SEEDS = 10

# Environment and algorithm, such as ("chain-50", "dqn").
Key = tuple[str, str]


@dataclass(frozen=True)
class Evidence:
    """The paper's number of episodes of all seeds of one run.

    Attributes:
        env: `chain-50`, `CartPole-v1`.
        algo: `vdqn`, `dqn`, `noisynet`.
        n: number of states of the chain, 0 elsewhere.
        config: of the run.
        seeds: their numbers, in order.
        returns: [S, E].
        visits: of each column of the log, [S, E] of 0 and 1; empty unless a chain.
    """

    env: str
    algo: str
    n: int
    config: Mapping[str, Any]
    seeds: tuple[int, ...]
    returns: Floats
    visits: Mapping[str, Floats]

    @property
    def name(self) -> str:
        """The algorithm as the paper writes it, such as `NoisyNet`."""
        return algo_name(self.algo)

    @property
    def place(self) -> str:
        """The environment as the paper writes it, such as `N = 50`."""
        return f"N = {self.n}" if self.n else self.env

    @cached_property
    def iterations(self) -> Floats:
        """Mean return of each iteration, [S, I]."""
        return np.stack([iteration_means(row) for row in self.returns])

    def probability(self, column: str) -> Floats:
        """Visit probability `p_n` of each iteration, [S, I]."""
        return np.stack([iteration_means(row) for row in self.visits[column]])


def paper_runs(runs: Sequence[Run]) -> dict[Key, Run]:
    """The runs called `paper`, by environment and algorithm.

    Raises:
        ConfigError: two of them have the same environment and algorithm, so that it is not clear
            which the claims are about.
    """
    found: dict[Key, list[Run]] = {}
    for run in runs:
        if run.name == NAME:
            found.setdefault((run.env, run.algo), []).append(run)
    for (env, _), twins in found.items():
        if len(twins) > 1:
            shown = ", ".join(
                f"{label} ({run.path})" for run, label in zip(twins, labels(twins), strict=True)
            )
            raise ConfigError(
                f"{algo_name(twins[0].algo)} on {env}: {len(twins)} runs named {NAME}, and a claim "
                f"needs one: {shown}; name the folder of one of them, or move the others away"
            )
    return {key: twins[0] for key, twins in found.items()}


def read_evidence(run: Run, n_seeds: int) -> Evidence | str:
    """The complete run, or one line that says what it lacks."""
    asked = CONTROL_EPISODES if run.n is None else CHAIN_EPISODES
    name = f"{algo_name(run.algo)} on {run.env}"
    if run.episodes < asked:
        return f"{name} is a run of {run.episodes} episodes, not {asked} ({run.path})"
    episodes = load_episodes(run)
    counts = episodes.groupby("seed").size()
    seeds = sorted(run.seeds)
    short = [seed for seed in seeds if counts.get(seed, 0) < asked]
    if short:
        few = ", ".join(f"seed {seed} has {counts.get(seed, 0)}" for seed in short[:3])
        more = f" and {len(short) - 3} more are short" if len(short) > 3 else ""
        return f"{name} is unfinished: of {asked} episodes {few}{more} ({run.path})"
    if len(seeds) < n_seeds:
        return f"{name} has {len(seeds)} seeds, not {n_seeds} ({run.path})"
    columns = ("return",) if run.n is None else ("return", *VISIT_COLUMNS)
    used = episodes[episodes["episode"] < asked]
    tables = {c: used[c].to_numpy(dtype=np.float64).reshape(len(seeds), asked) for c in columns}
    returns = tables.pop("return")
    return Evidence(run.env, run.algo, run.n or 0, run.config, tuple(seeds), returns, tables)
