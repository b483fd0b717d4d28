"""Targets and choices by hand."""

import numpy as np
import torch

from vdqn_runner.algos.base import Batch
from vdqn_runner.algos.bellman import bellman_target, greedy, q_of_action


def test_targets_by_hand():
    batch = Batch(
        obs=torch.zeros(2, 3, 1),
        action=torch.zeros(2, 3, dtype=torch.int64),
        reward=torch.tensor([[1.0, 2.0, 0.0], [-1.0, 0.5, 0.0]]),
        discount=torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]),
        next_obs=torch.zeros(2, 3, 1),
        weight=torch.ones(2, 3),
        number=np.zeros((2, 3), np.int64),
        held=3,
    )
    q_next = torch.tensor(
        [[[4.0, 2.0], [100.0, 9.0], [-3.0, -1.0]], [[50.0, 1.0], [0.0, 8.0], [-2.0, -4.0]]]
    )
    expected = torch.tensor([[3.0, 2.0, -0.5], [-1.0, 4.5, -1.0]])
    assert torch.equal(bellman_target(batch, q_next), expected)
    choosing = torch.tensor(
        [[[0.0, 2.0], [1.0, 0.0], [5.0, 6.0]], [[7.0, 9.0], [1.0, 0.0], [0.0, 4.0]]]
    )
    expected = torch.tensor([[2.0, 2.0, -0.5], [-1.0, 0.5, -2.0]])
    assert torch.equal(bellman_target(batch, q_next, choosing), expected)


def test_values_of_actions():
    q = torch.arange(12.0).reshape(2, 3, 2)
    action = torch.tensor([[0, 1, 1], [1, 0, 1]])
    assert q_of_action(q, action).tolist() == [[0.0, 3.0, 5.0], [7.0, 8.0, 11.0]]


def test_greedy_takes_the_first_best():
    q = torch.tensor([[[1.0, 3.0, 3.0]], [[5.0, 3.0, 5.0]], [[-2.0, -3.0, -1.0]]])
    assert greedy(q).tolist() == [1, 0, 2]
