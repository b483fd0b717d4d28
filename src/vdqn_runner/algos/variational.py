"""VDQN's objective (Tang and Kucukelbir 2017, eq. 7) under other families, priors and estimators.

The paper: different black-box variational algorithms can minimise the KL divergence. Shapes: S
seeds, B minibatch, A actions, P parameters of a seed's row, M samples of a minibatch.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch, Clock, Context, Kept, Loss, QFunction, Updated, descend
from vdqn_runner.algos.bellman import bellman_target, greedy, q_of_action
from vdqn_runner.algos.compiled import CompiledUpdate, Form, is_known
from vdqn_runner.algos.estimators import mean_of, score_function
from vdqn_runner.algos.families import Rows, make_family, second_moment
from vdqn_runner.algos.noise import Noise
from vdqn_runner.algos.objective import loss_weights, objective_figures
from vdqn_runner.algos.sigma_figures import sigma_figures
from vdqn_runner.config import VariationalConfig
from vdqn_runner.learner import Learner
from vdqn_runner.nets import mlp, mlp_values
from vdqn_runner.normals import NormalStreams
from vdqn_runner.schedules import value_at


class Variational:
    """q_phi(theta) of a chosen family approximates the posterior over Q-networks."""

    def __init__(self, config: VariationalConfig, context: Context) -> None:
        self._config, self._layout = config, context.layout
        self._family = make_family(config, context.layout)
        rows = self._family.first_rows(context.seeds, config.sigma_init)
        self.learner = Learner(rows, config.optimizer, context.device)
        self._noise = Noise(context, self._family, config.resample, double=config.double)
        self.kept: Mapping[str, Kept] = self._noise.kept
        self._is_point = config.family == "point"
        entropy = () if self._is_point else ("entropy",)
        self.reported: tuple[str, ...] = ("loss", "surrogate", "bellman_error", *entropy, "q_mean")
        self.bind()

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """Algorithm 1, lines 6 and 7: theta ~ q_phi, then a_t = argmax_a Q_theta(s_t, a)."""
        return greedy(self._noise.acting.q(self._law, obs))

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """Paper eq. (7), the KL divergence of q_phi from the posterior, for one minibatch.

        With sigma_noise = sqrt(lambda / 2) and a prior p(theta)::

            E_theta[ sum_j (Q_theta(s_j, a_j) - d_j)^2 / (2 sigma_noise^2) ] + KL[q_phi || p]

        M thetas stand for the expectation, each judged by the whole minibatch. The paper's prior
        is uniform, and KL[q_phi || p] is -H(q_phi). Prioritised replay weighs the squares.
        """
        d = self._targets(batch)
        lam = value_at(self._config.lam, clock.step, clock.episodes)
        weights = [torch.from_numpy(weight).to(d) for weight in loss_weights(lam)]
        thetas = self._thetas()
        values = [
            q_of_action(mlp(theta, self._layout, batch.obs), batch.action) for theta in thetas
        ]
        squares = [(value - d).square() for value in values]
        bellman = [(batch.weight * square).sum(dim=1) for square in squares]
        expected = self._expectation([weights[0] * cost for cost in bellman], thetas)
        h, kl = self._entropy_and_kl()
        total = expected + weights[1] * kl
        q_mean = mean_of(values).detach()
        figures = objective_figures(mean_of(bellman).detach(), kl.detach(), *weights)
        figures |= {
            "bellman_error": mean_of(squares).detach().mean(dim=1),
            "entropy": h.detach(),
            "q_mean": q_mean.mean(dim=1),
        }
        reported = {name: figures[name] for name in self.reported}
        return Loss(total, reported, q_mean - d)

    def update(self, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
        """Take a gradient step down ``loss``; a point mass's is DQN's, compiled where possible."""
        if self._compiled is None:
            return descend(self, batch, clock, lr)
        lam = value_at(self._config.lam, clock.step, clock.episodes)
        bellman_weight, kl_weight = loss_weights(lam)
        sums = self._compiled(batch, lr, bellman_weight)
        size = batch.action.shape[1]
        figures = objective_figures(sums.squares, np.zeros(len(lr)), bellman_weight, kl_weight)
        return Updated(
            figures | {"bellman_error": sums.squares / size, "q_mean": sums.values / size}
        )

    def _targets(self, batch: Batch) -> Tensor:
        """Lines 9 and 10, with one theta^- ~ q_phi^- for the whole minibatch; d [S, B].

        Double targets let another theta ~ q_phi, of the online distribution, choose the action.
        """
        with torch.no_grad():
            q_next = self._sampled_q(self.learner.target, batch.next_obs, self._noise.target)
            choosing = None
            if self._noise.choosing is not None:
                choosing = self._sampled_q(self._law, batch.next_obs, self._noise.choosing)
        return bellman_target(batch, q_next, choosing)

    def _sampled_q(self, rows: Rows, obs: Tensor, noise: NormalStreams) -> Tensor:
        theta = self._family.sample(rows, noise.draw(self._family.count(self._layout)))
        return mlp_values(theta, self._layout, obs)

    def _thetas(self) -> list[Tensor]:
        """M samples theta_m ~ q_phi, ``[S, P]`` each; functions of phi for the pathwise estimator.

        The score function takes them as given.
        """
        count = self._family.count(self._layout)
        draws = self._noise.update.draw(self._config.samples * count)
        rows = self.learner.online if self._config.estimator == "pathwise" else self._law
        return [
            self._family.sample(rows, draws[:, m * count : (m + 1) * count])
            for m in range(self._config.samples)
        ]

    def _expectation(self, costs: list[Tensor], thetas: list[Tensor]) -> Tensor:
        """The mean cost ``[S]`` of the samples, with the estimator's gradient."""
        if self._config.estimator == "pathwise":
            return mean_of(costs)
        return score_function(costs, self._family.log_densities(self.learner.online, thetas))

    def _entropy_and_kl(self) -> tuple[Tensor, Tensor]:
        """H(q_phi) and KL[q_phi || p] = -H + E |theta|^2 / (2 prior_sigma^2), ``[S]`` each.

        Both in closed form, up to constants. The uniform prior is prior_sigma = infinity.
        """
        online, prior_sigma = self.learner.online, self._config.prior_sigma
        h = self._family.entropy(online)
        if prior_sigma is None:
            return h, -h
        return h, second_moment(self._family, online) / (2.0 * prior_sigma**2) - h

    def q_functions(self, row: int, noise: NormalStreams) -> Mapping[str, QFunction]:
        """The mean network, and a fresh theta at every call, whatever ``resample`` is."""
        family, layout = self._family, self._layout
        law = {name: values[row : row + 1] for name, values in self._law.items()}

        def sample(obs: Tensor) -> Tensor:
            # A trial takes a seed's place: T networks, one observation each.
            trials, count = obs.shape[1], family.count_of_step(layout)
            draws = noise.draw(trials * count)[0, : trials * count].view(trials, count)
            laws = {name: values.repeat(trials, 1) for name, values in law.items()}
            q = family.q_of_step(laws, obs.transpose(0, 1).contiguous(), draws)
            return q.transpose(0, 1)

        mean: dict[str, QFunction] = {"mean": lambda obs: mlp_values(law["mu"], layout, obs)}
        return mean if self._is_point else mean | {"sample": sample}

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Sample theta anew where one is kept for an episode."""
        self._noise.acting.begin_episodes(rows, clock, self._law)

    def online_changed(self) -> None:
        """Nothing is derived from the online rows."""

    def target_changed(self) -> None:
        """Nothing is derived from the target rows."""

    def bind(self) -> None:
        """Keep the rows without their gradients, and a point mass's compiled update."""
        self._law: Rows = {name: rows.detach() for name, rows in self.learner.online.items()}
        plain = self._is_point and self._config.prior_sigma is None
        known = plain and is_known(self._config, self._layout, self.learner)
        self._compiled = CompiledUpdate(self._layout, self.learner, Form()) if known else None

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """Return lambda."""
        return {"lam": value_at(self._config.lam, clock.step, clock.episodes)}

    def snapshot(self, row: int) -> dict[str, float]:
        """Return quantiles of the weights' standard deviations, by layer."""
        if self._is_point:
            return {}
        law = {name: values[row : row + 1] for name, values in self._law.items()}
        return sigma_figures(self._layout, self._family.variance(law)[0].sqrt())
