"""NoisyNet-DQN (Fortunato et al., 2017), as the paper's second baseline.

Shapes: S seeds, B minibatch, A actions, P parameters of a seed's row.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch, Clock, Context, Kept, Loss, QFunction, Updated, descend
from vdqn_runner.algos.bellman import bellman_target, greedy, q_of_action
from vdqn_runner.algos.compiled import (
    CompiledUpdate,
    Form,
    NoiseKind,
    Sample,
    Second,
    Spread,
    is_known,
)
from vdqn_runner.algos.noise import Factorised, Independent, Noise, NoiseShape, gaussian_q_functions
from vdqn_runner.algos.sigma_figures import sigma_figures
from vdqn_runner.config import NoisyNetConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import Gaussian, gaussian_mlp, mlp, rows_by_fan_in, uniform_rows
from vdqn_runner.normals import NormalStreams


class NoisyNet:
    """theta = mu + sigma * eps on all layers; mu and sigma are learned, without an entropy term."""

    reported: tuple[str, ...] = ("loss", "bellman_error", "q_mean")

    def __init__(self, config: NoisyNetConfig, context: Context) -> None:
        self._config = config
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
        self.learner = Learner({"mu": mu, "sigma": sigma}, config.optimizer, context.device)
        self._noise = Noise(context, self._shape, config.resample, double=config.double)
        self.kept: Mapping[str, Kept] = self._noise.kept
        self.bind()

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """a_t = argmax_a Q_theta(s_t, a) for a freshly drawn theta."""
        return greedy(self._noise.acting.q(self._gaussian, obs))

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """The mean over the minibatch of (Q_theta(s_j, a_j) - d_j)^2; theta, theta^- drawn anew."""
        target, online = self.learner.target, self.learner.online
        with torch.no_grad():
            q_next = self._sampled_q(target, batch.next_obs, self._noise.target)
            choosing = None
            if self._noise.choosing is not None:
                choosing = self._sampled_q(online, batch.next_obs, self._noise.choosing)
            d = bellman_target(batch, q_next, choosing)
        q = q_of_action(self._sampled_q(online, batch.obs, self._noise.update), batch.action)
        errors = (q - d).detach()
        total = (batch.weight * (q - d).square()).mean(dim=1)
        reported = {
            "loss": total.detach(),
            "bellman_error": errors.square().mean(dim=1),
            "q_mean": q.detach().mean(dim=1),
        }
        return Loss(total, reported, errors)

    def _sampled_q(self, rows: Mapping[str, Tensor], obs: Tensor, noise: NormalStreams) -> Tensor:
        """Q-values [S, B, A] under fresh noise: one draw for the minibatch, or one a tuple."""
        layout, size = self._layout, obs.shape[1]
        mu, sigma = rows["mu"], rows["sigma"]
        if self._config.theta_samples == "per_tuple":
            eps = noise.draw(size * layout.n_units)
            return gaussian_mlp(mu, sigma.square(), layout, obs, eps)
        eps_rows = self._shape.rows(layout, noise.draw(self._shape.count(layout)))
        return mlp(mu + sigma * eps_rows, layout, obs)

    def update(self, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
        """Take a gradient step down ``loss``, compiled where that is possible."""
        if self._compiled is None:
            return descend(self, batch, clock, lr)
        size = batch.action.shape[1]
        sums = self._compiled(batch, lr, weight=np.full(len(lr), 1.0 / size))
        error = sums.squares / size
        return Updated({"loss": error, "bellman_error": error, "q_mean": sums.values / size})

    def q_functions(self, row: int, noise: NormalStreams) -> Mapping[str, QFunction]:
        """The mean network, and a fresh theta at every call, whatever ``resample`` is."""
        return gaussian_q_functions(self._gaussian, row, self._shape, noise)

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Sample theta anew where one is kept for an episode."""
        self._noise.acting.begin_episodes(rows, clock, self._gaussian)

    def online_changed(self) -> None:
        """Recompute the variances."""
        torch.square(self.learner.online["sigma"].detach(), out=self._gaussian.variance)

    def target_changed(self) -> None:
        """Recompute the target's variances."""
        torch.square(self.learner.target["sigma"], out=self._target_variance)

    def bind(self) -> None:
        """Keep what follows from the learner's rows, which are other tensors when seeds leave."""
        online, target = self.learner.online, self.learner.target
        sigma = online["sigma"].detach()
        self._gaussian = Gaussian(self._layout, online["mu"], sigma.square(), sigma)
        self._target_variance = target["sigma"].square()
        known = is_known(self._config, self._layout, self.learner)
        self._compiled = self._make_compiled() if known else None

    def _make_compiled(self) -> CompiledUpdate:
        per_tuple = self._config.theta_samples == "per_tuple"
        sample = Sample.PER_TUPLE if per_tuple else Sample.PER_BATCH
        kinds = {"independent": NoiseKind.INDEPENDENT, "factorised": NoiseKind.FACTORISED}
        noise = kinds[self._config.noise]
        form = Form(sample, target_sample=sample, noise=noise, second=Second.SIGMA)
        spread = Spread(
            name="sigma",
            target_row2=self._target_variance if per_tuple else self.learner.target["sigma"],
            variance=self._gaussian.variance,
            slope=None,
            entropy=None,
            update_noise=self._noise.update,
            target_noise=self._noise.target,
        )
        return CompiledUpdate(self._layout, self.learner, form, spread)

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """No schedules of its own."""
        return {}

    def snapshot(self, row: int) -> dict[str, float]:
        """Return quantiles of |sigma|, by layer."""
        return sigma_figures(self._layout, self.learner.online["sigma"][row])
