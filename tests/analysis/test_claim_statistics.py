"""Statistics and intervals of claims against SciPy, brute force and numbers by hand."""

import math
import re

import claim_worlds as worlds
import gymnasium
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vdqn_runner.analysis.claims import chain, control, measures, visits
from vdqn_runner.analysis.claims.evidence import Evidence
from vdqn_runner.analysis.claims.interval import (
    difference_interval,
    distance,
    distance_interval,
    effect,
    mean_interval,
)
from vdqn_runner.analysis.claims.numbers import number
from vdqn_runner.analysis.claims.optimum import chain_return, final_epsilon
from vdqn_runner.envs.chain import ChainEnv

VALUES = hnp.arrays(np.float64, st.integers(2, 8), elements=st.integers(-20, 20).map(float))


def rng(seed=0):
    return np.random.default_rng(seed)


def run(returns, n=5, algo="vdqn", **more):
    """Evidence of a chain with the given returns [S, E] and no visits."""
    array = np.asarray(returns, dtype=float)
    config = {"algo": {"name": algo, **more}}
    return Evidence(f"chain-{n}", algo, n, config, tuple(range(len(array))), array, {})


# The best return of the chain


@pytest.mark.parametrize("n", [3, 4, 10, 77])
def test_the_optimum_is_eleven_for_every_chain(n):
    assert chain_return(n) == pytest.approx(11.0, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0])
def test_three_states_by_hand(epsilon):
    # The first step decides: right leads to 11 rewards of 1, left to 11 of 0.001.
    left = epsilon / 2
    assert chain_return(3, epsilon) == pytest.approx(11 * (1 - left) + 0.011 * left, rel=1e-12)


@pytest.mark.parametrize(("n", "epsilon"), [(5, 0.1), (8, 0.3), (32, 0.1), (200, 0.1)])
def test_exploring_optimum_is_that_of_the_transition_matrix(n, epsilon):
    step = np.zeros((n + 1, n + 1))
    step[1, 1] = step[n, n] = 1
    for s in range(2, n):
        step[s, s - 1], step[s, s + 1] = epsilon / 2, 1 - epsilon / 2
    reward = np.zeros(n + 1)
    reward[1], reward[n] = 0.001, 1.0
    occupied, total = np.eye(n + 1)[2], 0.0
    for _ in range(n + 9):
        total += occupied @ reward
        occupied = occupied @ step
    assert chain_return(n, epsilon) == pytest.approx(total, rel=1e-10)


def test_exploring_optimum_is_what_the_environment_pays():
    env, draw, totals = ChainEnv(6), rng(1), []
    for _ in range(3000):
        env.reset()
        total, done = 0.0, False
        while not done:
            action = int(draw.integers(2)) if draw.random() < 0.3 else 1
            _, reward, done, _, _ = env.step(action)
            total += float(reward)
        totals.append(total)
    error = np.std(totals) / math.sqrt(len(totals))
    assert chain_return(6, 0.3) == pytest.approx(np.mean(totals), abs=4 * error)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ({"kind": "constant", "value": 0.1}, 0.1),
        ({"kind": "linear", "start": 1.0, "end": 0.01, "duration": 5000}, 0.01),
        ({"kind": "exponential", "start": 1.0, "end": 0.02, "duration": 5000}, 0.02),
        ({"kind": "piecewise", "points": [[0, 1.0], [9, 0.03]]}, 0.03),
        (0.2, 0.2),
    ],
)
def test_epsilon_at_the_end_of_training(schedule, expected):
    assert final_epsilon({"algo": {"name": "dqn", "epsilon": schedule}}) == expected
    assert final_epsilon({"algo": {"name": "vdqn"}}) == 0


def test_what_counts_as_near_the_optimum_and_as_barely():
    dqn = run([[0.0] * 10], n=50, algo="dqn", epsilon={"kind": "constant", "value": 0.1})
    assert measures.near_optimum(run([[0.0] * 10])) == pytest.approx(10.45)
    assert measures.near_optimum(dqn) == pytest.approx(0.95 * 5.6298, abs=1e-4)
    # A tenth of the way from 58 steps in state 1 to the optimum, 11 or DQN's 5.63.
    assert measures.barely(dqn) == pytest.approx(0.058 + 0.1 * (5.6298 - 0.058), abs=1e-4)
    assert measures.barely(run([[0.0] * 10], n=50)) == pytest.approx(0.058 + 0.1 * 10.942)


