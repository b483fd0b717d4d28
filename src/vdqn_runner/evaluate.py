"""Greedy trials: what a seed has learned, told apart from how it explores.

Trial t of seed k after e episodes of training begins in an environment named by (k, EVALUATION,
e, t), the same for every policy, and sampled policies draw from the stream (k, EVALUATION_NOISE,
e). So a trial depends on the seed's parameters and these numbers alone, and training on no trial.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from vdqn_runner.algos.base import Algorithm, QFunction
from vdqn_runner.algos.bellman import greedy_in_trials
from vdqn_runner.config import EvaluateConfig
from vdqn_runner.envs import EnvBatch
from vdqn_runner.envs.spec import IntArray, RewardArray, StoredArray
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

COLUMNS = ("seed", "episode", "step", "policy", "trial", "return", "length")

Features = Callable[[StoredArray], Tensor]
"""From stored observations ``[S, B, ...]`` to what a network sees."""


def is_due(config: EvaluateConfig, episodes_done: int, episodes: int) -> bool:
    """Whether a seed is evaluated when it has finished ``episodes_done`` of its ``episodes``."""
    if config.every == 0:
        return False
    return episodes_done % config.every == 0 or episodes_done == episodes


def evaluate(
    algo: Algorithm,
    row: int,
    envs: EnvBatch,
    features: Features,
    trials: int,
    done: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Play ``trials`` trials with each policy of one seed; return their evaluations.csv rows.

    Args:
        algo: Its online parameters are evaluated; it is left as it is.
        row: The seed's row in ``algo``.
        envs: The environments of training; trials get fresh ones.
        features: How stored observations reach the networks.
        trials: T, at least 1.
        done: What the rows begin with: ``seed``, ``episode`` (episodes trained) and ``step``.
    """
    seed, episode = done["seed"], done["episode"]
    noise = NormalStreams.of([seed], Purpose.EVALUATION_NOISE, episode, device=algo.learner.device)
    rows = []
    for name, q in algo.q_functions(row, noise).items():
        fresh = envs.fresh([trial_seed(seed, episode, trial) for trial in range(trials)])
        try:
            returns, lengths = play(q, fresh, features, trials)
        finally:
            fresh.close()
        rows += [
            {**done, "policy": name, "trial": trial, "return": value, "length": length}
            for trial, (value, length) in enumerate(
                zip(returns.tolist(), lengths.tolist(), strict=True)
            )
        ]
    return rows


def trial_seed(seed: int, episode: int, trial: int) -> int:
    """Return the seed (0..2**64-1) of a trial's environment, ``episode`` episodes into training."""
    sequence = np.random.SeedSequence([seed, int(Purpose.EVALUATION), episode, trial])
    return int(sequence.generate_state(1, np.uint64)[0])


def play(
    q: QFunction, envs: EnvBatch, features: Features, trials: int
) -> tuple[RewardArray, IntArray]:
    """Play one episode, greedy in ``q``, in each of the T = ``trials`` fresh ``envs``.

    Returns:
        Returns float64 [T] and lengths int64 [T]. A trial ends where the environment ends it or
        its time limit does, and leaves the batch.
    """
    returns, lengths = np.zeros(trials), np.zeros(trials, np.int64)
    running = np.arange(trials)
    envs.reset(running)
    while len(running):
        result = envs.step(greedy_in_trials(q(features(envs.observe()[None]))))
        returns[running] += result.reward
        lengths[running] += 1
        ended = result.terminated | result.truncated
        if ended.any():
            kept = np.flatnonzero(~ended)
            envs.select(kept)
            running = running[kept]
    return returns, lengths
