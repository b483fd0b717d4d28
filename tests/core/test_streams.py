"""Uniform streams: what a seed draws depends on its name alone, and can be gone on with."""

import itertools

import numpy as np
import pytest
from scipy import stats

from vdqn_runner.streams import Purpose, UniformBlocks, episode_seed, generator

DEPTH, WIDTH = 4, 3


def drawn(blocks, count):
    return np.stack([blocks.draw().copy() for _ in range(count)])


def test_purposes_keep_their_numbers():
    numbers = {purpose.name: int(purpose) for purpose in Purpose}
    assert numbers == {
        "INIT": 0,
        "ENVIRONMENT": 1,
        "ACTING": 2,
        "REPLAY": 3,
        "UPDATE_NOISE": 4,
        "TARGET_NOISE": 5,
        "EVALUATION": 6,
        "EVALUATION_NOISE": 7,
        "CHOOSING_NOISE": 8,
        "PRIOR": 9,
        "MASKS": 10,
        "DYNAMICS": 11,
        "DYNAMICS_REPLAY": 12,
        "DYNAMICS_NOISE": 13,
        "GAIN_NOISE": 14,
    }


def test_draws_are_uniform():
    draws = drawn(UniformBlocks([11], Purpose.REPLAY, 50), 400).ravel()
    assert stats.kstest(draws, "uniform").pvalue > 1e-3
    assert draws.min() >= 0.0 and draws.max() < 1.0


def test_seeds_and_purposes_are_uncorrelated():
    names = list(itertools.product((0, 1, 2, 2**32 - 1), Purpose))
    draws = np.stack([generator(seed, purpose).random(10_000) for seed, purpose in names])
    off_diagonal = np.corrcoef(draws)[np.triu_indices(len(names), 1)]
    assert np.abs(off_diagonal).max() < 5.0 / np.sqrt(10_000)


def test_index_names_a_stream_of_its_own():
    first = [generator(3, Purpose.ENVIRONMENT, index).random() for index in range(200)]
    assert len(set(first)) == 200


def test_no_global_generator_is_touched():
    before = np.random.get_state()[1].copy()
    UniformBlocks([0, 1], Purpose.ACTING, WIDTH).draw()
    assert (np.random.get_state()[1] == before).all()


@pytest.mark.parametrize("seeds", [[2], [2, 0], [5, 4, 3, 2, 1]])
def test_a_seed_draws_the_same_in_every_batch(seeds):
    alone = drawn(UniformBlocks([2], Purpose.REPLAY, WIDTH, DEPTH), 10)[:, 0]
    beside = drawn(UniformBlocks(seeds, Purpose.REPLAY, WIDTH, DEPTH), 10)
    np.testing.assert_array_equal(beside[:, seeds.index(2)], alone)


@pytest.mark.parametrize("position", range(2 * DEPTH + 2))
def test_goes_on_from_a_kept_state_at_every_position(position):
    blocks = UniformBlocks([4, 9], Purpose.REPLAY, WIDTH, DEPTH)
    for _ in range(position):
        blocks.draw()
    states = [blocks.state(row) for row in (0, 1)]
    again = UniformBlocks([4, 9], Purpose.REPLAY, WIDTH, DEPTH)
    again.load(states)
    np.testing.assert_array_equal(drawn(again, 2 * DEPTH + 1), drawn(blocks, 2 * DEPTH + 1))


@pytest.mark.parametrize("position", [0, 1, DEPTH, DEPTH + 2])
def test_select_keeps_each_seed_going(position):
    blocks = UniformBlocks([7, 8, 9], Purpose.ACTING, WIDTH, DEPTH)
    for _ in range(position):
        blocks.draw()
    blocks.select(np.array([2, 0]))
    rest = drawn(blocks, 2 * DEPTH)
    whole = drawn(UniformBlocks([9, 7], Purpose.ACTING, WIDTH, DEPTH), position + 2 * DEPTH)
    np.testing.assert_array_equal(rest, whole[position:])


def test_kept_state_survives_select():
    blocks = UniformBlocks([7, 8, 9], Purpose.ACTING, WIDTH, DEPTH)
    for _ in range(DEPTH + 1):
        blocks.draw()
    blocks.select(np.array([1]))
    again = UniformBlocks([8], Purpose.ACTING, WIDTH, DEPTH)
    again.load([blocks.state(0)])
    np.testing.assert_array_equal(drawn(again, 3 * DEPTH), drawn(blocks, 3 * DEPTH))


def test_episode_seeds_are_in_range_and_differ():
    seeds = [episode_seed(seed, episode) for seed in range(30) for episode in range(30)]
    assert len(set(seeds)) == len(seeds)
    assert min(seeds) >= 0 and max(seeds) < 2**31
