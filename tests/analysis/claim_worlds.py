"""Two made-up sets of paper runs: one in which every claim is true, one in which none is.

A seed is described by its training return, and on the chain by which episodes took the best path.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from run_folders import COLUMNS, VISITS, algo, chain, gym, write_config

from vdqn_runner.analysis.claims.control import BARS
from vdqn_runner.analysis.claims.evidence import Evidence

SEEDS = 10
E = 2000
CONTROL_E = 1000
T = np.arange(E)
FAILURE = {"CartPole-v0": 10.0, "CartPole-v1": 10.0, "Acrobot-v1": -500.0, "MountainCar-v0": -200.0}


def chance(start, before=0.0, after=1.0):
    """Probability of the best path: one value, then from an episode on another."""
    return np.where(start > T, before, after)


def alternating(start, low):
    """Nothing until an episode, 150 good ones, then every second iteration at a lower chance."""
    later = np.where(start + 150 > T, 1.0, np.where(T // 10 % 2, low, 1.0))
    return np.where(start > T, 0.0, later)


def true_chance(n, name, rng):
    """A seed of the paper's story: probability of the best path in each episode."""
    late = rng.integers(-3, 4) * 10
    if name == "vdqn":
        start = {5: 60, 8: 100, 10: 80, 32: 200, 50: 250, 70: 350, 100: 900, 128: 1300}[n] + late
        ramp = np.clip(T / start, 0, 1) * 0.5 if n >= 100 else 0.4
        return np.where(start > T, ramp, 1.0)
    if name == "dqn":
        if n > 10:
            return np.zeros(E)
        return chance(400 + late, after=0.98)
    if n <= 10:
        return true_chance(n, "vdqn", rng)
    if n == 32:
        return alternating(500 + late, 0.5) if rng.random() < 0.7 else np.zeros(E)
    return alternating(900 + late, 0.5) if n == 50 else np.zeros(E)


def false_chance(n, name, rng):
    """A seed of the opposite story: VDQN loses what it has, the others learn long chains."""
    late = rng.integers(-3, 4) * 10
    if name == "vdqn":
        # Slowest on the short chains; from 100 on good at first and then lost.
        return chance(400 + late, before=0.5, after=0.0) if n >= 70 else np.zeros(E)
    if n in (5, 10):
        return np.full(E, 0.5) if name == "noisynet" else np.zeros(E)
    if n == 8:
        return chance(100, before=0.5, after=0.8) if name == "dqn" else (T % 10 < 3).astype(float)
    if n == 32:
        return chance(300 + late) if name == "dqn" else np.zeros(E)
    return chance(200 + late)


def chain_table(n, name, chances, rng):
    """Columns of one seed's log: returns and the three visits."""
    best = rng.random(E) < chances
    early = (T < 800) & (rng.random(E) < 0.05) if name == "dqn" else rng.random(E) < 0.3 * (T < 800)
    middle = best | early
    first = ~best
    returns = np.where(best, 11.0, (n + 8) / 1000)
    return returns, np.stack([first, middle, best], axis=1).astype(int)


def true_control(env, name, rng):
    """VDQN is halfway soon and at the top late; DQN rises late and at once."""
    t, bottom, top = np.arange(CONTROL_E), FAILURE[env], BARS[env] + 5
    late = rng.integers(-30, 30)
    if name == "vdqn":
        share = np.where(t < 50, 0.1, np.where(t < 600 + late, 0.6, 1.0))
    else:
        share = np.where(t < 300 + late, 0.05, 1.0)
    return bottom + (top - bottom) * share


def false_control(env, name, rng):
    """DQN rises first and slowly, VDQN late and at once; neither gets to the threshold."""
    other = {"vdqn": "dqn", "dqn": "vdqn"}[name]
    bottom = FAILURE[env]
    return bottom + 0.93 * (true_control(env, other, rng) - bottom)


STORIES = {"true": (true_chance, true_control), "false": (false_chance, false_control)}
KEYS = [
    *((n, name) for n in (5, 8, 10, 32, 50, 100, 128) for name in ("vdqn", "dqn", "noisynet")),
    (70, "vdqn"),
    *((env, name) for env in BARS for name in ("vdqn", "dqn")),
]


def settings(place: int | str, name: str) -> dict[str, Any]:
    more = {"epsilon": {"kind": "constant", "value": 0.1}} if name == "dqn" else {}
    env = chain(place) if isinstance(place, int) else gym(place)
    return {"env": env, "algo": algo(name) | more}


def seed_table(story: str, place: int | str, name: str, seed: int):
    """Returns [E] of one seed, and its visits [E, 3] or None."""
    rng = np.random.default_rng([seed, len(str(place)), sum(map(ord, f"{place}{name}"))])
    chances, control = STORIES[story]
    if isinstance(place, int):
        return chain_table(place, name, chances(place, name, rng), rng)
    return control(place, name, rng), None


def evidence(story: str, place: int | str, name: str, seeds: int = SEEDS) -> Evidence:
    """A run of a story as the claims see it, without files."""
    tables = [seed_table(story, place, name, seed) for seed in range(seeds)]
    n = place if isinstance(place, int) else 0
    visits = {
        column: np.stack([table[1][:, i] for table in tables]).astype(float)
        for i, column in enumerate(VISITS)
        if n
    }
    env = f"chain-{n}" if n else place
    returns = np.stack([table[0] for table in tables])
    return Evidence(env, name, n, settings(place, name), tuple(range(seeds)), returns, visits)


def run_folder(top: Path, place: int | str, name: str, run_name: str = "paper") -> Path:
    env = f"chain-{place}" if isinstance(place, int) else place
    return top / run_name / env / name / "0a1b2c3d"


def write_run(top: Path, story: str, place: int | str, name: str, seeds: int = SEEDS) -> Path:
    """Write a run of a story in the format of vdqn-run; returns its folder."""
    folder = run_folder(top, place, name)
    described = settings(place, name)
    episodes = E if isinstance(place, int) else CONTROL_E
    write_config(folder, described["env"], described["algo"], episodes)
    for seed in range(seeds):
        returns, visits = seed_table(story, place, name, seed)
        header = COLUMNS + (VISITS if visits is not None else [])
        ends = (
            [""] * episodes if visits is None else [f",{a},{b},{c}" for a, b, c in visits.tolist()]
        )
        rows = [
            f"{seed},{e},{e // 10},{5 * e + 5},{value},5,1{end}"
            for e, (value, end) in enumerate(zip(returns.tolist(), ends, strict=True))
        ]
        target = folder / f"seed-{seed:05d}"
        target.mkdir(parents=True)
        (target / "episodes.csv").write_text("\n".join([",".join(header), *rows]) + "\n")
    return folder


def write_world(top: Path, story: str) -> Path:
    """Write every run that the claims need."""
    for place, name in KEYS:
        write_run(top, story, place, name)
    return top
