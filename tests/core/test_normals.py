"""Normal streams against the normal law, a second SFC64 and a float64 Box-Muller."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from vdqn_runner.normals import LANES, NormalBlocks, NormalStreams, box_muller
from vdqn_runner.streams import Purpose

pytestmark = pytest.mark.usefixtures("engine")

WIDTH, DEPTH = 5, 4
MASK = 2**64 - 1


def sfc64(state):
    """The SFC64 generator (Doty-Humphrey) in plain integers."""
    a, b, c, counter = (int(word) for word in state)
    while True:
        out = (a + b + counter) & MASK
        counter = (counter + 1) & MASK
        a = b ^ (b >> 11)
        b = (c + (c << 3)) & MASK
        c = (((c << 24) | (c >> 40)) + out) & MASK
        yield out


def plain_normals(lanes, n):
    """``n`` normals in float64 from plain SFC64 lanes taken in turn, 32 bits for each uniform."""
    generators = [sfc64(state) for state in lanes]
    words = [next(g) for _ in range(n // 2 // LANES) for g in generators]
    halves = np.array([(word >> shift) & 0xFFFFFFFF for word in words for shift in (0, 32)])
    signed = np.where(halves >= 2**31, halves - 2**32, halves).astype(np.float64)
    radius = np.sqrt(-2.0 * np.log(np.maximum(signed[: n // 2] / 2**32 + 0.5, 2.0**-26)))
    angle = 2.0 * np.pi * signed[n // 2 :] / 2**32
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])


def drawn(blocks, count):
    return np.stack([blocks.draw().clone().numpy() for _ in range(count)])


def test_draws_follow_the_normal_law():
    draws = NormalStreams.of([3, 4], Purpose.ACTING).draw(200_000).numpy().astype(np.float64)
    for row in draws:
        assert stats.kstest(row, "norm").pvalue > 1e-3
    z = draws.ravel()
    n = len(z)
    assert abs(z.mean()) < 5.0 / np.sqrt(n)
    assert abs(z.var() - 1.0) < 5.0 * np.sqrt(2.0 / n)
    assert abs((z**3).mean()) < 5.0 * np.sqrt(15.0 / n)
    assert abs((z**4).mean() - 3.0) < 5.0 * np.sqrt(96.0 / n)
    assert np.abs(z).max() < 6.01


def test_draws_of_one_call_are_uncorrelated():
    z = NormalStreams.of([5], Purpose.UPDATE_NOISE).draw(128_000)[0].numpy().astype(np.float64)
    bound = 5.0 / np.sqrt(len(z) / 2)
    for lag in (1, 2, 7, 8, 16, 64, len(z) // 2):
        assert abs(np.mean(z[:-lag] * z[lag:])) < bound, lag
        assert abs(np.corrcoef(z[:-lag] ** 2, z[lag:] ** 2)[0, 1]) < bound, lag


def test_seeds_and_purposes_are_uncorrelated():
    names = list(itertools.product((0, 1, 2), Purpose))
    draws = np.concatenate(
        [NormalStreams.of([seed], purpose).draw(6400).numpy() for seed, purpose in names]
    )
    off_diagonal = np.corrcoef(draws)[np.triu_indices(len(names), 1)]
    assert np.abs(off_diagonal).max() < 5.0 / np.sqrt(6400)


def test_episodes_name_streams_of_their_own():
    draws = [
        NormalStreams.of([1], Purpose.ACTING, episode).draw(64)[0, 0].item()
        for episode in range(50)
    ]
    assert len(set(draws)) == 50


def test_values_are_box_muller_of_the_lanes():
    lanes = np.random.default_rng(0).integers(0, 2**64, (2, LANES, 4), np.uint64)
    streams = NormalStreams(lanes.copy())
    together = np.concatenate([streams.draw(256).numpy(), streams.draw(64).numpy()], axis=1)
    for row in range(2):
        first = plain_normals(lanes[row], 256)
        np.testing.assert_allclose(together[row, :256], first, rtol=2e-5, atol=4e-6)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
def test_gives_at_least_as_many_as_asked(count):
    draws = NormalStreams.of([0, 1], Purpose.ACTING).draw(count)
    assert draws.dtype == torch.float32
    assert draws.shape[0] == 2 and draws.shape[1] >= count
    assert len(np.unique(draws.numpy())) > 0.99 * draws.numel()


def test_box_muller_is_finite_for_extreme_bits():
    extreme = [-(2**31), -(2**31) + 1, -(2**24), -1, 0, 1, 2**24, 2**31 - 65, 2**31 - 1]
    pairs = list(itertools.product(extreme, repeat=2))
    bits = torch.tensor([[a for a, _ in pairs] + [b for _, b in pairs]], dtype=torch.int32)
    z = box_muller(bits)
    assert torch.isfinite(z).all()
    assert z.abs().max() < 6.01


@pytest.mark.parametrize("seeds", [[2], [2, 0], [5, 4, 3, 2, 1]])
def test_a_seed_draws_the_same_in_every_batch(seeds):
    alone, beside = (NormalStreams.of(s, Purpose.UPDATE_NOISE) for s in ([2], seeds))
    for count in (64, 200, 7):
        row = beside.draw(count)[seeds.index(2)]
        assert torch.equal(alone.draw(count)[0], row)


@pytest.mark.parametrize("position", range(4))
def test_streams_go_on_from_a_kept_state(position):
    streams = NormalStreams.of([4, 9], Purpose.TARGET_NOISE)
    for _ in range(position):
        streams.draw(100)
    again = NormalStreams.of([0, 0], Purpose.TARGET_NOISE)
    again.load([streams.state(row) for row in (0, 1)])
    assert torch.equal(again.draw(300), streams.draw(300))


def test_selected_streams_go_on():
    streams = NormalStreams.of([7, 8, 9], Purpose.TARGET_NOISE)
    streams.draw(100)
    streams.select(np.array([2, 0]))
    whole = NormalStreams.of([9, 7], Purpose.TARGET_NOISE)
    whole.draw(100)
    assert torch.equal(streams.draw(100), whole.draw(100))


@pytest.mark.parametrize("seeds", [[2], [2, 0], [5, 4, 3, 2, 1]])
def test_blocks_of_a_seed_are_the_same_in_every_batch(seeds):
    def blocks(names):
        return NormalBlocks(NormalStreams.of(names, Purpose.ACTING), WIDTH, DEPTH)

    np.testing.assert_array_equal(
        drawn(blocks(seeds), 10)[:, seeds.index(2)], drawn(blocks([2]), 10)[:, 0]
    )


def test_blocks_never_repeat_a_draw():
    values = drawn(NormalBlocks(NormalStreams.of([0, 1], Purpose.ACTING), WIDTH, DEPTH), 30)
    assert values.shape == (30, 2, WIDTH)
    assert len(np.unique(values)) == values.size


@pytest.mark.parametrize("position", range(2 * DEPTH + 2))
def test_blocks_go_on_from_a_kept_state_at_every_position(position):
    def blocks():
        return NormalBlocks(NormalStreams.of([4, 9], Purpose.ACTING), WIDTH, DEPTH)

    one, two = blocks(), blocks()
    for _ in range(position):
        one.draw()
    two.load([one.state(row) for row in (0, 1)])
    np.testing.assert_array_equal(drawn(two, 2 * DEPTH + 1), drawn(one, 2 * DEPTH + 1))


@pytest.mark.parametrize("position", [0, 1, DEPTH, DEPTH + 2])
def test_selected_blocks_go_on(position):
    def blocks(names):
        return NormalBlocks(NormalStreams.of(names, Purpose.ACTING), WIDTH, DEPTH)

    some = blocks([7, 8, 9])
    for _ in range(position):
        some.draw()
    some.select(np.array([2, 0]))
    whole = drawn(blocks([9, 7]), position + 2 * DEPTH)
    np.testing.assert_array_equal(drawn(some, 2 * DEPTH), whole[position:])
