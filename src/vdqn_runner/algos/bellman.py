"""The Bellman target and error that all algorithms here share."""

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Batch


def bellman_target(batch: Batch, q_next: Tensor) -> Tensor:
    """Return ``d`` [S, B]: d_j = r_j + gamma (1 - terminal_j) max_a Q^-(s'_j, a).

    ``q_next`` [S, B, A] are the target network's values at the next observations.
    """
    return batch.reward + batch.discount * q_next.amax(dim=2)


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
