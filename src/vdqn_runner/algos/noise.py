"""Noise on weights: how it is shaped, and how long acting holds on to one draw of it.

``eps`` rows are ``[S, P]`` like parameter rows, and a sampled network is mu + sigma * eps.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Clock, Context, Kept, QFunction
from vdqn_runner.layout import Layout
from vdqn_runner.nets import Gaussian, mlp_values
from vdqn_runner.normals import NormalBlocks, NormalStreams
from vdqn_runner.streams import Purpose

Law = TypeVar("Law", contravariant=True)
"""What a distribution over the weights of S networks is given by."""


class Sampling(Protocol[Law]):
    """How networks are sampled: what acting asks."""

    def count(self, layout: Layout) -> int:
        """Return how many normals one theta takes."""

    def theta(self, law: Law, row: int, draws: Tensor) -> Tensor:
        """Return one theta ``[P]`` of the seed in ``row``, made from ``draws`` [1, >= count]."""

    def count_of_step(self, layout: Layout) -> int:
        """Return how many normals ``q_of_step`` takes."""

    def q_of_step(self, law: Law, obs: Tensor, draws: Tensor) -> Tensor:
        """Return Q-values ``[S, 1, A]`` at ``obs`` [S, 1, obs] under fresh noise."""


class NoiseShape(Sampling[Gaussian], Protocol):
    """How standard normals become noise on the weights."""

    def rows(self, layout: Layout, draws: Tensor) -> Tensor:
        """Return eps rows ``[S, P]`` made from ``draws`` [S, >= count]."""

    def q_of_trials(self, gaussian: Gaussian, obs: Tensor, noise: NormalStreams) -> Tensor:
        """Return Q-values ``[1, T, A]`` of one seed at ``obs`` [1, T, obs].

        Each of the T under fresh noise of its own.
        """


class Independent:
    """One normal for each weight and bias."""

    def count(self, layout: Layout) -> int:  # noqa: D102
        return layout.length

    def rows(self, layout: Layout, draws: Tensor) -> Tensor:  # noqa: D102
        return draws[:, : layout.length]

    def theta(self, law: Gaussian, row: int, draws: Tensor) -> Tensor:  # noqa: D102
        return law.mu[row] + law.sigma[row] * self.rows(law.layout, draws)[0]

    def count_of_step(self, layout: Layout) -> int:  # noqa: D102
        return layout.n_units

    def q_of_step(self, law: Gaussian, obs: Tensor, draws: Tensor) -> Tensor:  # noqa: D102
        # One observation a sample: local reparameterisation has the law of writing theta out.
        return law.q(obs, draws)

    def q_of_trials(  # noqa: D102
        self, gaussian: Gaussian, obs: Tensor, noise: NormalStreams
    ) -> Tensor:
        return gaussian.q(obs, noise.draw(obs.shape[1] * gaussian.layout.n_units))


class Factorised:
    """eps_W = f(e_in) f(e_out)^T and eps_b = f(e_out), f(x) = sign(x) sqrt|x| (Fortunato 2017)."""

    def count(self, layout: Layout) -> int:  # noqa: D102
        return sum(n_in + n_out for n_in, n_out in layout.shapes)

    def rows(self, layout: Layout, draws: Tensor) -> Tensor:  # noqa: D102
        f = draws.sign() * draws.abs().sqrt()
        rows = torch.zeros(len(draws), layout.length, device=draws.device)
        at = 0
        for layer, (n_in, n_out) in zip(layout.layers(rows), layout.shapes, strict=True):
            f_in = f[:, at : at + n_in].unsqueeze(2)
            f_out = f[:, at + n_in : at + n_in + n_out].unsqueeze(1)
            torch.mul(f_in, f_out, out=layer.weight)
            layer.bias.copy_(f_out)
            at += n_in + n_out
        return rows

    def theta(self, law: Gaussian, row: int, draws: Tensor) -> Tensor:  # noqa: D102
        return law.mu[row] + law.sigma[row] * self.rows(law.layout, draws)[0]

    def count_of_step(self, layout: Layout) -> int:  # noqa: D102
        return self.count(layout)

    def q_of_step(self, law: Gaussian, obs: Tensor, draws: Tensor) -> Tensor:  # noqa: D102
        eps = self.rows(law.layout, draws)
        return mlp_values(law.mu + law.sigma * eps, law.layout, obs)

    def q_of_trials(  # noqa: D102
        self, gaussian: Gaussian, obs: Tensor, noise: NormalStreams
    ) -> Tensor:
        # A trial takes a seed's place: T networks, one observation each.
        trials, count = obs.shape[1], self.count(gaussian.layout)
        draws = noise.draw(trials * count)[0, : trials * count].view(trials, count)
        return self.q_of_step(gaussian, obs.transpose(0, 1).contiguous(), draws).transpose(0, 1)


class ActingNoise(Kept, Protocol[Law]):
    """Which sample of the weights acting uses."""

    def begin_episodes(self, rows: np.ndarray, clock: Clock, law: Law) -> None:
        """Note that these seeds start a new episode."""

    def q(self, law: Law, obs: Tensor) -> Tensor:
        """Return Q-values ``[S, 1, A]`` of sampled networks at ``obs`` [S, 1, obs]."""


class ThetaEachStep(Generic[Law]):
    """A fresh theta at every step."""

    def __init__(self, context: Context, sampling: Sampling[Law]) -> None:
        self._sampling = sampling
        streams = NormalStreams.of(context.seeds, Purpose.ACTING, device=context.device)
        width = sampling.count_of_step(context.layout)
        # Small draws are made many at a time; a whole theta is large enough by itself.
        depth = 1 if width >= context.layout.length else 32
        self._blocks = NormalBlocks(streams, width, depth)

    def begin_episodes(  # noqa: D102
        self, rows: np.ndarray, clock: Clock, law: Law
    ) -> None:
        pass

    def q(self, law: Law, obs: Tensor) -> Tensor:  # noqa: D102
        return self._sampling.q_of_step(law, obs, self._blocks.draw())

    def select(self, rows: np.ndarray) -> None:  # noqa: D102
        self._blocks.select(rows)

    def state(self, row: int) -> dict[str, Any]:  # noqa: D102
        return self._blocks.state(row)

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:  # noqa: D102
        self._blocks.load(states)


class ThetaEachEpisode(Generic[Law]):
    """One theta for a whole episode, drawn from the parameters at its beginning.

    Episode e of seed k draws from the stream (k, ACTING, e).
    """

    def __init__(self, context: Context, sampling: Sampling[Law]) -> None:
        self._layout, self._sampling = context.layout, sampling
        self._seeds = list(context.seeds)
        self._device = context.device
        self._theta = torch.zeros(len(self._seeds), self._layout.length, device=context.device)

    def begin_episodes(  # noqa: D102
        self, rows: np.ndarray, clock: Clock, law: Law
    ) -> None:
        count = self._sampling.count(self._layout)
        for row in rows:
            episode = int(clock.episodes[row])
            stream = NormalStreams.of(
                [self._seeds[row]], Purpose.ACTING, episode, device=self._device
            )
            self._theta[row] = self._sampling.theta(law, row, stream.draw(count))

    def q(self, law: Law, obs: Tensor) -> Tensor:  # noqa: D102
        return mlp_values(self._theta, self._layout, obs)

    def select(self, rows: np.ndarray) -> None:  # noqa: D102
        self._seeds = [self._seeds[row] for row in rows]
        self._theta = self._theta[torch.from_numpy(rows).to(self._device)]

    def state(self, row: int) -> dict[str, Any]:  # noqa: D102
        return {"theta": self._theta[row].cpu().clone()}

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:  # noqa: D102
        for row, state in enumerate(states):
            self._theta[row].copy_(state["theta"])


class Noise(Generic[Law]):
    """The noise of acting, of updates and of targets: streams of each seed.

    Attributes:
        kept: All of them by name, to be kept for a resume.
    """

    def __init__(
        self,
        context: Context,
        sampling: Sampling[Law],
        resample: Literal["step", "episode"],
        *,
        double: bool,
    ) -> None:
        """``double``: whether the actions of targets are chosen by a sample of their own."""
        self.acting: ActingNoise[Law] = (
            ThetaEachStep(context, sampling)
            if resample == "step"
            else ThetaEachEpisode(context, sampling)
        )
        self.update = NormalStreams.of(context.seeds, Purpose.UPDATE_NOISE, device=context.device)
        self.target = NormalStreams.of(context.seeds, Purpose.TARGET_NOISE, device=context.device)
        self.kept: dict[str, Kept] = {
            "acting": self.acting,
            "update": self.update,
            "target": self.target,
        }
        self.choosing: NormalStreams | None = None
        if double:
            self.choosing = NormalStreams.of(
                context.seeds, Purpose.CHOOSING_NOISE, device=context.device
            )
            self.kept["choosing"] = self.choosing


def gaussian_q_functions(
    gaussian: Gaussian, row: int, shape: NoiseShape, noise: NormalStreams
) -> Mapping[str, QFunction]:
    """Return what one seed's Gaussian network says: ``mean`` and ``sample``.

    ``noise``, a stream of one seed, is what the samples are drawn from.
    """
    one = Gaussian(
        gaussian.layout,
        gaussian.mu[row : row + 1],
        gaussian.variance[row : row + 1],
        gaussian.sigma[row : row + 1],
    )
    return {
        "mean": lambda obs: mlp_values(one.mu, one.layout, obs),
        "sample": lambda obs: shape.q_of_trials(one, obs, noise),
    }
