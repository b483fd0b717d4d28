"""Replay spiking (Lipton et al. 2018): episodes of the best policy, before there are any others."""

from collections.abc import Sequence

import numpy as np

from vdqn_runner.envs import EnvBatch
from vdqn_runner.replay import Replay
from vdqn_runner.streams import Purpose


def spike(replay: Replay, envs: EnvBatch, seeds: Sequence[int], episodes: int) -> None:
    """Put ``episodes`` episodes of the best policy into the replay memory of every seed.

    Args:
        replay: Empty memories.
        envs: The environments of training; the episodes are played in fresh ones, of seed k named
            by (k, SPIKES). Their episodes all have the same length.
        seeds: The seeds of the memories.
        episodes: At least 0.

    Raises:
        ValueError: The environment does not know its best policy.
    """
    fresh = envs.fresh([_env_seed(seed) for seed in seeds])
    rows = np.arange(len(seeds))
    try:
        for _ in range(episodes):
            fresh.reset(rows)
            replay.begin(rows, fresh.observe())
            ended = False
            while not ended:
                actions = fresh.best_actions()
                if actions is None:
                    raise ValueError("nobody knows the best policy of this environment")
                result = fresh.step(actions)
                over = result.terminated | result.truncated
                replay.add(actions, result.reward, over, result.next_obs)
                ended = bool(over.all())
    finally:
        fresh.close()


def _env_seed(seed: int) -> int:
    sequence = np.random.SeedSequence([seed, int(Purpose.SPIKES)])
    return int(sequence.generate_state(1)[0] & 0x7FFFFFFF)
