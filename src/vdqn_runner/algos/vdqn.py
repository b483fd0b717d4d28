"""Variational DQN (Tang and Kucukelbir, 2017, Algorithm 1).

Shapes: S seeds, B minibatch, A actions, P parameters of a seed's row.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch, Clock, Context, Loss, Policy
from vdqn_runner.algos.bellman import bellman_target, greedy, q_of_action
from vdqn_runner.algos.noise import Independent, Noise, gaussian_policies
from vdqn_runner.algos.sigma_figures import sigma_figures
from vdqn_runner.config import VDQNConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import Posterior, entropy, mlp, rows_by_fan_in, softplus_inverse, uniform_rows
from vdqn_runner.normals import NormalStreams
from vdqn_runner.passes import SMALLEST_SIGMA
from vdqn_runner.schedules import value_at


class VDQN:
    """q_phi(theta) = N(mu, sigma^2) on every weight and bias, sigma = softplus(rho)."""

    reported = ("loss", "surrogate", "bellman_error", "entropy", "q_mean")

    def __init__(self, config: VDQNConfig, context: Context) -> None:
        self._config, self._context = config, context
        self._layout = layout = context.layout
        seeds = context.seeds
        # Section "Implementation details": the recipe of Fortunato et al. (2017).
        mu = uniform_rows(layout, seeds, lambda n_in: (3.0 / n_in) ** 0.5, lambda n_in: 0.0)
        rho_init = softplus_inverse(config.sigma_init)
        rho = rows_by_fan_in(layout, len(seeds), lambda n_in: rho_init)
        self.learner = Learner({"mu": mu, "rho": rho}, config.optimizer)
        self._noise = Noise(context, Independent(), config.resample)
        self.online_changed()
        self.target_changed()

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """Lines 6 and 7: sample theta ~ q_phi, then a_t = argmax_a Q_theta(s_t, a)."""
        return greedy(self._noise.acting.q(self._posterior.gaussian, obs)).numpy()

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """Lines 9 to 11: the KL divergence of paper eq. (7) for one minibatch.

        With sigma_noise = sqrt(lambda / 2)::

            KL = E_theta[ sum_j (Q_theta(s_j, a_j) - d_j)^2 / (2 sigma_noise^2) ] - H(q_phi)

        and the surrogate of eq. (6) is ``lambda * KL``. Where lambda is 0 there is no KL, and
        the summed Bellman error is minimised.
        """
        d = self._targets(batch)
        q, h = self._sampled_q_and_entropy(batch.obs)
        q = q_of_action(q, batch.action)
        error = q - d
        bellman = error.square().sum(dim=1)
        lam = value_at(self._config.lam, clock.step, clock.episodes)
        surrogate = bellman - torch.from_numpy(lam.astype(np.float32)) * h
        scale = 1.0 / np.where(lam > 0.0, lam, 1.0)
        total = surrogate * torch.from_numpy(scale.astype(np.float32))
        reported = {
            "loss": total.detach(),
            "surrogate": surrogate.detach(),
            "bellman_error": bellman.detach() / error.shape[1],
            "entropy": h.detach(),
            "q_mean": q.detach().mean(dim=1),
        }
        return Loss(total, reported)

    def _targets(self, batch: Batch) -> Tensor:
        """Lines 9 and 10: theta_j^- ~ q_phi^-, one for each tuple; d_j [S, B]."""
        eps = self._noise.target.draw(batch.obs.shape[1] * self._layout.n_units)
        q_next = self._target_posterior.gaussian.q(batch.next_obs, eps)
        return bellman_target(batch, q_next, self._context.gamma)

    def _sampled_q_and_entropy(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Q_theta(s_j, .) [S, B, A] for theta ~ q_phi, one for each tuple or one for all; H [S]."""
        posterior = self._posterior
        if self._config.theta_samples == "per_tuple":
            eps = self._noise.update.draw(obs.shape[1] * self._layout.n_units)
            return posterior.q_and_entropy(obs, eps)
        sigma = torch.nn.functional.softplus(posterior.rho).clamp_min(SMALLEST_SIGMA)
        theta = posterior.mu + sigma * self._noise.update.draw(self._layout.length)
        return mlp(theta, self._layout, obs), entropy(sigma, self._layout)

    def evaluation_policies(self, row: int, noise: NormalStreams) -> Mapping[str, Policy]:
        """The mean network, and a fresh theta at every step, whatever ``resample`` is."""
        return gaussian_policies(self._posterior.gaussian, row, Independent(), noise)

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Sample theta anew where one is kept for an episode."""
        self._noise.acting.begin_episodes(rows, clock, self._posterior.gaussian)

    def online_changed(self) -> None:
        """Recompute what follows from phi."""
        online = self.learner.online
        self._posterior = Posterior(self._layout, online["mu"], online["rho"])

    def target_changed(self) -> None:
        """Recompute what follows from phi^-."""
        target = self.learner.target
        self._target_posterior = Posterior(self._layout, target["mu"], target["rho"])

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """Return lambda."""
        return {"lam": value_at(self._config.lam, clock.step, clock.episodes)}

    def snapshot(self, row: int) -> dict[str, float]:
        """Return quantiles of sigma, by layer."""
        return sigma_figures(self._layout, self._posterior.gaussian.sigma[row])

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds."""
        self.learner.select(rows)
        self._noise.select(rows)
        self.online_changed()
        self.target_changed()

    def state(self, row: int) -> dict[str, Any]:
        """Return the states of the noise streams."""
        return self._noise.state(row)

    def load(self, states: list[Mapping[str, Any]]) -> None:
        """Go on from kept states."""
        self._noise.load(states)
        self.online_changed()
        self.target_changed()
