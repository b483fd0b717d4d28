"""What each system reached on each environment: one number a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from vdqn_runner.analysis.curves import CHAIN_OPTIMUM
from vdqn_runner.analysis.load import Run, load_episodes
from vdqn_runner.analysis.paper.measures import finished
from vdqn_runner.analysis.solve import NEVER, median_of_seeds, solved_episode
from vdqn_runner.analysis.stats import Floats
from vdqn_runner.config.systems import system_name
from vdqn_runner.errors import ConfigError

SHARE = 0.95
OPTIMUM = {"chain": float(CHAIN_OPTIMUM), "deep_sea": 0.99}
"""The best return of the environments that can be compared, whatever their size."""


@dataclass(frozen=True)
class Entry:
    """One system on one environment.

    Attributes:
        system: its name.
        kind: of the environment: `chain` or `deep_sea`.
        size: N.
        scores: mean return over all training episodes, as a share of the best return: [S],
            finished seeds only, in the order of the seeds.
        episodes: until solved, [S]; `NEVER` where a seed has not solved it.
        limit: episodes that each seed had.
    """

    system: str
    kind: str
    size: int
    scores: Floats
    episodes: Floats
    limit: int

    @property
    def env(self) -> str:
        """Label of the environment: `chain-50`."""
        return f"{self.kind}-{self.size}"

    @property
    def solved(self) -> int:
        """How many seeds have solved it."""
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
    """What the finished seeds of a run reached."""
    kind, size = str(run.config["env"]["kind"]), int(run.config["env"]["n"])
    best = OPTIMUM[kind]
    by_seed = finished(run, episodes).groupby("seed")["return"]
    solved = [solved_episode(part.to_numpy(), SHARE * best) for _, part in by_seed]
    return Entry(
        system_name(run.config["algo"]),
        kind,
        size,
        by_seed.mean().to_numpy(dtype=np.float64) / best,
        np.nan_to_num(np.array(solved, dtype=np.float64), nan=NEVER),
        run.episodes,
    )


def systems(found: Sequence[Entry]) -> list[str]:
    """Names of the systems, the best mean score first."""
    names = sorted({entry.system for entry in found})
    mean = {
        name: np.mean([entry.scores.mean() for entry in found if entry.system == name])
        for name in names
    }
    return sorted(names, key=lambda name: -mean[name])
