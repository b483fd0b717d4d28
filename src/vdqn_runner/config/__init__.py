"""The settings of a run: models, checks with one-line errors, and the run's identity."""

from vdqn_runner.config.build import build
from vdqn_runner.config.identity import identity, identity_mapping
from vdqn_runner.config.schedule import (
    AnySchedule,
    ConstantSchedule,
    ExponentialSchedule,
    LinearSchedule,
    PiecewiseSchedule,
)
from vdqn_runner.config.schema import (
    AlgoConfig,
    ChainEnv,
    DeepSeaEnv,
    DQNConfig,
    Env,
    EvaluateConfig,
    GymEnv,
    NetworkConfig,
    NoisyNetConfig,
    OptimizerConfig,
    ReplayConfig,
    RunConfig,
    StochasticChainEnv,
    VDQNConfig,
)

__all__ = [
    "AlgoConfig",
    "AnySchedule",
    "ChainEnv",
    "ConstantSchedule",
    "DQNConfig",
    "DeepSeaEnv",
    "Env",
    "EvaluateConfig",
    "ExponentialSchedule",
    "GymEnv",
    "LinearSchedule",
    "NetworkConfig",
    "NoisyNetConfig",
    "OptimizerConfig",
    "PiecewiseSchedule",
    "ReplayConfig",
    "RunConfig",
    "StochasticChainEnv",
    "VDQNConfig",
    "build",
    "identity",
    "identity_mapping",
]
