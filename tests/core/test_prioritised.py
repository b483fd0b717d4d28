"""Prioritised replay against sampling probabilities, weights and sums worked out plainly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vdqn_runner.config import ReplayConfig, build
from vdqn_runner.envs import make_envs
from vdqn_runner.replay import PrioritisedReplay, UniformReplay, make_replay
from vdqn_runner.replay.sum_tree import SumTrees

CONFIG = build({"episodes": 1, "env": {"kind": "chain", "n": 5}, "algo": {"name": "dqn"}})
SPEC = make_envs(CONFIG.env, [0]).spec
NEVER = np.zeros(2, np.int64)


def numbers(n_places, seed, n_seeds=2):
    rng = np.random.default_rng(seed)
    values = rng.exponential(size=(n_seeds, n_places)) * 10.0 ** rng.integers(-6, 3)
    return np.where(rng.random(values.shape) < 0.3, 0.0, values)


def tree_of(values):
    trees = SumTrees(*values.shape)
    for row, row_values in enumerate(values):
        trees.fill(row, row_values)
    return trees


@given(n_places=st.integers(1, 70), seed=st.integers(0, 10**6), n_changes=st.integers(0, 5))
def test_sums_and_places_are_those_of_running_sums(n_places, seed, n_changes):
    values = numbers(n_places, seed)
    trees = tree_of(values)
    rng = np.random.default_rng(seed + 1)
    for _ in range(n_changes):
        places = rng.integers(0, n_places, (2, 3))
        new = rng.exponential(size=(2, 3))
        trees.set(places, new)
        for row in range(2):
            for place, value in zip(places[row], new[row], strict=True):
                values[row, place] = value
    np.testing.assert_allclose(trees.total, values.sum(axis=1), rtol=1e-12)
    everywhere = np.tile(np.arange(n_places), (2, 1))
    assert np.array_equal(trees.at(everywhere), values)
    for row in range(2):
        if not values[row].any():
            return
    masses = rng.random((2, 40)) * trees.total[:, None]
    found = trees.find(masses)
    for row in range(2):
        ends = values[row].cumsum()
        # A mass that lies on the border of two places may fall into either, by rounding.
        clear = np.abs(masses[row][:, None] - ends).min(axis=1) > 1e-9 * ends[-1]
        wanted = np.searchsorted(ends, masses[row], side="right")
        assert np.array_equal(found[row][clear], wanted[clear])


@given(n_places=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_no_place_of_weight_zero_is_found(n_places, seed):
    values = numbers(n_places, seed)
    values[:, seed % n_places] = 1e-7
    trees = tree_of(values)
    edges = np.concatenate([[0.0, 0.5, 1.0], np.random.default_rng(seed).random(20)])
    masses = np.outer(trees.total, edges)
    masses = np.minimum(masses, np.nextafter(trees.total, 0.0)[:, None])
    assert (trees.at(trees.find(masses)) > 0.0).all()


@given(seed=st.integers(0, 10**6), order=st.randoms())
def test_the_order_of_changes_leaves_no_trace(seed, order):
    """So that a tree filled from a checkpoint gives the same bits."""
    values = numbers(13, seed)
    first, places = SumTrees(2, 13), list(range(13))
    for _ in range(2):
        order.shuffle(places)
        for place in places:
            first.set(np.full((2, 1), place), values[:, [place]])
    assert np.array_equal(first._nodes, tree_of(values)._nodes)


def memory(alpha=0.6, capacity=50, n_steps=50, beta=0.5, **settings):
    """A replay memory of two seeds in which transition n has the reward n."""
    config = ReplayConfig(capacity=capacity, alpha=alpha, beta=beta, **settings)
    replay = PrioritisedReplay(2, SPEC, config, 1000)
    fill(replay, 0, n_steps)
    return replay


def fill(replay, start, count):
    for n in range(start, start + count):
        if n % SPEC.max_episode_steps == 0:
            replay.begin(np.array([0, 1]), np.array([2, 2]))
        last = np.full(2, (n + 1) % SPEC.max_episode_steps == 0)
        replay.add(np.zeros(2, np.int64), np.full(2, float(n)), last, np.array([2, 2]))


def learned(replay, errors):
    """Give every transition held the error at its place, as if all had been drawn."""
    places = np.tile(np.arange(errors.shape[1]), (2, 1))
    drawn = replay._memory.take(places, np.ones(places.shape, np.float32))
    replay.learned(drawn, errors)


@pytest.mark.parametrize("alpha", [0.3, 0.6, 1.0])
def test_transitions_come_as_often_as_their_priorities_say(alpha):
    replay = memory(alpha)
    errors = np.random.default_rng(0).normal(size=(2, 50)) ** 3
    learned(replay, errors)
    rng = np.random.default_rng(1)
    counts = np.zeros((2, 50))
    for _ in range(4000):
        drawn = replay.sample(rng.random((2, 1)), 0, NEVER)
        assert np.array_equal(drawn.reward, drawn.place)
        counts[[0, 1], drawn.place[:, 0]] += 1
    chances = (np.abs(errors) + 1e-6) ** alpha
    chances /= chances.sum(axis=1, keepdims=True)
    for row in range(2):
        often = chances[row] * 4000 >= 5
        seen, wanted = counts[row][often], chances[row][often] * 4000
        if not often.all():
            seen = [*seen, counts[row][~often].sum()]
            wanted = [*wanted, chances[row][~often].sum() * 4000]
        assert stats.chisquare(seen, wanted).pvalue > 1e-3


def test_a_minibatch_takes_one_from_each_part_of_the_priorities():
    """Stratified: with equal priorities, B of N transitions lie N / B apart."""
    replay = memory(n_steps=48, capacity=48)
    learned(replay, np.ones((2, 48)))
    drawn = replay.sample(np.random.default_rng(0).random((2, 12)), 0, NEVER)
    assert np.array_equal(drawn.place // 4, np.tile(np.arange(12), (2, 1)))


@pytest.mark.parametrize(("beta", "episodes"), [(0.4, 0), (0.4, 7), (1.0, 0)])
def test_weights_undo_the_bias_of_the_priorities(beta, episodes):
    rising = {"kind": "linear", "start": beta, "end": 1.0, "duration": 10, "unit": "episodes"}
    replay = memory(0.6, beta=rising)
    errors = np.random.default_rng(0).normal(size=(2, 50))
    learned(replay, errors)
    drawn = replay.sample(np.random.default_rng(1).random((2, 20)), 3, np.full(2, episodes))
    priorities = (np.abs(errors) + 1e-6) ** 0.6
    now = beta + (1.0 - beta) * episodes / 10
    for row in range(2):
        chances = priorities[row] / priorities[row].sum()
        weights = (50 * chances[drawn.place[row]]) ** -now
        np.testing.assert_allclose(drawn.weight[row], weights / weights.max(), rtol=1e-5)


def test_with_beta_1_weighted_means_are_those_of_uniform_replay():
    """Importance sampling: sum w f / sum w over many draws is the plain mean of f."""
    replay = memory(1.0, beta=1.0)
    learned(replay, np.random.default_rng(0).exponential(size=(2, 50)) + 0.1)
    rng = np.random.default_rng(1)
    drawn = replay.sample(rng.random((2, 40_000)), 0, NEVER)
    means = (drawn.weight * drawn.reward).sum(axis=1) / drawn.weight.sum(axis=1)
    np.testing.assert_allclose(means, 24.5, atol=0.3)


def test_what_has_just_come_has_the_largest_priority_so_far():
    replay = memory(1.0, n_steps=20, capacity=30)
    errors = np.tile(np.arange(20.0) / 4, (2, 1))
    learned(replay, errors)
    fill(replay, 20, 1)
    everything = np.tile(np.arange(21), (2, 1))
    got = replay._trees.at(everything)[0]
    np.testing.assert_allclose(got[:20], errors[0] + 1e-6)
    assert got[20] == pytest.approx(19 / 4 + 1e-6)


def test_a_new_transition_takes_the_place_and_priority_of_the_oldest():
    replay = memory(1.0, capacity=10, n_steps=10)
    learned(replay, np.full((2, 10), 0.25))
    fill(replay, 10, 3)
    drawn = replay.sample(np.random.default_rng(0).random((2, 400)), 0, NEVER)
    assert set(drawn.number.ravel()) == set(range(3, 13))
    assert np.array_equal(drawn.reward, drawn.number)
    assert replay._trees.at(np.tile(np.arange(10), (2, 1)))[1].tolist() == pytest.approx(
        [1.0] * 3 + [0.25 + 1e-6] * 7
    )


@given(
    capacity=st.integers(3, 40), before=st.integers(3, 60), after=st.integers(0, 30), data=st.data()
)
def test_select_and_state_keep_it_going(capacity, before, after, data):
    replay = memory(0.7, capacity=capacity, n_steps=before)
    rng = np.random.default_rng(before)
    for _ in range(3):
        drawn = replay.sample(rng.random((2, 5)), 0, NEVER)
        replay.learned(drawn, rng.normal(size=(2, 5)))
    rows = data.draw(st.permutations([0, 1]))
    config = ReplayConfig(capacity=capacity, alpha=0.7, beta=0.5)
    again = PrioritisedReplay(2, SPEC, config, 1000)
    replay.select(np.array(rows))
    for row in range(2):
        again.load(row, replay.state(row))
    for one in (replay, again):
        fill(one, before, after)
    uniform = rng.random((2, 8))
    pairs = zip(
        vars(replay.sample(uniform, 0, NEVER)).values(),
        vars(again.sample(uniform, 0, NEVER)).values(),
        strict=True,
    )
    for one, two in pairs:
        assert np.array_equal(one, two)


def test_errors_that_are_not_finite_leave_the_tree_whole():
    replay = memory()
    errors = np.ones((2, 50))
    errors[0, 3], errors[0, 4] = np.nan, np.inf
    learned(replay, errors)
    assert np.isfinite(replay._trees.total).all()
    assert (replay.sample(np.random.default_rng(0).random((2, 30)), 0, NEVER).weight <= 1.0).all()


def test_alpha_decides_which_memory_there_is():
    assert isinstance(make_replay(1, SPEC, ReplayConfig(), 5), UniformReplay)
    assert isinstance(make_replay(1, SPEC, ReplayConfig(alpha=0.6), 5), PrioritisedReplay)
