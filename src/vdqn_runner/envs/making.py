"""Making one gymnasium environment."""

import warnings
from typing import Any

import gymnasium

GymEnv = gymnasium.Env[Any, Any]


def make_gym_env(env_id: str, **settings: Any) -> GymEnv:
    """Return ``gymnasium.make(env_id, **settings)``, without its word about newer versions."""
    with warnings.catch_warnings():
        # An old version is asked for by name, so on purpose.
        warnings.filterwarnings("ignore", ".*is out of date", DeprecationWarning)
        env: GymEnv = gymnasium.make(env_id, **settings)
    return env
