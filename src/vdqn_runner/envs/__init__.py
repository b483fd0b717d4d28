"""Environments, stepped S seeds at a time; importing this registers the chain with gymnasium."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import gymnasium

from vdqn_runner.envs.chain import ENV_ID, ChainEnv
from vdqn_runner.envs.chain_batch import ChainBatch
from vdqn_runner.envs.gym_batch import GymBatch
from vdqn_runner.envs.spec import EnvBatch, EnvSpec, StepResult

if TYPE_CHECKING:
    from vdqn_runner.config import ChainEnv as ChainConfig
    from vdqn_runner.config import GymEnv as GymConfig

__all__ = [
    "ENV_ID",
    "ChainBatch",
    "ChainEnv",
    "EnvBatch",
    "EnvSpec",
    "GymBatch",
    "StepResult",
    "make_envs",
]

if ENV_ID not in gymnasium.registry:
    gymnasium.register(id=ENV_ID, entry_point="vdqn_runner.envs.chain:ChainEnv")


def make_envs(env: "ChainConfig | GymConfig", seeds: Sequence[int]) -> EnvBatch:
    """Make one environment a seed, rows in the order of ``seeds``, no episode started yet.

    Raises:
        ConfigError: This environment cannot be made.
    """
    if env.kind == "chain":
        return ChainBatch(env.n, len(seeds))
    return GymBatch(env.id, seeds, env.max_episode_steps)
