"""DQN with epsilon-greedy acting (Mnih et al., 2013), as the paper's baseline.

Shapes: S seeds, B minibatch, A actions, P parameters of a seed's row.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch, Clock, Context, Kept, Loss, QFunction, Updated, descend
from vdqn_runner.algos.bellman import bellman_target, greedy, q_of_action
from vdqn_runner.algos.compiled import CompiledUpdate, ErrorLoss, Form, is_known
from vdqn_runner.config import DQNConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import mlp, mlp_values, uniform_rows
from vdqn_runner.normals import NormalStreams
from vdqn_runner.schedules import value_at
from vdqn_runner.streams import Purpose, UniformBlocks


class DQN:
    """One network theta, a target network theta^- and epsilon-greedy actions."""

    reported: tuple[str, ...] = ("loss", "bellman_error", "q_mean")

    def __init__(self, config: DQNConfig, context: Context) -> None:
        self._config, self._layout = config, context.layout
        theta = uniform_rows(
            context.layout, context.seeds, lambda n_in: n_in**-0.5, lambda n_in: n_in**-0.5
        )
        self.learner = Learner({"theta": theta}, config.optimizer, context.device)
        self._acting = UniformBlocks(context.seeds, Purpose.ACTING, width=2)
        self.kept: Mapping[str, Kept] = {"acting": self._acting}
        self.bind()

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """With probability epsilon any action, else a_t = argmax_a Q_theta(s_t, a)."""
        q = mlp_values(self.learner.online["theta"], self._layout, obs)
        chance, pick = self._acting.draw().T
        explore = chance < value_at(self._config.epsilon, clock.step, clock.episodes)
        anything = (pick * self._layout.n_actions).astype(np.int64)
        return np.where(explore, anything, greedy(q))

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """Paper eq. (3): the mean over the minibatch of (Q_theta(s_j, a_j) - d_j)^2, or Huber."""
        online, layout = self.learner.online["theta"], self._layout
        q_next = mlp_values(self.learner.target["theta"], layout, batch.next_obs)
        choosing = mlp_values(online, layout, batch.next_obs) if self._config.double else None
        d = bellman_target(batch, q_next, choosing)
        q = q_of_action(mlp(online, layout, batch.obs), batch.action)
        errors = (q - d).detach()
        if self._config.loss == "mse":
            losses = (q - d).square()
        else:
            losses = torch.nn.functional.huber_loss(q, d, reduction="none")
        total = (batch.weight * losses).mean(dim=1)
        reported = {
            "loss": total.detach(),
            "bellman_error": errors.square().mean(dim=1),
            "q_mean": q.detach().mean(dim=1),
        }
        return Loss(total, reported, errors)

    def update(self, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
        """Take a gradient step down ``loss``, compiled where that is possible."""
        if self._compiled is None:
            return descend(self, batch, clock, lr)
        size = batch.action.shape[1]
        sums = self._compiled(batch, lr, weight=np.full(len(lr), 1.0 / size))
        return Updated(
            {
                "loss": sums.losses / size,
                "bellman_error": sums.squares / size,
                "q_mean": sums.values / size,
            }
        )

    def bind(self) -> None:
        """Make the compiled update of these rows."""
        loss = ErrorLoss.HUBER if self._config.loss == "huber" else ErrorLoss.SQUARED
        serve = is_known(self._config, self._layout, self.learner)
        self._compiled = (
            CompiledUpdate(self._layout, self.learner, Form(loss=loss)) if serve else None
        )

    def q_functions(self, row: int, noise: NormalStreams) -> Mapping[str, QFunction]:
        """The network."""
        theta = self.learner.online["theta"].detach()[row : row + 1]
        return {"mean": lambda obs: mlp_values(theta, self._layout, obs)}

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Nothing is kept for an episode."""

    def online_changed(self) -> None:
        """Nothing is derived from the online rows."""

    def target_changed(self) -> None:
        """Nothing is derived from the target rows."""

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """Return epsilon."""
        return {"epsilon": value_at(self._config.epsilon, clock.step, clock.episodes)}

    def snapshot(self, row: int) -> dict[str, float]:
        """Nothing beyond what every algorithm logs."""
        return {}