@pytest.mark.parametrize(
    ("claim", "shown"),
    [(chain.middle_chains, {50: 5.63}), (chain.long_chains, {100: 2.03, 128: 1.00, 150: 0.54})],
)
def test_numbers_in_the_words_of_claims_are_the_computed_ones(claim, shown):
    for n, value in shown.items():
        assert round(chain_return(n, 0.1), 2) == value
        assert re.search(rf"\b{value:.2f}\b", claim.__doc__)
    assert chain_return(200, 0.1) < 208 * 0.001


def test_how_often_an_exploring_optimal_policy_reaches_the_end_of_128_states():
    # State 128 is 126 steps away; with epsilon 0.1 a step goes left with probability 0.05.
    n, left = 128, 0.05
    occupied = np.zeros(n + 1)
    occupied[2] = 1.0
    for _ in range(n + 9):
        moved = np.zeros(n + 1)
        moved[1], moved[n] = occupied[1], occupied[n]
        for s in range(2, n):
            moved[s - 1] += left * occupied[s]
            moved[s + 1] += (1 - left) * occupied[s]
        occupied = moved
    assert round(100 * occupied[n]) == 31 and "31 %" in visits.large_chain.__doc__


def test_bars_are_gymnasiums_own():
    assert set(control.BARS) == {"CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0"}
    for name, bar in control.BARS.items():
        assert gymnasium.spec(name).reward_threshold == bar


# Statistics of a seed


@given(hnp.arrays(np.float64, (2, 137), elements=st.floats(-500, 500)))
def test_running_means_are_those_of_pandas(returns):
    expected = pd.DataFrame(returns.T).rolling(100).mean().to_numpy()[99:].T
    np.testing.assert_allclose(measures.running_means(returns), expected, atol=1e-9)


def test_episodes_to_reach_by_hand():
    # 120 episodes at 0, then at 1: the mean of the last 100 is 0.9 after 90 of these.
    returns = [np.asarray(row) for row in ([0.0] * 120 + [1.0] * 180, [0.95] * 300, [0.5] * 300)]
    found = measures.episodes_to_reach(np.stack(returns), 0.9)
    np.testing.assert_array_equal(found, [210, 100, math.nan])


def test_the_end_is_the_last_200_episodes():
    curves = np.arange(200.0)[None, :]
    assert measures.end(curves) == pytest.approx(np.mean(range(180, 200)))


def test_oscillation_by_hand():
    steady = [0.0] * 50 + [11.0] * 150
    # After the first iteration at 11: 7, 11, 7, ... so every change is 4.
    restless = [0.0] * 50 + ([11.0] * 10 + [7.0] * 10) * 7 + [11.0] * 10
    never = [10.0] * 200
    late = [0.0] * 100 + [11.0] * 100  # only nine iterations follow the first
    found = measures.oscillation(run([steady, restless, never, late]))
    np.testing.assert_allclose(found, [0, 4, math.nan, math.nan])


@given(hnp.arrays(np.float64, (2, 80), elements=st.integers(0, 11).map(float)))
def test_largest_setback_by_brute_force(curves):
    expected = []
    for curve in curves:
        blocks = [curve[i : i + 20].mean() for i in range(0, 80, 20)]
        falls = [a - b for i, a in enumerate(blocks) for b in blocks[i:]]
        expected.append(max(falls))
    np.testing.assert_allclose(chain.largest_setback(curves), expected, atol=1e-9)


def test_unevenness_is_of_the_first_20_iterations():
    curve = [0.0, 0.5] * 10 + [0.0, 1.0] * 90
    np.testing.assert_allclose(visits.unevenness(np.array([curve, [0.3] * 200])), [0.5, 0])


def test_episodes_to_find_are_those_of_state_n():
    found = worlds.evidence("true", 8, "dqn", seeds=3)
    first = [np.flatnonzero(row)[0] for row in found.visits["visited_last"]]
    times = measures.episodes_to_find(found, 0.5)
    assert ((times <= np.array(first)) & (times > np.array(first) - 10)).all()


# Intervals and effects


