"""Intrinsic rewards: what is added to the environment's where exploring is to pay by itself."""

from collections.abc import Sequence

from vdqn_runner.config import AlgoConfig
from vdqn_runner.envs import EnvSpec
from vdqn_runner.intrinsic.base import Inputs, Intrinsic, NoBonus
from vdqn_runner.intrinsic.vime import Vime

__all__ = ["Inputs", "Intrinsic", "NoBonus", "Vime", "make_intrinsic"]


def make_intrinsic(
    config: AlgoConfig, seeds: Sequence[int], spec: EnvSpec, inputs: Inputs, device: str
) -> Intrinsic:
    """Return the intrinsic reward that ``config`` asks for.

    Args:
        config: The algorithm's settings, ``vime`` among them.
        seeds: The S seeds that train in lockstep.
        spec: Their environment.
        inputs: How stored observations reach networks.
        device: Where networks live.
    """
    if config.vime.eta == 0.0:
        return NoBonus()
    return Vime(config.vime, config.learning_starts, seeds, spec, inputs, device)
