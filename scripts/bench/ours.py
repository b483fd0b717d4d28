"""This project as a contestant: the training loop without its logs, for S seeds."""

from collections.abc import Callable

import numpy as np
import torch

from scripts.bench.work import (
    BATCH,
    EPSILON,
    LEARNING_STARTS,
    LR,
    REPLAY,
    TARGET_PERIOD,
    Contestant,
    chain_size,
    gamma,
)
from vdqn_runner.config import build
from vdqn_runner.train import Lockstep

# Enough for a full replay even where an episode lasts a few steps.
_EPISODES = 200_000
_STRETCH = 1_000


def lockstep(task: Contestant) -> Lockstep:
    """Return the batch of agents that the task describes, its replay filled as it says."""
    n = chain_size(task.env)
    env = {"kind": "gym", "id": task.env} if n is None else {"kind": "chain", "n": n}
    algo = {
        "name": task.algo,
        "lr": LR,
        "batch_size": BATCH,
        "target_period": TARGET_PERIOD,
        "learning_starts": LEARNING_STARTS,
        "network": {"hidden": [task.width, task.width]},
        "replay": {"capacity": REPLAY},
    }
    if task.algo == "dqn":
        algo["epsilon"] = EPSILON
    config = build(
        {
            "env": {**env, "gamma": gamma(task.env)},
            "algo": algo,
            "episodes": _EPISODES,
            "n_seeds": task.n_seeds,
        }
    )
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    batch = Lockstep(config, range(task.n_seeds))
    if task.stored:
        fill(batch, task.stored)
    return batch


def step(batch: Lockstep) -> None:
    """Take one step of every seed, as ``vdqn_runner.train.train`` does."""
    batch.begin_episodes()
    ended = batch.advance()
    batch.learn()
    batch.episodes += ended
    batch.starting |= ended


def make(task: Contestant) -> Callable[[int], None]:
    """Return a function that takes so many steps of every seed."""
    batch = lockstep(task)

    def advance(steps: int) -> None:
        for _ in range(steps):
            step(batch)

    return advance


def fill(batch: Lockstep, count: int) -> None:
    """Put ``count`` transitions of random acting into every seed's replay, without training.

    A stretch of real transitions is stored again and again: what a minibatch costs depends on
    where its transitions lie in memory, not on what they say.
    """
    stretch = _random_stretch(batch, min(count, _STRETCH))
    for i in range(count):
        begun, first_obs, transition = stretch[i % len(stretch)]
        if len(begun):
            batch.replay.begin(begun, first_obs)
        batch.replay.add(*transition)
    batch.starting[:] = True


def _random_stretch(batch: Lockstep, count: int) -> list:
    """Return ``count`` times (rows that begin, their observations, arguments of replay.add)."""
    random = np.random.default_rng(0)
    n_actions, n_seeds = batch.envs.spec.n_actions, len(batch.seeds)
    starting = np.ones(n_seeds, np.bool_)
    stretch = []
    for _ in range(count):
        begun = np.flatnonzero(starting)
        batch.envs.reset(begun)
        first_obs = batch.envs.observe()[begun]
        actions = random.integers(n_actions, size=n_seeds)
        result = batch.envs.step(actions)
        starting = result.terminated | result.truncated
        stretch.append((begun, first_obs, (actions, result.reward, starting, result.next_obs)))
    # Where the stretch is joined to itself, every seed begins an episode.
    if count and len(stretch[0][0]) == n_seeds:
        stretch[-1][2][2][:] = True
    return stretch
