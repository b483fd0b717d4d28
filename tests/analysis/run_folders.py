"""Writes run folders in the format of vdqn-run, with returns that look like learning."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import yaml

COLUMNS = ["seed", "episode", "iteration", "step", "return", "length", "terminated"]
VISITS = ["visited_first", "visited_middle", "visited_last"]


def chain(n: int) -> dict[str, Any]:
    return {"kind": "chain", "n": n, "gamma": 1.0}


def gym(name: str) -> dict[str, Any]:
    return {"kind": "gym", "id": name, "gamma": 0.99, "bootstrap_on_timeout": False}


def algo(name: str, lr: float = 0.001) -> dict[str, Any]:
    return {"name": name, "lr": {"kind": "constant", "value": lr}, "batch_size": 64}


def write_config(
    folder: Path, env: dict[str, Any], algo: dict[str, Any], episodes: int, **more: Any
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = {"episodes": episodes, "env": env, "algo": algo, **more}
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def write_seed(
    folder: Path, seed: int, returns: list[float], visits: list[tuple[int, int, int]] | None = None
) -> Path:
    """Log one seed; every episode is 5 steps long."""
    seed_folder = folder / f"seed-{seed:05d}"
    seed_folder.mkdir(parents=True, exist_ok=True)
    with (seed_folder / "episodes.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS + (VISITS if visits is not None else []))
        for e, value in enumerate(returns):
            row = [seed, e, e // 10, 5 * (e + 1), float(value), 5, 1]
            writer.writerow(row + (list(visits[e]) if visits else []))
    return seed_folder


def write_chain_run(
    folder: Path,
    n: int,
    name: str,
    *,
    seeds: int,
    episodes: int,
    tau: float,
    final: float = 1.0,
    lengths: list[int] | None = None,
    **settings: Any,
) -> Path:
    """A chain run whose probability of the best path grows to `final` in about `tau` episodes."""
    write_config(folder, chain(n), algo(name, **settings), episodes)
    for seed in range(seeds):
        rng = np.random.default_rng([seed, n, len(name)])
        start = tau * rng.uniform(0.6, 1.6)
        end = lengths[seed] if lengths else episodes
        p_best = final / (1 + np.exp(-(np.arange(end) - start) / (start / 5)))
        best = rng.random(end) < p_best
        middle = best | (rng.random(end) < 0.5 * np.exp(-np.arange(end) / tau))
        first = ~best & (rng.random(end) < 0.9)
        late = rng.integers(0, 2, end)
        returns = np.where(best, 11.0 - late, np.where(first, (n + 8) / 1000, 0.0))
        visits = list(zip(*(c.astype(int).tolist() for c in (first, middle, best)), strict=True))
        write_seed(folder, seed, returns.tolist(), visits)
    return folder


def write_gym_run(
    folder: Path, env: str, name: str, *, seeds: int, episodes: int,
    low: float, high: float, tau: float,
) -> Path:  # fmt: skip
    """A control run whose returns rise from `low` to `high` in about `tau` episodes."""
    write_config(folder, gym(env), algo(name), episodes)
    for seed in range(seeds):
        rng = np.random.default_rng([seed, len(env), len(name)])
        rise = 1 - np.exp(-np.arange(episodes) / (tau * rng.uniform(0.6, 1.6)))
        noise = rng.normal(0, 0.15, episodes)
        returns = low + (high - low) * np.clip(rise + noise, 0, 1)
        write_seed(folder, seed, np.round(returns).tolist())
    return folder
