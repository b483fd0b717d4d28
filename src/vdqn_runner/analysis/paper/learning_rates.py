"""The choice of the learning rate: a rule fixed before its runs, applied to their logs.

Of the paper's two rates, 1e-3 and 1e-2, each algorithm takes in each environment the one with the
higher mean return over all episodes and the tuning seeds; a tie goes to 1e-3. Both rates have the
same budget. The tuning seeds are none of those that figures use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from vdqn_runner.analysis.load import Run, load_episodes
from vdqn_runner.errors import RunError

RATES = (0.001, 0.01)  # the smaller first, which is how a tie is decided
ALGOS = ("vdqn", "dqn", "noisynet")
SEEDS = (1000, 1001, 1002)
EPISODES: Mapping[str, int] = {
    "chain-10": 500,
    "chain-32": 500,
    "chain-100": 500,
    "CartPole-v0": 300,
    "CartPole-v1": 300,
    "Acrobot-v1": 300,
    "MountainCar-v0": 300,
}


@dataclass(frozen=True)
class Score:
    """What one rate reached: mean return over all episodes of all tuning seeds."""

    env: str
    algo: str
    lr: float
    mean_return: float


def scores(runs: Sequence[Run]) -> list[Score]:
    """The scores of all tuning runs, in the order of `EPISODES`, `ALGOS` and `RATES`.

    Raises:
        RunError: a run is missing, there twice, or lacks a seed or an episode.
    """
    found: dict[tuple[str, str, float], Run] = {}
    for run in runs:
        key = run.env, run.algo, constant_rate(run)
        if key in found:
            raise RunError(f"{_name(key)}: there twice, {found[key].path} and {run.path}")
        found[key] = run
    wanted = list(product(EPISODES, ALGOS, RATES))
    missing = [_name(key) for key in wanted if key not in found]
    if missing:
        shown = "; ".join(missing[:6]) + (f"; {len(missing) - 6} more" if len(missing) > 6 else "")
        raise RunError(f"{len(missing)} of {len(wanted)} tuning runs are missing: {shown}")
    return [Score(*key, _mean_return(found[key])) for key in wanted]


def choose(scored: Sequence[Score]) -> dict[str, dict[str, float]]:
    """The better rate of each environment and algorithm: `{"chain-10": {"vdqn": 0.01}}`."""
    means: dict[str, dict[str, dict[float, float]]] = {}
    for s in scored:
        means.setdefault(s.env, {}).setdefault(s.algo, {})[s.lr] = s.mean_return
    return {
        env: {algo: better(by_rate) for algo, by_rate in row.items()} for env, row in means.items()
    }


def better(means: Mapping[float, float]) -> float:
    """The rate with the higher mean return, the smaller one in a tie."""
    return max(means, key=lambda rate: (means[rate], -rate))


def table_text(choice: Mapping[str, Mapping[str, float]], scored: Sequence[Score]) -> str:
    """The content of `conf/paper_lr.yaml`: the choice, and both scores as comments."""
    lines = [
        "# Learning rate of each algorithm and environment, as `scripts/choose_lr.py` writes it.",
        "# Experiments read it through ${paper_lr:...}; another chain takes the row of the nearest",
        "# N on a log scale. The rule: of 1e-3 and 1e-2 the one with the higher mean return over",
        f"# all episodes and the seeds {SEEDS[0]}-{SEEDS[-1]}, and 1e-3 in a tie. These means:",
        "#",
        f"#   {'environment':<16}{'algorithm':<11}" + "".join(f"{rate:>10g}" for rate in RATES),
    ]
    by_key = {(s.env, s.algo, s.lr): s.mean_return for s in scored}
    for env, row in choice.items():
        for algo in row:
            means = "".join(f"{by_key[env, algo, rate]:>10.3f}" for rate in RATES)
            lines.append(f"#   {env:<16}{algo:<11}{means}")
    for env, row in choice.items():
        rates = ", ".join(f"{algo}: {rate:g}" for algo, rate in row.items())
        lines.append(f"{env}: {{{rates}}}")
    return "\n".join(lines) + "\n"


def constant_rate(run: Run) -> float:
    """The learning rate of a run; -1 where it follows a schedule."""
    lr = run.config["algo"]["lr"]
    value = lr.get("value", -1.0) if isinstance(lr, Mapping) else lr
    return float(value)


def _name(key: tuple[str, str, float]) -> str:
    env, algo, lr = key
    return f"{env} {algo} lr={lr:g}"


def _mean_return(run: Run) -> float:
    episodes = load_episodes(run)
    wanted = EPISODES[run.env]
    tuning = episodes[episodes["seed"].isin(SEEDS)]
    counts = tuning.groupby("seed").size().reindex(SEEDS, fill_value=0)
    if run.episodes != wanted or (counts != wanted).any():
        had = ", ".join(f"seed {seed} has {count}" for seed, count in counts.items())
        raise RunError(f"{run.path}: of {wanted} episodes {had}")
    return float(tuning["return"].mean())
