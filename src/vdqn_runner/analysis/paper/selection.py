"""Which runs belong to which figure, by the name under which they were trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from vdqn_runner.analysis.labels import labels
from vdqn_runner.analysis.load import Run, load_episodes, unfinished
from vdqn_runner.analysis.stats import EPISODES_PER_ITERATION
from vdqn_runner.errors import ConfigError

PAPER, LAMBDA, ABLATION, RATES, DEEP_SEA = "paper", "lambda", "ablation", "lr", "deep_sea"
MAP_IS_DQN, COLD_POSTERIOR, INFERENCE = "map_is_dqn", "cold_posterior", "inference"
LR_SYSTEMS, DEEP_EXPLORATION = "lr_systems", "deep_exploration"
OPTUNA, OPTUNA_CHECK = "optuna", "optuna_check"
APART = {
    LAMBDA, ABLATION, RATES, DEEP_SEA, MAP_IS_DQN, COLD_POSTERIOR, INFERENCE, LR_SYSTEMS,
    DEEP_EXPLORATION, OPTUNA, OPTUNA_CHECK,
}  # fmt: skip
"""Names of experiments whose runs are not the paper's."""

Key = tuple[str, str]  # (env, algo)


@dataclass(frozen=True)
class Loaded:
    """A run whose episodes are read when they are first asked for."""

    run: Run

    @cached_property
    def episodes(self) -> pd.DataFrame:
        """The finished episodes of all seeds."""
        return load_episodes(self.run)

    @property
    def started(self) -> bool:
        """Whether a seed has completed an iteration, so that there is something to draw."""
        return bool((self.episodes["episode"] >= EPISODES_PER_ITERATION - 1).any())

    @property
    def note(self) -> str:
        """One line about unfinished seeds; "" if there are none."""
        return unfinished(self.run, self.episodes)


@dataclass(frozen=True)
class Selection:
    """The runs of the figures.

    Attributes:
        paper: one run for each (environment, algorithm).
        lam: the runs of the experiment `lambda`.
        ablation: the runs of the experiments `ablation_*`.
        map_is_dqn: the runs of the experiments `map_is_dqn` and `map_is_dqn_reference`.
        cold_posterior: the runs of the experiment `cold_posterior`.
        inference: the runs of the experiment `inference`.
    """

    paper: Mapping[Key, Loaded]
    lam: Sequence[Loaded]
    ablation: Sequence[Loaded]
    map_is_dqn: Sequence[Loaded]
    cold_posterior: Sequence[Loaded]
    inference: Sequence[Loaded]

    def missing(self, keys: Sequence[Key]) -> list[Key]:
        """Those of the keys that have no run, or one without a complete iteration."""
        return [key for key in keys if key not in self.paper or not self.paper[key].started]


def select(runs: Sequence[Run]) -> Selection:
    """Sort runs by what they are for.

    The figures of the paper take the runs named `paper`. Where there are none, they take all runs
    whose name is not that of another experiment, so that `quick` ones can be drawn as well.

    Raises:
        ConfigError: two configs for one panel.
    """
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.name, []).append(run)
    others = [run for name, group in by_name.items() if name not in APART for run in group]
    paper: dict[Key, Run] = {}
    for run in by_name.get(PAPER) or others:
        key = run.env, run.algo
        if key in paper:
            raise ConfigError(_two_configs(paper[key], run))
        paper[key] = run
    return Selection(
        {key: Loaded(run) for key, run in paper.items()},
        *(
            [Loaded(run) for run in by_name.get(name, [])]
            for name in (LAMBDA, ABLATION, MAP_IS_DQN, COLD_POSTERIOR, INFERENCE)
        ),
    )


def _two_configs(one: Run, other: Run) -> str:
    names = [label.partition(" ")[2] or "name alone" for label in labels([one, other])]
    return (
        f"{one.env} {one.algo}: two runs for one panel, {one.path} ({names[0]}) and "
        f"{other.path} ({names[1]}); give the folders of those to show"
    )
