"""BBQ network (Lipton, Li, Gao, Li, Ahmed and Deng 2018): Bayes by backprop, Thompson sampling.

Shapes: S seeds, B minibatch, A actions, P parameters of a seed's row.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch, Clock, Context, Kept, Loss, QFunction, Updated, descend
from vdqn_runner.algos.bellman import bellman_target, greedy, q_of_action
from vdqn_runner.algos.noise import Independent, Noise, gaussian_q_functions
from vdqn_runner.algos.sigma_figures import sigma_figures
from vdqn_runner.config import BBQConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import (
    Gaussian,
    Posterior,
    gaussian_mlp,
    gaussian_rows,
    kl_to_prior,
    mlp_values,
    sigma_of,
    variance_and_entropy,
)
from vdqn_runner.normals import NormalStreams
from vdqn_runner.schedules import value_at


class BBQ:
    """q(w) = N(mu, sigma^2) on every weight and bias, sigma = softplus(rho), prior N(0, sigma_p^2).

    It differs from VDQN in the prior, in how often the prior counts (once for all data, not once
    for each minibatch), and in targets that are no samples.
    """

    reported: tuple[str, ...] = ("loss", "bellman_error", "kl", "q_mean")

    def __init__(self, config: BBQConfig, context: Context) -> None:
        self._config, self._layout = config, context.layout
        rows = gaussian_rows(context.layout, context.seeds, config.sigma_init)
        self.learner = Learner(rows, config.optimizer, context.device)
        self._noise = Noise(context, Independent(), config.resample, double=False)
        self.kept: Mapping[str, Kept] = self._noise.kept
        self.bind()

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """Thompson sampling: w ~ q, a_t = argmax_a Q(s_t, a; w)."""
        return greedy(self._noise.acting.q(self._gaussian, obs))

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """The variational free energy of Bayes by backprop for a minibatch (their section 3).

        That is::

            E_q[ sum_j (Q(s_j, a_j; w) - y_j)^2 / (2 sigma_n^2) ] + beta KL(q || N(0, sigma_p^2))

        with a sample of w for each tuple by local reparameterisation, targets y_j by the means of
        the target's weights (their MAP targets), and beta = B / N for N transitions held (Blundell
        et al. 2015, section 3.4) unless ``kl_weight`` says otherwise.
        """
        online, layout, config = self.learner.online, self._layout, self._config
        q_next = mlp_values(self.learner.target["mu"], layout, batch.next_obs)
        choosing = mlp_values(online["mu"], layout, batch.next_obs) if config.double else None
        y = bellman_target(batch, q_next, choosing)
        variance, h = variance_and_entropy(online["rho"], layout)
        eps = self._noise.update.draw(batch.action.shape[1] * layout.n_units)
        q = gaussian_mlp(online["mu"], variance, layout, batch.obs, eps)
        q = q_of_action(q, batch.action)
        squares = (q - y).square()
        kl = kl_to_prior(online["mu"], variance, h, config.prior_sigma, layout).to(q)
        beta = torch.from_numpy(self._kl_weight(batch, clock)).to(q)
        total = (batch.weight * squares).sum(dim=1) / (2.0 * config.noise_sigma**2) + beta * kl
        reported = {
            "loss": total.detach(),
            "bellman_error": squares.detach().mean(dim=1),
            "kl": kl.detach(),
            "q_mean": q.detach().mean(dim=1),
        }
        return Loss(total, reported, (q - y).detach())

    def _kl_weight(self, batch: Batch, clock: Clock) -> np.ndarray:
        if self._config.kl_weight is None:
            return np.full(len(clock.episodes), batch.action.shape[1] / batch.held)
        return value_at(self._config.kl_weight, clock.step, clock.episodes)

    def update(self, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
        """Take a gradient step down ``loss``."""
        return descend(self, batch, clock, lr)

    def q_functions(self, row: int, noise: NormalStreams) -> Mapping[str, QFunction]:
        """The mean network, and fresh weights at every call, whatever ``resample`` is."""
        return gaussian_q_functions(self._gaussian, row, Independent(), noise)

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Sample weights anew where they are kept for an episode."""
        self._noise.acting.begin_episodes(rows, clock, self._gaussian)

    def online_changed(self) -> None:
        """Recompute the variances."""
        self._posterior.refresh(self.learner.online["rho"])

    def target_changed(self) -> None:
        """Nothing is derived from the target rows."""

    def bind(self) -> None:
        """Make the posterior of these rows."""
        online = self.learner.online
        self._posterior = Posterior(self._layout, online["rho"].detach())
        self._gaussian = Gaussian(self._layout, online["mu"], self._posterior.variance)

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """Return the KL's weight where it follows a schedule."""
        weight = self._config.kl_weight
        if weight is None:
            return {}
        return {"kl_weight": value_at(weight, clock.step, clock.episodes)}

    def snapshot(self, row: int) -> dict[str, float]:
        """Return quantiles of sigma, by layer."""
        return sigma_figures(self._layout, sigma_of(self.learner.online["rho"][row]))
