"""What each system reached on each environment: one number a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from vdqn_runner.analysis.curves import CHAIN_OPTIMUM
from vdqn_runner.analysis.load import Run, load_episodes, load_status
from vdqn_runner.analysis.solve import NEVER, learned_episode, median_of_seeds, solved_episode
from vdqn_runner.analysis.stats import Floats
from vdqn_runner.config.systems import system_name
from vdqn_runner.errors import ConfigError

LEARNED, SETTLED = 0.1, 0.95
"""Shares of the best return: what a seed that has learned its task reaches, and one that has
settled stays at. The first is bsuite's for deep sea; it is low enough for systems that never stop
exploring by chance, which the second is not."""

OPTIMUM = {"chain": float(CHAIN_OPTIMUM), "deep_sea": 0.99}
"""The best return of the environments that can be compared, whatever their size."""


@dataclass(frozen=True)
class Entry:
    """One system on one environment.

    Attributes:
        system: its name.
        kind: of the environment: `chain` or `deep_sea`.
        size: N.
        scores: mean return over all training episodes, as a share of the best return, at least 0
            (moves cost in deep sea, and who never finds the treasure is not better for moving
            less): [S], seeds that are finished or diverged, in order. Episodes that a diverged seed
            never had return 0: what is left of it cannot act.
        episodes: until learned (`learned_episode`), [S]; `NEVER` where a seed has not.
        settled: how many seeds stay at the best return until the end (`solved_episode`).
        diverged: how many seeds diverged.
        limit: episodes that each seed had.
    """

    system: str
    kind: str
    size: int
    scores: Floats
    episodes: Floats
    settled: int
    diverged: int
    limit: int

    @property
    def env(self) -> str:
        """Label of the environment: `chain-50`."""
        return f"{self.kind}-{self.size}"

    @property
    def learned(self) -> int:
        """How many seeds have learned it."""
        return int((self.episodes <= self.limit).sum())

    def median(self) -> tuple[float, float, float]:
        """Median over seeds of the episodes, and its 95 % interval; above `limit` means never."""
        return median_of_seeds(self.episodes)


def entries(runs: Sequence[Run]) -> list[Entry]:
    """The entries of all runs that have finished seeds, by environment and in order of systems.

    Raises:
        ConfigError: two runs for one system on one environment, or no best return is known.
    """
    seen: dict[tuple[str, str], Run] = {}
    found = []
    for run in runs:
        kind = str(run.config["env"]["kind"])
        if kind not in OPTIMUM or run.config["env"].get("stochastic"):
            known = ", ".join(OPTIMUM)
            raise ConfigError(
                f"{run.path}: the best return is known of {known} without chance, not of {run.env}"
            )
        key = run.env, system_name(run.config["algo"])
        if key in seen:
            raise ConfigError(
                f"{key[0]} {key[1]}: two runs for one system, {seen[key].path} and {run.path}; "
                "give the folders of those to compare"
            )
        seen[key] = run
        entry = entry_of(run, load_episodes(run))
        if len(entry.scores):
            found.append(entry)
    order = {system: i for i, system in enumerate(systems(found))}
    return sorted(found, key=lambda e: (e.kind, e.size, order[e.system]))


def entry_of(run: Run, episodes: pd.DataFrame) -> Entry:
    """What the finished and the diverged seeds of a run reached."""
    kind, size = str(run.config["env"]["kind"]), int(run.config["env"]["n"])
    best = OPTIMUM[kind]
    returns, diverged = _returns(run, episodes)
    learned = [learned_episode(row, LEARNED * best) for row in returns]
    settled = [
        math.isfinite(solved_episode(row, SETTLED * best))
        for row, lost in zip(returns, diverged, strict=True)
        if not lost
    ]
    return Entry(
        system_name(run.config["algo"]),
        kind,
        size,
        np.array([row.mean() for row in returns]).clip(min=0.0) / best,
        np.nan_to_num(np.array(learned, dtype=np.float64), nan=NEVER),
        sum(settled),
        sum(diverged),
        run.episodes,
    )


def _returns(run: Run, episodes: pd.DataFrame) -> tuple[list[Floats], list[bool]]:
    """Returns [E] of each finished or diverged seed, and which of them diverged."""
    by_seed = {int(str(seed)): part.to_numpy() for seed, part in episodes.groupby("seed")["return"]}
    rows, diverged = [], []
    for seed, status in load_status(run).items():
        own = by_seed.get(seed, np.zeros(0))
        lost = len(own) < run.episodes and status is not None and status.diverged
        if lost or len(own) >= run.episodes:
            rows.append(np.pad(own, (0, max(0, run.episodes - len(own)))))
            diverged.append(lost)
    return rows, diverged


def systems(found: Sequence[Entry]) -> list[str]:
    """Names of the systems, the best mean score first."""
    names = sorted({entry.system for entry in found})
    mean = {
        name: np.mean([entry.scores.mean() for entry in found if entry.system == name])
        for name in names
    }
    return sorted(names, key=lambda name: -mean[name])
