"""DQN that explores by Boltzmann's distribution: P(a) is proportional to exp(Q(s, a) / T).

Shapes: S seeds, B minibatch, A actions, P parameters of a seed's row.
"""

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from vdqn_runner.algos.base import (
    Batch,
    Clock,
    Context,
    Kept,
    Loss,
    QFunction,
    Updated,
    descend,
)
from vdqn_runner.algos.bellman import bellman_target, q_of_action
from vdqn_runner.config import BoltzmannConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import mlp, mlp_values, uniform_rows
from vdqn_runner.normals import NormalStreams
from vdqn_runner.schedules import value_at
from vdqn_runner.streams import Purpose, UniformBlocks


class Boltzmann:
    """One network theta, a target network theta^- and actions drawn by their values."""

    reported: tuple[str, ...] = ("loss", "bellman_error", "q_mean")

    # --8<-- [start:init]
    def __init__(self, config: BoltzmannConfig, context: Context) -> None:
        self._config, self._layout = config, context.layout
        theta = uniform_rows(
            context.layout, context.seeds, lambda n_in: n_in**-0.5, lambda n_in: n_in**-0.5
        )
        self.learner = Learner({"theta": theta}, config.optimizer, context.device)
        # One uniform number a step, for each seed from a stream of its own.
        self._acting = UniformBlocks(context.seeds, Purpose.ACTING, width=1)
        self.kept: Mapping[str, Kept] = {"acting": self._acting}

    # --8<-- [end:init]
    # --8<-- [start:act]
    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """Draw a_t with probabilities proportional to exp(Q_theta(s_t, a) / T)."""
        q = mlp_values(self.learner.online["theta"], self._layout, obs)
        temperature = value_at(self._config.temperature, clock.step, clock.episodes)
        scaled = q[:, 0].numpy(force=True).astype(np.float64) / temperature[:, None]
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        below = weights.cumsum(axis=1)
        drawn: np.ndarray = (below <= self._acting.draw() * below[:, -1:]).sum(axis=1)
        return drawn

    # --8<-- [end:act]
    # --8<-- [start:loss]
    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """The mean over the minibatch of (Q_theta(s_j, a_j) - d_j)^2."""
        online, layout = self.learner.online["theta"], self._layout
        q_next = mlp_values(self.learner.target["theta"], layout, batch.next_obs)
        choosing = mlp_values(online, layout, batch.next_obs) if self._config.double else None
        d = bellman_target(batch, q_next, choosing)
        q = q_of_action(mlp(online, layout, batch.obs), batch.action)
        errors = (q - d).detach()
        total = (batch.weight * (q - d).square()).mean(dim=1)
        reported = {
            "loss": total.detach(),
            "bellman_error": errors.square().mean(dim=1),
            "q_mean": q.detach().mean(dim=1),
        }
        return Loss(total, reported, errors)

    def update(self, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
        """Take a gradient step down ``loss``, by autograd."""
        return descend(self, batch, clock, lr)

    # --8<-- [end:loss]
    # --8<-- [start:rest]
    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """Return the temperature, which becomes a column of updates.csv."""
        return {"temperature": value_at(self._config.temperature, clock.step, clock.episodes)}

    def q_functions(self, row: int, noise: NormalStreams) -> Mapping[str, QFunction]:
        """The network, for greedy evaluations."""
        theta = self.learner.online["theta"].detach()[row : row + 1]
        return {"mean": lambda obs: mlp_values(theta, self._layout, obs)}

    def snapshot(self, row: int) -> dict[str, float]:
        """Nothing beyond what every algorithm logs."""
        return {}

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Nothing is kept for an episode."""

    def online_changed(self) -> None:
        """Nothing is derived from the online rows."""

    def target_changed(self) -> None:
        """Nothing is derived from the target rows."""

    def bind(self) -> None:
        """Nothing follows from the rows."""

    # --8<-- [end:rest]
