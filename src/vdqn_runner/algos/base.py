"""What the training loop asks of an algorithm, and what an algorithm is given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from vdqn_runner.layout import Layout
from vdqn_runner.learner import Learner
from vdqn_runner.normals import NormalStreams

QFunction = Callable[[Tensor], Tensor]
"""From the observations ``[1, T, obs]`` of T trials to their Q-values ``[1, T, A]``."""


@dataclass(frozen=True)
class Context:
    """What is fixed before an algorithm is made.

    Attributes:
        seeds: The S seeds that train in lockstep.
        layout: The Q-network; ``layout.sizes`` starts with the observation and ends with A.
        device: Where the networks live, in torch's words.
    """

    seeds: Sequence[int]
    layout: Layout
    device: str = "cpu"


@dataclass(frozen=True)
class Batch:
    """A minibatch for S seeds.

    Attributes:
        obs: ``[S, B, obs]``, or int32 numbers ``[S, B]`` (see ``nets``).
        action: ``[S, B]`` int64.
        reward: ``[S, B]``, scaled by ``algo.reward_scale``.
        discount: ``[S, B]``, gamma, or 0 where nothing follows the transition.
        next_obs: Like ``obs``.
        weight: ``[S, B]``, what each transition counts in the loss; 1 under uniform replay.
        number: ``[S, B]`` int64: the how-manieth transition of its seed each one is, from 0.
        held: How many transitions the replay memory of each seed holds.
    """

    obs: Tensor
    action: Tensor
    reward: Tensor
    discount: Tensor
    next_obs: Tensor
    weight: Tensor
    number: np.ndarray
    held: int


@dataclass(frozen=True)
class Clock:
    """Where training stands: ``step`` is the same for all seeds, ``episodes`` [S] are finished."""

    step: int
    episodes: np.ndarray


@dataclass(frozen=True)
class Loss:
    """What one update minimises and reports.

    Attributes:
        total: ``[S]``, differentiable with respect to the learner's online rows.
        reported: By log column, ``[S]`` values to be averaged over the updates of a log row.
        errors: ``[S, B]``, Q - d of each transition, by which replay may be prioritised.
    """

    total: Tensor
    reported: Mapping[str, Tensor]
    errors: Tensor


@dataclass(frozen=True)
class Updated:
    """What an update has done.

    Attributes:
        figures: What is reported, ``[S]`` each.
        errors: Q - d before it, ``[S, B]``; None where the replay is uniform and does not ask.
    """

    figures: Mapping[str, np.ndarray]
    errors: np.ndarray | None = None


class Kept(Protocol):
    """Something of each of S seeds that is to be kept for a resume: a stream, say."""

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""

    def state(self, row: int) -> Any:
        """Return what is to be kept of one seed."""

    def load(self, states: Sequence[Any]) -> None:
        """Go on from the kept states of all seeds."""


class Algorithm(Protocol):
    """How an algorithm acts, what its loss is, and which state it keeps beside the learner's."""

    learner: Learner
    kept: Mapping[str, Kept]
    """By name, all that ``act``, ``loss`` and ``update`` change beside the learner."""

    reported: tuple[str, ...]
    """Names of what ``Loss.reported`` holds, in the order of the log's columns."""

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Note that these seeds start a new episode."""

    def act(self, obs: Tensor, clock: Clock) -> np.ndarray:
        """Return the actions ``[S]`` for the observations ``obs`` [S, 1, obs] or [S, 1]."""

    def loss(self, batch: Batch, clock: Clock) -> Loss:
        """Return the loss of a minibatch under fresh noise."""

    def update(self, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
        """Take a gradient step down that loss at rates ``lr`` [S].

        ``descend`` does it for any loss; a compiled form may do the same faster.
        """

    def q_functions(self, row: int, noise: NormalStreams) -> Mapping[str, QFunction]:
        """Return, by name, what a seed's online parameters say when nothing is to be explored.

        ``mean`` is the network itself, ``sample`` one that is sampled anew at every call for every
        trial. They are valid until the parameters change, and touch nothing that training draws
        from: ``noise``, a stream of one seed, is for them alone.
        """

    def online_changed(self) -> None:
        """Note that the learner's online rows have changed."""

    def target_changed(self) -> None:
        """Note that the learner's target rows have changed."""

    def scheduled(self, clock: Clock) -> dict[str, np.ndarray]:
        """Return the current values ``[S]`` of the algorithm's own schedules, by log column."""

    def snapshot(self, row: int) -> dict[str, float]:
        """Return figures that describe a seed's parameters now, by log column."""

    def bind(self) -> None:
        """Make anew what follows from the learner's rows and from ``kept``.

        Asked for when seeds leave, which makes other tensors of them, and after a resume.
        """


def descend(algo: Algorithm, batch: Batch, clock: Clock, lr: np.ndarray) -> Updated:
    """Take a gradient step of ``algo`` by autograd."""
    loss = algo.loss(batch, clock)
    algo.learner.descend(loss.total, lr)
    algo.online_changed()
    figures = {name: values.numpy(force=True) for name, values in loss.reported.items()}
    return Updated(figures, loss.errors.numpy(force=True))


def select(algo: Algorithm, rows: np.ndarray) -> None:
    """Keep only these seeds, in this order."""
    algo.learner.select(rows)
    for kept in algo.kept.values():
        kept.select(rows)
    algo.bind()


def state(algo: Algorithm, row: int) -> dict[str, Any]:
    """Return what is to be kept of one seed, the learner's state left out."""
    return {name: kept.state(row) for name, kept in algo.kept.items()}


def load(algo: Algorithm, states: Sequence[Mapping[str, Any]]) -> None:
    """Go on from the kept states of all seeds, after the learner has loaded its own."""
    for name, kept in algo.kept.items():
        kept.load([state[name] for state in states])
    algo.bind()
