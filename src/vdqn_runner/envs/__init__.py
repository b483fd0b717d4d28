"""Environments, stepped S seeds at a time; importing this registers our own with gymnasium."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import gymnasium

from vdqn_runner.envs import chain, deep_sea, stochastic_chain
from vdqn_runner.envs.chain import ChainEnv
from vdqn_runner.envs.chain_batch import ChainBatch
from vdqn_runner.envs.deep_sea_batch import DeepSeaBatch
from vdqn_runner.envs.gym_batch import GymBatch
from vdqn_runner.envs.spec import EnvBatch, EnvSpec, StepResult
from vdqn_runner.envs.stochastic_chain import StochasticChainBatch

if TYPE_CHECKING:
    from vdqn_runner.config import Env as EnvConfig

__all__ = [
    "ENV_IDS",
    "ChainBatch",
    "ChainEnv",
    "DeepSeaBatch",
    "EnvBatch",
    "EnvSpec",
    "GymBatch",
    "StepResult",
    "StochasticChainBatch",
    "make_envs",
]

ENV_IDS = {
    "chain": chain.ENV_ID,
    "stochastic_chain": stochastic_chain.ENV_ID,
    "deep_sea": deep_sea.ENV_ID,
}
"""Under which id gymnasium has each of our kinds."""

_ENTRY_POINTS = {
    chain.ENV_ID: "vdqn_runner.envs.chain:ChainEnv",
    stochastic_chain.ENV_ID: "vdqn_runner.envs.stochastic_chain:StochasticChainEnv",
    deep_sea.ENV_ID: "vdqn_runner.envs.deep_sea:DeepSeaEnv",
}
for _env_id, _entry_point in _ENTRY_POINTS.items():
    if _env_id not in gymnasium.registry:
        gymnasium.register(id=_env_id, entry_point=_entry_point)


def make_envs(env: "EnvConfig", seeds: Sequence[int]) -> EnvBatch:
    """Make one environment a seed, rows in the order of ``seeds``, no episode started yet.

    Raises:
        ConfigError: This environment cannot be made.
    """
    if env.kind == "chain":
        return ChainBatch(env.n, len(seeds))
    if env.kind == "stochastic_chain":
        return StochasticChainBatch(env.n, env.slip, seeds)
    if env.kind == "deep_sea":
        return DeepSeaBatch(env.n, env.stochastic, env.mapping_seed, seeds)
    return GymBatch(env.id, seeds, env.max_episode_steps)
