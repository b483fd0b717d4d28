"""Variational DQN (Tang and Kucukelbir, 2017, Algorithm 1).

Shapes: S seeds, B minibatch, A actions, P parameters of a seed's row.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch, Clock, Context, Kept, Loss, QFunction, Updated, descend
from vdqn_runner.algos.bellman import bellman_target, greedy, q_of_action
from vdqn_runner.algos.compiled import CompiledUpdate, Form, Sample, Second, Spread, is_known
from vdqn_runner.algos.noise import Independent, Noise, gaussian_q_functions
from vdqn_runner.algos.objective import loss_weights, objective_figures
from vdqn_runner.algos.sigma_figures import sigma_figures
from vdqn_runner.config import VDQNConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import (
    Gaussian,
    Posterior,
    entropy,
    gaussian_mlp,
    gaussian_rows,
    mlp,
    sigma_of,
    variance_and_entropy,
)
from vdqn_runner.normals import NormalStreams
from vdqn_runner.schedules import value_at


class VDQN:
    """q_phi(theta) = N(mu, sigma^2) on every weight and bias, sigma = softplus(rho)."""

    reported: tuple[str, ...] = ("loss", "surrogate", "bellman_error", "entropy", "q_mean")

    def __init__(self, config: VDQNConfig, context: Context) -> None:
        self._config = config
        self._layout = layout = context.layout
        rows = gaussian_rows(layout, context.seeds, config.sigma_init)
        self.learner = Learner(rows, config.optimizer, context.device)
        self._noise = Noise(context, Independent(), config.resample, double=config.double)
        self.kept: Mapping[str, Kept] = self._noise.kept
        self.bind()

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """Lines 6 and 7: sample theta ~ q_phi, then a_t = argmax_a Q_theta(s_t, a)."""
        return greedy(self._noise.acting.q(self._gaussian, obs))

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """Lines 9 to 11: the KL divergence of paper eq. (7) for one minibatch.

        With sigma_noise = sqrt(lambda / 2):

            KL = E_theta[ sum_j (Q_theta(s_j, a_j) - d_j)^2 / (2 sigma_noise^2) ] - H(q_phi)

        and the surrogate of eq. (6) is ``lambda * KL``. Where lambda is 0 there is no KL, and
        the summed Bellman error is minimised. Prioritised replay weighs the squares.
        """
        d = self._targets(batch)
        q, h = self._sampled_q_and_entropy(batch.obs)
        q = q_of_action(q, batch.action)
        squares = (q - d).square()
        bellman = (batch.weight * squares).sum(dim=1)
        lam = value_at(self._config.lam, clock.step, clock.episodes)
        weights = [torch.from_numpy(weight).to(q) for weight in loss_weights(lam)]
        total = weights[0] * bellman - weights[1] * h
        error, q_mean = squares.detach().mean(dim=1), q.detach().mean(dim=1)
        figures = objective_figures(bellman.detach(), -h.detach(), *weights)
        figures |= {"bellman_error": error, "entropy": h.detach(), "q_mean": q_mean}
        return Loss(total, figures, (q - d).detach())

    def update(self, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
        """Take a gradient step down ``loss``, compiled where that is possible."""
        if self._compiled is None:
            return descend(self, batch, clock, lr)
        lam = value_at(self._config.lam, clock.step, clock.episodes)
        h = self._posterior.entropy.numpy().astype(np.float64)
        weights = loss_weights(lam)
        sums = self._compiled(batch, lr, *weights)
        size = batch.action.shape[1]
        error, q_mean = sums.squares / size, sums.values / size
        figures = objective_figures(sums.squares, -h, *weights)
        return Updated(figures | {"bellman_error": error, "entropy": h, "q_mean": q_mean})

    def _targets(self, batch: Batch) -> Tensor:
        """Lines 9 and 10: theta_j^- ~ q_phi^-, one for each tuple; d_j [S, B].

        Double VDQN lets another theta_j ~ q_phi, of the online posterior, choose the action.
        """
        count = batch.action.shape[1] * self._layout.n_units
        q_next = self._target.q(batch.next_obs, self._noise.target.draw(count))
        choosing = None
        if self._noise.choosing is not None:
            choosing = self._gaussian.q(batch.next_obs, self._noise.choosing.draw(count))
        return bellman_target(batch, q_next, choosing)

    def _sampled_q_and_entropy(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Q_theta(s_j, .) [S, B, A] for theta ~ q_phi, one for each tuple or one for all; H [S]."""
        online, layout = self.learner.online, self._layout
        if self._config.theta_samples == "per_tuple":
            eps = self._noise.update.draw(obs.shape[1] * layout.n_units)
            variance, h = variance_and_entropy(online["rho"], layout)
            return gaussian_mlp(online["mu"], variance, layout, obs, eps), h
        sigma = sigma_of(online["rho"])
        q = mlp(online["mu"] + sigma * self._noise.update.draw(layout.length), layout, obs)
        return q, entropy(sigma, layout)

    def q_functions(self, row: int, noise: NormalStreams) -> Mapping[str, QFunction]:
        """The mean network, and a fresh theta at every call, whatever ``resample`` is."""
        return gaussian_q_functions(self._gaussian, row, Independent(), noise)

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Sample theta anew where one is kept for an episode."""
        self._noise.acting.begin_episodes(rows, clock, self._gaussian)

    def online_changed(self) -> None:
        """Recompute what follows from phi."""
        self._posterior.refresh(self.learner.online["rho"])

    def target_changed(self) -> None:
        """Recompute what follows from phi^-."""
        self._target_posterior.refresh(self.learner.target["rho"])

    def bind(self) -> None:
        """Keep what follows from the learner's rows, which are other tensors when seeds leave."""
        layout, online, target = self._layout, self.learner.online, self.learner.target
        self._posterior = Posterior(layout, online["rho"].detach())
        self._target_posterior = Posterior(layout, target["rho"])
        self._gaussian = Gaussian(layout, online["mu"], self._posterior.variance)
        self._target = Gaussian(layout, target["mu"], self._target_posterior.variance)
        known = is_known(self._config, layout, self.learner)
        self._compiled = self._make_compiled() if known else None

    def _make_compiled(self) -> CompiledUpdate:
        per_tuple = self._config.theta_samples == "per_tuple"
        sample = Sample.PER_TUPLE if per_tuple else Sample.PER_BATCH
        form = Form(sample, target_sample=Sample.PER_TUPLE, second=Second.RHO)
        spread = Spread(
            name="rho",
            target_row2=self._target_posterior.variance,
            variance=self._posterior.variance,
            slope=self._posterior.slope,
            entropy=self._posterior.entropy,
            update_noise=self._noise.update,
            target_noise=self._noise.target,
        )
        return CompiledUpdate(self._layout, self.learner, form, spread)

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """Return lambda."""
        return {"lam": value_at(self._config.lam, clock.step, clock.episodes)}

    def snapshot(self, row: int) -> dict[str, float]:
        """Return quantiles of sigma, by layer."""
        return sigma_figures(self._layout, sigma_of(self.learner.online["rho"][row]))