def bca(values, statistic, seed, resamples=20_000):
    """BCa interval of a statistic of one sample, after Efron (1987)."""
    draws = rng(seed).integers(len(values), size=(resamples, len(values)))
    found = statistic(values[draws])
    observed = statistic(values[None])[0]
    below = np.mean(found < observed) + np.mean(found == observed) / 2
    z0 = scipy.stats.norm.ppf(below)
    left_out = np.array([statistic(np.delete(values, i)[None])[0] for i in range(len(values))])
    centred = left_out.mean() - left_out
    a = (centred**3).sum() / (6 * (centred**2).sum() ** 1.5)
    z = scipy.stats.norm.ppf([0.025, 0.975])
    return np.quantile(found, scipy.stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))))


def test_mean_interval_is_bca():
    values = rng(1).gamma(1.0, size=10)
    low, high = bca(values, lambda x: x.mean(axis=1), 2)
    found = mean_interval(values, rng(3))
    assert found == pytest.approx((low, high), abs=0.02 * (high - low))
    # So skewed that the percentile interval is another one.
    draws = values[rng(4).integers(10, size=(20_000, 10))].mean(axis=1)
    assert abs(np.quantile(draws, 0.975) - found[1]) > 0.04 * (high - low)


def test_difference_interval_covers_like_welch():
    first, second = rng(1).normal(0, 1, 40), rng(2).normal(5, 2, 30)
    low, high = difference_interval(first, second, rng(3))
    expected = scipy.stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    width = expected.high - expected.low
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.08 * width)


@pytest.mark.parametrize("level", [0.0, 2000.0, -0.1])
def test_equal_seeds_have_an_interval_of_one_point(level):
    values = np.full(10, level)
    assert mean_interval(values, rng()) == pytest.approx((level, level))
    assert difference_interval(values, values + 1, rng()) == pytest.approx((-1, -1))


def test_two_seeds_have_an_interval():
    assert mean_interval(np.array([1.0, 3.0]), rng()) == pytest.approx((1, 3))


@given(VALUES, st.integers(0, 9))
def test_intervals_lie_within_the_seeds(values, seed):
    low, high = mean_interval(values, rng(seed))
    slack = 1e-9
    assert values.min() - slack <= low <= high <= values.max() + slack


def test_intervals_are_decided_by_the_generator_alone():
    values = rng(1).normal(size=10)
    assert mean_interval(values, rng(2)) == mean_interval(values, rng(2))
    assert mean_interval(values, rng(2)) != mean_interval(values, rng(3))


def test_distance_of_curves_by_hand():
    first, second = np.array([[0.0, 2.0], [2.0, 4.0]]), np.array([[1.0, 1.0], [1.0, 1.0]])
    # Mean curves are (1, 3) and (1, 1).
    assert distance(first, second) == 1.0


def test_distance_interval_is_that_of_a_plain_bootstrap():
    first, second = rng(1).normal(0, 1, (10, 6)), rng(2).normal(3, 2, (8, 6))
    draw, found = rng(3), []
    for _ in range(4000):
        ours = first[draw.integers(10, size=10)].mean(axis=0)
        theirs = second[draw.integers(8, size=8)].mean(axis=0)
        found.append(np.abs(ours - theirs).mean())
    low, high = np.quantile(found, [0.025, 0.975])
    # Where no sign changes the distance is nearly a difference of means, and BCa changes little.
    ends = distance_interval(first, second, rng(4))
    assert ends == pytest.approx((low, high), abs=0.1 * (high - low))


@given(VALUES, VALUES)
def test_effect_is_mann_whitneys(first, second):
    size = effect(("A", "B"), first, second)
    u = scipy.stats.mannwhitneyu(first, second, method="asymptotic").statistic
    assert size.improvement == pytest.approx(u / (len(first) * len(second)))
    assert size.difference == pytest.approx(first.mean() - second.mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10.45, "10.45"), (0.0123456, "0.0123"), (2000.0, "2000"), (1234.56, "1234.6"),
        (-110.0, "-110"), (0.0, "0"), (-0.0, "0"), (99.999, "100"), (math.nan, "-"), (1.1, "1.1"),
        (0.000012345, "0.0000123"), (math.inf, "inf"),
    ],
)  # fmt: skip
def test_numbers_are_short_and_keep_thresholds(value, text):
    assert number(value) == text
