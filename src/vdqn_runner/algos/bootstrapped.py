"""Bootstrapped DQN (Osband, Blundell, Pritzel and Van Roy 2016), with randomised prior functions.

Shapes: S seeds, B minibatch, K heads, A actions, P parameters of a seed's row. Prior functions are
those of Osband, Aslanides and Cassirer (2018).
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch, Clock, Context, Kept, Loss, QFunction, Updated, descend
from vdqn_runner.algos.heads import FixedRows, HeadEachEpisode, Masks
from vdqn_runner.config import BootstrappedConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import mlp, mlp_values, uniform_rows
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose


class Bootstrapped:
    """K heads on shared layers: Q_k = f_k(theta) + beta p_k, with a fixed random network p."""

    reported: tuple[str, ...] = ("loss", "bellman_error", "q_mean", "q_spread")

    def __init__(self, config: BootstrappedConfig, context: Context) -> None:
        self._config, self._layout = config, context.layout
        theta, prior = (_first_rows(context, purpose) for purpose in (Purpose.INIT, Purpose.PRIOR))
        self.learner = Learner({"theta": theta}, config.optimizer, context.device)
        self._prior = FixedRows(prior.to(context.device))
        self._heads = HeadEachEpisode(context.seeds, config.heads)
        self._masks = Masks(context.seeds, config.heads, config.mask_probability)
        self.kept: Mapping[str, Kept] = {
            "heads": self._heads,
            "masks": self._masks,
            "prior": self._prior,
        }

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """a_t = argmax_a Q_k(s_t, a) for the head k of this episode."""
        q = self._by_head(self._values(self.learner.online["theta"], self._prior.rows, obs))[:, 0]
        of_head = q[torch.arange(len(q)), torch.from_numpy(self._heads.acting).to(q.device)]
        actions: np.ndarray = of_head.argmax(dim=1).numpy(force=True)
        return actions

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """The mean over minibatch and heads of m_jk (Q_k(s_j, a_j) - d_jk)^2.

        Each head has targets of its own, d_jk = r_j + gamma (1 - terminal_j) max_a Q^-_k(s'_j, a)
        (Osband et al. 2016, section 3), and m_jk says whether it learns from transition j.
        """
        online, target = self.learner.online["theta"], self.learner.target["theta"]
        prior, config = self._prior.rows, self._config
        q_next = best = self._by_head(self._values(target, prior, batch.next_obs))
        if config.double:
            best = self._by_head(self._values(online, prior, batch.next_obs))
        following = q_next.gather(3, best.argmax(dim=3, keepdim=True)).squeeze(3)
        d = batch.reward.unsqueeze(2) + batch.discount.unsqueeze(2) * following
        of_prior = self._prior_values(prior, batch.obs)
        q_all = self._by_head(mlp(online, self._layout, batch.obs) + of_prior)
        action = batch.action[:, :, None, None].expand(-1, -1, config.heads, 1)
        q = q_all.gather(3, action).squeeze(3)
        mask = torch.from_numpy(self._masks.of(batch.number)).to(q)
        squares = (q - d).square()
        total = (batch.weight.unsqueeze(2) * mask * squares).mean(dim=(1, 2))
        values = q.detach()
        reported = {
            "loss": total.detach(),
            "bellman_error": squares.detach().mean(dim=(1, 2)),
            "q_mean": values.mean(dim=(1, 2)),
            "q_spread": values.std(dim=2, correction=0).mean(dim=1),
        }
        return Loss(total, reported, errors=(q - d).detach().abs().mean(dim=2))

    def update(self, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
        """Take a gradient step down ``loss``."""
        return descend(self, batch, clock, lr)

    def q_functions(self, row: int, noise: NormalStreams) -> Mapping[str, QFunction]:
        """The mean of all heads, and for every trial a head drawn anew at every call."""
        theta = self.learner.online["theta"].detach()[row : row + 1]
        prior = self._prior.rows[row : row + 1]

        def sample(obs: Tensor) -> Tensor:
            q = self._by_head(self._values(theta, prior, obs))
            trials = obs.shape[1]
            chance = torch.special.ndtr(noise.draw(trials)[:, :trials].double())
            head = (chance * self._config.heads).long().clamp_max(self._config.heads - 1)
            return q[torch.zeros_like(head), torch.arange(trials, device=q.device), head]

        return {
            "mean": lambda obs: self._by_head(self._values(theta, prior, obs)).mean(dim=2),
            "sample": sample,
        }

    def _values(self, theta: Tensor, prior: Tensor, obs: Tensor) -> Tensor:
        """Q-values of all heads, ``[S, B, K * A]``, without a gradient."""
        return mlp_values(theta, self._layout, obs) + self._prior_values(prior, obs)

    def _prior_values(self, prior: Tensor, obs: Tensor) -> Tensor | float:
        """What the fixed network adds, ``[S, B, K * A]``."""
        scale = self._config.prior_scale
        return scale * mlp_values(prior, self._layout, obs) if scale else 0.0

    def _by_head(self, q: Tensor) -> Tensor:
        """Return ``[S, B, K, A]``."""
        return q.reshape(*q.shape[:2], self._config.heads, self._layout.n_actions)

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Choose a head for the episode."""
        self._heads.begin_episodes(rows, clock)

    def online_changed(self) -> None:
        """Nothing is derived from the online rows."""

    def target_changed(self) -> None:
        """Nothing is derived from the target rows."""

    def bind(self) -> None:
        """Nothing follows from the rows."""

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """No schedules of its own."""
        return {}

    def snapshot(self, row: int) -> dict[str, float]:
        """Nothing beyond what every algorithm logs."""
        return {}


def _first_rows(context: Context, purpose: Purpose) -> Tensor:
    return uniform_rows(
        context.layout, context.seeds, lambda n_in: n_in**-0.5, lambda n_in: n_in**-0.5, purpose
    )
