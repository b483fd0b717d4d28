"""The work of a step, the same for every contestant.

One environment step, one replay entry, one gradient step of Adam on a minibatch of 64 for a
network of 100-100; the target is copied every 100 steps; what is timed begins after the warm-up,
when updates have long started. Nobody writes logs or checkpoints.
"""

from dataclasses import dataclass
from typing import Any

BATCH = 64
HIDDEN = (100, 100)
LR = 1e-3
TARGET_PERIOD = 100
LEARNING_STARTS = 500
REPLAY = 1_000_000
EPSILON = 0.1
COST = "us_per_step_and_seed"
"""The column of a measurement that everything is compared by."""
PEERS = {
    "sb3": "Stable-Baselines3 DQN",
    "sbx": "SBX DQN",
    "published": "published VDQN procedure",
}
ENVS = ("chain-10", "chain-100", "CartPole-v1")


@dataclass(frozen=True)
class Contestant:
    """One process that takes steps.

    Attributes:
        maker: ``ours``, ``sb3``, ``sbx`` or ``published``: whose code.
        env: ``chain-N``, or a gymnasium id.
        algo: Of ours: ``vdqn``, ``dqn`` or ``noisynet``.
        n_seeds: Of ours: how many train in lockstep.
        width: Of both hidden layers.
        stored: Of ours: transitions put into the replay before the first step.
    """

    maker: str
    env: str
    algo: str
    n_seeds: int = 1
    width: int = HIDDEN[0]
    stored: int = 0

    @property
    def name(self) -> str:
        """Its name in tables."""
        return PEERS.get(self.maker) or f"{self.algo} n_seeds={self.n_seeds}"


def chain_size(env: str) -> int | None:
    """Return N of ``chain-N``, or None for another environment."""
    kind, _, size = env.partition("-")
    return int(size) if kind == "chain" else None


def gamma(env: str) -> float:
    """Return the paper's discount factor."""
    return 0.99 if chain_size(env) is None else 1.0


def make_gym(env: str) -> Any:
    """Return the environment as one gymnasium environment."""
    import gymnasium

    import vdqn_runner.envs  # noqa: F401 (registers the chain)

    n = chain_size(env)
    return gymnasium.make(env) if n is None else gymnasium.make("vdqn_runner/Chain-v0", n=n)
