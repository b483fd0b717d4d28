"""What gains are divided by, and the means of the log, by hand."""

import math

import numpy as np
import pytest

from vdqn_runner.intrinsic.means import Means
from vdqn_runner.intrinsic.medians import MedianScale

BOTH = np.array([0, 1])


def feed(scale, gains, ends=()):
    """Steps of two seeds; ``ends`` are those of the last step."""
    for pair in gains:
        scale.add(np.array(pair, float))
    scale.episodes_ended(np.array(ends, int))


def test_it_is_the_mean_of_the_last_medians():
    scale = MedianScale(2, window=2)
    feed(scale, [(1, 10), (9, 20), (2, 30)])
    assert scale.scale.tolist() == [1, 1]
    feed(scale, [], ends=[0])
    assert scale.scale.tolist() == [2, 1]  # median of 1, 9, 2; the other episode goes on
    feed(scale, [(4, 50), (8, 70)], ends=BOTH)
    assert scale.scale.tolist() == [(2 + 6) / 2, 30]  # of 4, 8 and of 10, 20, 30, 50, 70
    feed(scale, [(10, 1)], ends=[0])
    assert scale.scale.tolist() == [(6 + 10) / 2, 30]  # the first one is forgotten


def test_where_nothing_was_gained_it_is_1():
    scale = MedianScale(1, window=3)
    feed(scale, [(0,), (0,), (5,)], ends=[0])
    assert scale.scale.tolist() == [1]
    feed(scale, [(4,)], ends=[0])
    assert scale.scale.tolist() == [2]


def test_seeds_leave_and_states_are_taken_up():
    scale = MedianScale(3, window=2)
    feed(scale, [(1, 2, 3), (5, 6, 7)], ends=[0, 2])
    feed(scale, [(4, 4, 4)])
    states = [scale.state(row) for row in (2, 1)]
    scale.select(np.array([2, 1]))
    again = MedianScale(2, window=2)
    again.load(states)
    for one in (scale, again):
        assert one.scale.tolist() == [5, 1]
        feed(one, [(8, 8)], ends=BOTH)
        assert one.scale.tolist() == [(5 + 6) / 2, 5]  # of 4, 8 and of 2, 6, 4, 8


def test_means_are_of_what_came_since_the_last_row():
    means = Means(2)
    assert math.isnan(means.of(0))
    means.add(np.array([1.0, 2.0]))
    means.add(np.array([2.0, 4.0]))
    means.begin(0)
    assert math.isnan(means.of(0)) and means.of(1) == 3
    means.add(np.array([7.0, 9.0]))
    again = Means(1)
    again.load([means.state(1)])
    means.select(np.array([1]))
    assert again.of(0) == means.of(0) == pytest.approx(5)
