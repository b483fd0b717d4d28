"""Statistics against hand-computed values, SciPy and simulation."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vdqn_runner.analysis.stats import (
    bootstrap_interval,
    iqm,
    iteration_means,
    mean,
    stack,
    summarise,
)

FINITE = st.floats(-1e6, 1e6)


def test_iteration_means_by_hand_leave_out_the_incomplete_iteration():
    assert iteration_means(range(25)).tolist() == [4.5, 14.5]
    assert iteration_means(range(9)).tolist() == []


def test_stack_pads_ends():
    result = stack([np.array([1.0, 2.0]), np.array([3.0]), np.array([])])
    np.testing.assert_array_equal(result, [[1, 2], [3, np.nan], [np.nan, np.nan]])


def test_iqm_by_hand():
    assert iqm(np.array([[0.0], [1.0], [3.0], [100.0]])) == [2.0]
    assert iqm(np.array([[9.0], [0.0], [2.0], [1.0], [50.0]])) == [4.0]
    assert iqm(np.array([[7.0]])) == [7.0]


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=FINITE))
def test_iqm_is_scipys_trimmed_mean(values):
    expected = scipy.stats.trim_mean(values, 0.25, axis=0)
    np.testing.assert_allclose(iqm(values), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("statistic", [mean, iqm])
def test_interval_agrees_with_scipy(statistic):
    values = np.random.default_rng(1).gamma(2.0, size=(8, 3))
    ours = bootstrap_interval(values, statistic, np.random.default_rng(2), resamples=20_000)
    theirs = scipy.stats.bootstrap(
        (values,),
        lambda x, axis: statistic(np.moveaxis(x, axis, 0)),
        axis=0,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(3),
    ).confidence_interval
    # Two independent bootstraps: the Monte Carlo error of an end is about 0.5 % of the spread.
    tolerance = 0.03 * (theirs.high - theirs.low)
    assert (np.abs(ours[0] - theirs.low) < tolerance).all()
    assert (np.abs(ours[1] - theirs.high) < tolerance).all()


@pytest.mark.parametrize(("n_seeds", "expected"), [(5, 0.82), (10, 0.90), (40, 0.94)])
def test_coverage_of_a_normal_mean(n_seeds, expected):
    # Where the bootstrap distribution is nearly normal, the interval is the mean and 1.96 times its
    # standard error without Bessel's correction, so that Student's t gives the coverage.
    values = np.random.default_rng(4).normal(3.0, 2.0, size=(4000, n_seeds))
    rng = np.random.default_rng(5)
    ends = [bootstrap_interval(row[:, None], mean, rng, resamples=400) for row in values]
    covered = np.mean([low[0] <= 3.0 <= high[0] for low, high in ends])
    t = 1.96 * np.sqrt((n_seeds - 1) / n_seeds)
    assert covered == pytest.approx(1 - 2 * scipy.stats.t.sf(t, n_seeds - 1), abs=0.03)
    assert covered == pytest.approx(expected, abs=0.02)


def test_interval_is_decided_by_the_generator_alone():
    values = np.random.default_rng(6).normal(size=(5, 4))
    first = bootstrap_interval(values, mean, np.random.default_rng(7))
    again = bootstrap_interval(values, mean, np.random.default_rng(7))
    other = bootstrap_interval(values, mean, np.random.default_rng(8))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_interval_does_not_depend_on_blocks(monkeypatch):
    values = np.random.default_rng(9).normal(size=(5, 7))
    whole = bootstrap_interval(values, iqm, np.random.default_rng(0))
    monkeypatch.setattr("vdqn_runner.analysis.stats._BLOCK", 2 * 5 * 2000)
    np.testing.assert_array_equal(bootstrap_interval(values, iqm, np.random.default_rng(0)), whole)


def test_one_seed_has_a_degenerate_interval():
    summary = summarise(np.array([[1.0, 5.0]]), mean, np.random.default_rng(0))
    for part in (summary.center, summary.low, summary.high):
        assert part.tolist() == [1.0, 5.0]


def test_ragged_seeds_use_those_that_are_there():
    values = stack([np.array([1.0, 2.0, 3.0]), np.array([3.0]), np.array([8.0, 4.0])])
    summary = summarise(values, mean, np.random.default_rng(0))
    assert summary.n_seeds.tolist() == [3, 2, 1]
    assert summary.center.tolist() == [4.0, 3.0, 3.0]
    assert summary.low[2] == summary.high[2] == 3.0
    # Two seeds: a resample is one of them or both, so the ends are the seeds themselves.
    assert (summary.low[1], summary.high[1]) == (2.0, 4.0)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=FINITE),
    st.integers(0, 100),
)
def test_intervals_lie_within_the_seeds_and_move_with_them(values, seed):
    low, high = bootstrap_interval(values, mean, np.random.default_rng(seed), resamples=100)
    slack = 1e-9 * (1 + np.abs(values).max())
    assert (low <= high).all()
    assert (low >= values.min(axis=0) - slack).all()
    assert (high <= values.max(axis=0) + slack).all()
    shifted = bootstrap_interval(values + 8, mean, np.random.default_rng(seed), resamples=100)
    np.testing.assert_allclose(shifted, [low + 8, high + 8], atol=slack * 10)
