"""One gradient step of every seed in the compiled kernels.

It is the same as an algorithm's ``loss`` followed by ``Learner.descend``, without autograd.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from torch import Tensor

from vdqn_runner import kernels
from vdqn_runner.algos.base import Batch
from vdqn_runner.config import AlgoConfig
from vdqn_runner.layout import Layout
from vdqn_runner.learner import Learner
from vdqn_runner.normals import NormalStreams


class Sample(IntEnum):
    """Which theta is drawn for a minibatch. The numbers are those of kernels.c, here and below."""

    POINT = 0
    PER_BATCH = 1
    PER_TUPLE = 2


class NoiseKind(IntEnum):
    """How noise on the weights is shaped."""

    INDEPENDENT = 0
    FACTORISED = 1


class Second(IntEnum):
    """What the second row of parameters is."""

    NONE = 0
    SIGMA = 1
    RHO = 2


class ErrorLoss(IntEnum):
    """The loss of a Bellman error."""

    SQUARED = 0
    HUBER = 1


@dataclass(frozen=True)
class Form:
    """What tells the algorithms apart in an update."""

    sample: Sample = Sample.POINT
    target_sample: Sample = Sample.POINT
    noise: NoiseKind = NoiseKind.INDEPENDENT
    second: Second = Second.NONE
    loss: ErrorLoss = ErrorLoss.SQUARED


@dataclass(frozen=True)
class Spread:
    """The Gaussian's side of an update.

    Attributes:
        name: The learner's name of the second row.
        target_row2: Of the target the variances (one theta a tuple) or sigmas, [S, P].
        variance: Online variances [S, P], kept up to date.
        slope: d log(sigma) / d rho [S, P], kept up to date (rho only).
        entropy: [S], kept up to date (rho only).
        update_noise: The streams of the update's noise.
        target_noise: The streams of the targets' noise.
    """

    name: str
    target_row2: Tensor
    variance: Tensor
    slope: Tensor | None
    entropy: Tensor | None
    update_noise: NormalStreams
    target_noise: NormalStreams


@dataclass(frozen=True)
class Sums:
    """Over each seed's minibatch, float64 [S]: squared errors, losses, Q-values of the actions."""

    squares: np.ndarray
    losses: np.ndarray
    values: np.ndarray


def is_known(config: AlgoConfig, layout: Layout, learner: Learner) -> bool:
    """Whether there is a compiled form of an algorithm's update on these rows.

    It knows one head of plain Q-values, targets by the target network alone, and uniform replay.
    """
    rows = next(iter(learner.online.values()))
    return config.plain and layout.heads == 1 and kernels.serve(rows)


class CompiledUpdate:
    """Updates of these very tensors; make a new one when seeds leave."""

    def __init__(
        self, layout: Layout, learner: Learner, form: Form, spread: Spread | None = None
    ) -> None:
        self._learner, self._layout = learner, layout
        first = next(iter(learner.online))
        rows = learner.online[first]
        n_seeds = len(rows)
        self._sums = Sums(*(np.zeros(n_seeds) for _ in range(3)))
        self._no_entropy = np.zeros(n_seeds, np.float32)
        self._keep = spread
        optimizer = learner.optimizer
        self._task = task = kernels.Update(
            words=layout.net.words,
            n_seeds=n_seeds,
            sample=form.sample,
            target_sample=form.target_sample,
            noise=form.noise,
            second=form.second,
            loss=form.loss,
            mu=rows.data_ptr(),
            moment1=learner.moment1[first].data_ptr(),
            moment2=learner.moment2[first].data_ptr(),
            target_mu=learner.target[first].data_ptr(),
            beta1=optimizer.beta1,
            beta2=optimizer.beta2,
            eps=optimizer.eps,
            squares=self._sums.squares.ctypes.data,
            losses=self._sums.losses.ctypes.data,
            values=self._sums.values.ctypes.data,
            norm=learner.gradient_norms.ctypes.data,
        )
        if spread is not None:
            task.row2 = learner.online[spread.name].data_ptr()
            task.moment1_row2 = learner.moment1[spread.name].data_ptr()
            task.moment2_row2 = learner.moment2[spread.name].data_ptr()
            task.target_row2 = spread.target_row2.data_ptr()
            task.variance = spread.variance.data_ptr()
            task.slope = None if spread.slope is None else spread.slope.data_ptr()
            task.log_sum = None if spread.entropy is None else spread.entropy.data_ptr()
            task.lanes = spread.update_noise.lanes.ctypes.data
            task.target_lanes = spread.target_noise.lanes.ctypes.data

    def __call__(
        self,
        batch: Batch,
        lr: np.ndarray,
        weight: np.ndarray,
        entropy_weight: np.ndarray | None = None,
    ) -> Sums:
        """Step down weight * sum_j l(q_j - d_j) - entropy_weight * H, all [S]; return the sums.

        What is returned is overwritten by the next step.
        """
        task, learner = self._task, self._learner
        learner.updates += 1
        weight = np.ascontiguousarray(weight, np.float32)
        h_weight = self._no_entropy if entropy_weight is None else entropy_weight
        h_weight = np.ascontiguousarray(h_weight, np.float32)
        rates = np.ascontiguousarray(lr, np.float64)
        size = batch.action.shape[1]
        task.batch = size
        task.x, task.states = kernels.addresses(batch.obs)
        task.x_next, task.states_next = kernels.addresses(batch.next_obs)
        task.action = batch.action.data_ptr()
        task.reward, task.discount = batch.reward.data_ptr(), batch.discount.data_ptr()
        task.working = self._layout.net.space(size, not batch.obs.is_floating_point())
        task.weight, task.entropy_weight = weight.ctypes.data, h_weight.ctypes.data
        task.lr = rates.ctypes.data
        task.bias1 = 1.0 - task.beta1**learner.updates
        task.root_bias2 = (1.0 - task.beta2**learner.updates) ** 0.5
        kernels.update(task, self._layout.mask)
        return self._sums
