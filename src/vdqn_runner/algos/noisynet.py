"""NoisyNet-DQN (Fortunato et al., 2017), as the paper's second baseline.

Shapes: S seeds, B minibatch, A actions, P parameters of a seed's row.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch, Clock, Context, Loss, Policy
from vdqn_runner.algos.bellman import bellman_target, greedy, q_of_action
from vdqn_runner.algos.noise import Factorised, Independent, Noise, NoiseShape, gaussian_policies
from vdqn_runner.algos.sigma_figures import sigma_figures
from vdqn_runner.config import NoisyNetConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import Gaussian, gaussian_mlp, mlp, rows_by_fan_in, uniform_rows
from vdqn_runner.normals import NormalStreams


class NoisyNet:
    """theta = mu + sigma * eps on all layers; mu and sigma are learned, without an entropy term."""

    reported = ("loss", "bellman_error", "q_mean")

    def __init__(self, config: NoisyNetConfig, context: Context) -> None:
        self._config, self._context = config, context
        self._layout = layout = context.layout
        seeds = context.seeds
        self._shape: NoiseShape
        if config.noise == "independent":
            # Section 3.2 of Fortunato et al.; biases as in the paper's published code.
            mu = uniform_rows(layout, seeds, lambda n_in: (3.0 / n_in) ** 0.5, lambda n_in: 0.0)
            sigma = rows_by_fan_in(layout, len(seeds), lambda n_in: config.sigma_init)
            self._shape = Independent()
        else:
            mu = uniform_rows(layout, seeds, lambda n_in: n_in**-0.5, lambda n_in: n_in**-0.5)
            sigma = rows_by_fan_in(layout, len(seeds), lambda n_in: config.sigma_init / n_in**0.5)
            self._shape = Factorised()
        self.learner = Learner({"mu": mu, "sigma": sigma}, config.optimizer)
        self._noise = Noise(context, self._shape, config.resample)
        self.online_changed()

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """a_t = argmax_a Q_theta(s_t, a) for a freshly drawn theta."""
        return greedy(self._noise.acting.q(self._gaussian, obs)).numpy()

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """The mean over the minibatch of (Q_theta(s_j, a_j) - d_j)^2; theta, theta^- drawn anew."""
        target, online = self.learner.target, self.learner.online
        with torch.no_grad():
            q_next = self._sampled_q(target, batch.next_obs, self._noise.target)
            d = bellman_target(batch, q_next, self._context.gamma)
        q = q_of_action(self._sampled_q(online, batch.obs, self._noise.update), batch.action)
        total = (q - d).square().mean(dim=1)
        error = total.detach()
        reported = {"loss": error, "bellman_error": error, "q_mean": q.detach().mean(dim=1)}
        return Loss(total, reported)

    def _sampled_q(self, rows: Mapping[str, Tensor], obs: Tensor, noise: NormalStreams) -> Tensor:
        """Q-values [S, B, A] under fresh noise: one draw for the minibatch, or one a tuple."""
        layout, size = self._layout, obs.shape[1]
        if self._config.theta_samples == "per_tuple":
            eps = noise.draw(size * layout.n_units)
            return gaussian_mlp(rows["mu"], rows["sigma"], layout, obs, eps)
        eps_rows = self._shape.rows(layout, noise.draw(self._shape.count(layout)))
        return mlp(rows["mu"] + rows["sigma"] * eps_rows, layout, obs)

    def evaluation_policies(self, row: int, noise: NormalStreams) -> Mapping[str, Policy]:
        """The mean network, and a fresh theta at every step, whatever ``resample`` is."""
        return gaussian_policies(self._gaussian, row, self._shape, noise)

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Sample theta anew where one is kept for an episode."""
        self._noise.acting.begin_episodes(rows, clock, self._gaussian)

    def online_changed(self) -> None:
        """Recompute the variances."""
        online = self.learner.online
        self._gaussian = Gaussian(self._layout, online["mu"], online["sigma"])

    def target_changed(self) -> None:
        """Nothing is derived from the target rows."""

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """No schedules of its own."""
        return {}

    def snapshot(self, row: int) -> dict[str, float]:
        """Return quantiles of |sigma|, by layer."""
        return sigma_figures(self._layout, self.learner.online["sigma"][row])

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds."""
        self.learner.select(rows)
        self._noise.select(rows)
        self.online_changed()

    def state(self, row: int) -> dict[str, Any]:
        """Return the states of the noise streams."""
        return self._noise.state(row)

    def load(self, states: list[Mapping[str, Any]]) -> None:
        """Go on from kept states."""
        self._noise.load(states)
        self.online_changed()
