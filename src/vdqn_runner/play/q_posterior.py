"""What an agent believes of each state of a chain: the distribution of Q under q_phi."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from vdqn_runner.normals import NormalStreams
from vdqn_runner.play.agent import Agent
from vdqn_runner.streams import Purpose
from vdqn_runner.train import inputs

Floats = npt.NDArray[np.float64]
TAIL = 0.05


@dataclass(frozen=True)
class Belief:
    """Q-values of the states 1 .. N of a chain, under the posterior over the weights.

    Attributes:
        mean: ``[N, A]``, of the samples; of an algorithm without any, its Q-values.
        low: ``[N, A]``, the 5 % quantile.
        high: ``[N, A]``, the 95 % quantile.
        right: ``[N]``, probability that a sampled network prefers action 1 (right).
    """

    mean: Floats
    low: Floats
    high: Floats
    right: Floats


def belief(agent: Agent, n: int, samples: int) -> Belief:
    """Return what the agent believes of a chain of ``n`` states, from this many samples.

    Each sample of each state is a network of its own, theta ~ q_phi, as in acting (Algorithm 1,
    line 6); the samples are always the same ones.
    """
    # A stream that no trial uses: none comes after more episodes than there are.
    index = agent.config.episodes + 1
    noise = NormalStreams.of([agent.seed], Purpose.EVALUATION_NOISE, index)
    found = agent.algo.q_functions(0, noise)
    states = inputs(np.arange(1, n + 1, dtype=np.uint16)[None], agent.spec)
    if "sample" in found:
        values = torch.stack([found["sample"](states)[0] for _ in range(samples)])
    else:
        values = found["mean"](states)
    q = values.numpy().astype(np.float64)
    low, high = np.quantile(q, [TAIL, 1 - TAIL], axis=0)
    return Belief(q.mean(axis=0), low, high, (q[..., 1] > q[..., 0]).mean(axis=0))


def share_of_equal_states(found: Belief, tolerance: float = 0.01) -> float:
    """Return the share of the states 2 .. N-1 in which the mean Q is the same.

    The same means that no action's Q is farther from its median over these states than
    ``tolerance`` times the difference of the two actions' medians. A share of 1 is a policy that
    does not look at the state.
    """
    q = found.mean[1:-1]
    median = np.median(q, axis=0)
    return float((np.abs(q - median).max(axis=1) < tolerance * np.ptp(median)).mean())
