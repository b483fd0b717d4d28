"""Replay memories: what was seen, and how minibatches are drawn from it."""

from vdqn_runner.config import ReplayConfig
from vdqn_runner.envs.spec import EnvSpec
from vdqn_runner.replay.prioritised import PrioritisedReplay
from vdqn_runner.replay.uniform import Transitions, UniformReplay

__all__ = ["PrioritisedReplay", "Replay", "Transitions", "UniformReplay", "make_replay"]

Replay = UniformReplay | PrioritisedReplay


def make_replay(n_seeds: int, spec: EnvSpec, config: ReplayConfig, episodes: int) -> Replay:
    """Return the empty memory that ``config`` describes, for so many ``episodes`` at most."""
    if config.alpha:
        return PrioritisedReplay(n_seeds, spec, config, episodes)
    return UniformReplay(n_seeds, spec, config.capacity, episodes)
