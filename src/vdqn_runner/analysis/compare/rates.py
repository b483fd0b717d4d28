"""The learning rate of each system: a rule fixed before its runs, applied to their logs.

Of 1e-3 and 1e-2 each system takes, on chains and on deep seas, the one with the higher mean return
over all episodes and tuning seeds of one environment of middling size; a tie goes to 1e-3. All
systems have the same budget. The tuning seeds are none of those that are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vdqn_runner.analysis.load import Run, load_episodes
from vdqn_runner.analysis.paper.learning_rates import RATES, better, constant_rate
from vdqn_runner.analysis.paper.measures import finished
from vdqn_runner.config.systems import system_name
from vdqn_runner.errors import RunError

Key = tuple[str, str]  # (kind of environment, system)


def mean_returns(runs: Sequence[Run]) -> dict[Key, dict[float, float]]:
    """Mean return by rate, for every kind of environment and system that has tuning runs.

    Raises:
        RunError: a run is there twice, or lacks a rate, a seed or an episode.
    """
    found: dict[Key, dict[float, float]] = {}
    for run in runs:
        key = str(run.config["env"]["kind"]), system_name(run.config["algo"])
        rate = constant_rate(run)
        if rate in found.setdefault(key, {}):
            raise RunError(f"{run.path}: a second run of {key[1]} on {run.env} at lr={rate:g}")
        episodes = load_episodes(run)
        done = finished(run, episodes)
        if not len(done) or len(done) < len(episodes):
            raise RunError(f"{run.path}: has seeds that are not finished")
        found[key][rate] = float(done["return"].mean())
    for key, by_rate in found.items():
        if set(by_rate) != set(RATES):
            raise RunError(f"{key[1]} on {key[0]}: has not the rates {RATES} but {list(by_rate)}")
    return dict(sorted(found.items()))


def choose(means: Mapping[Key, Mapping[float, float]]) -> dict[Key, float]:
    """The better rate for every kind of environment and system."""
    return {key: better(by_rate) for key, by_rate in means.items()}


def table_text(means: Mapping[Key, Mapping[float, float]]) -> str:
    """The content of `conf/system_lr.yaml`: the choice, and both means as comments."""
    choice = choose(means)
    lines = [
        "# Learning rate of each system on chains and on deep seas.",
        "# Written by `scripts/choose_system_lr.py`, read by experiment=deep_exploration through",
        "# ${system_lr:}. The rule: of 1e-3 and 1e-2 the one with the higher mean return over all",
        "# episodes and seeds of experiment=lr_systems, and 1e-3 in a tie. These means:",
        "#",
        f"#   {'environment':<12}{'system':<34}" + "".join(f"{rate:>9g}" for rate in RATES),
    ]
    for (kind, system), by_rate in means.items():
        numbers = "".join(f"{by_rate[rate]:>9.4f}" for rate in RATES)
        lines.append(f"#   {kind:<12}{system:<34}{numbers}")
    for kind in dict.fromkeys(kind for kind, _ in means):
        lines.append(f"{kind}:")
        lines += [f"  {key[1]}: {rate:g}" for key, rate in choice.items() if key[0] == kind]
    return "\n".join(lines) + "\n"
