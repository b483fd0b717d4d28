"""The Bellman target and error that all algorithms here share."""

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch


def bellman_target(batch: Batch, q_next: Tensor, choosing: Tensor | None = None) -> Tensor:
    """Return ``d`` [S, B]: d_j = r_j + gamma (1 - terminal_j) max_a Q^-(s'_j, a).

    Args:
        batch: The minibatch.
        q_next: ``[S, B, A]``, the target network's values Q^- at the next observations.
        choosing: ``[S, B, A]``, the values whose best action is looked up in ``q_next`` (van
            Hasselt, Guez and Silver 2016, eq. 4); None for ``q_next`` itself.
    """
    if choosing is None:
        return batch.reward + batch.discount * q_next.amax(dim=2)
    return batch.reward + batch.discount * q_of_action(q_next, choosing.argmax(dim=2))


def q_of_action(q: Tensor, action: Tensor) -> Tensor:
    """Return ``[S, B]``: of ``q`` [S, B, A] the values at ``action`` [S, B]."""
    return torch.gather(q, 2, action.unsqueeze(2)).squeeze(2)


def greedy(q: Tensor) -> np.ndarray:
    """Return ``[S]``: the first best action of ``q`` [S, 1, A]."""
    actions: np.ndarray = q[:, 0].argmax(dim=1).numpy(force=True)
    return actions


def greedy_in_trials(q: Tensor) -> np.ndarray:
    """Return ``[T]``: the first best action of each of T trials of one seed, ``q`` [1, T, A]."""
    return greedy(q.transpose(0, 1))
