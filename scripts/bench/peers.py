"""DQN of Stable-Baselines3 (torch) and of SBX (JAX) as contestants, one seed each.

Both keep their own loss (Huber) and SB3 its own clipping of gradients; what a step has to do is
set to be the same. JAX compiles in the warm-up, which is not timed.
"""

from collections.abc import Callable
from typing import Any

from scripts.bench.work import (
    BATCH,
    EPSILON,
    LEARNING_STARTS,
    LR,
    REPLAY,
    TARGET_PERIOD,
    Contestant,
    gamma,
    make_gym,
)

# What is imported, by the maker's name; all come with the extra ``bench``.
MODULES = {"sb3": "stable_baselines3", "sbx": "sbx"}


def sb3(task: Contestant) -> Callable[[int], None]:
    """Return a function that takes so many steps with Stable-Baselines3."""
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    return _advance(DQN("MlpPolicy", make_gym(task.env), device="cpu", **_settings(task)))


def sbx(task: Contestant) -> Callable[[int], None]:
    """Return a function that takes so many steps with SBX."""
    import torch
    from sbx import DQN

    torch.set_num_threads(1)
    model = DQN("MlpPolicy", make_gym(task.env), **_settings(task))
    if model.policy.n_units != task.width:
        raise RuntimeError("SBX did not take the width of the network")
    return _advance(model)


def _settings(task: Contestant) -> dict[str, Any]:
    return {
        "learning_rate": LR,
        "buffer_size": REPLAY,
        "learning_starts": LEARNING_STARTS,
        "batch_size": BATCH,
        "tau": 1.0,
        "gamma": gamma(task.env),
        "train_freq": 1,
        "gradient_steps": 1,
        "target_update_interval": TARGET_PERIOD,
        # So short a schedule is at its end at once.
        "exploration_fraction": 1e-9,
        "exploration_final_eps": EPSILON,
        "policy_kwargs": {"net_arch": [task.width, task.width]},
        "seed": 0,
    }


def _advance(model: Any) -> Callable[[int], None]:
    def advance(steps: int) -> None:
        model.learn(steps, reset_num_timesteps=False, log_interval=None)

    return advance
