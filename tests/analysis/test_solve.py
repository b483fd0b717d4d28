"""From which episode on a task is solved: by hand, against a plain second form, by properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdqn_runner.analysis.solve import censored, learned_episode, solved_episode


def by_iteration(text, good=11.0, bad=0.0):
    """Returns of one seed from one letter an iteration: `+` above the threshold, `.` below."""
    return [good if letter == "+" else bad for letter in text for _ in range(10)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+" * 10, 0),
        ("." * 10, math.nan),
        ("+" * 9, math.nan),  # shorter than the window
        ("." * 7 + "+" * 13, 70),
        ("." * 7 + "+" * 9, math.nan),  # nine iterations do not show that it stays
        ("." * 5 + "++.+++++.+", 50),  # two of ten below: just allowed
        ("." * 5 + "++.++.++.+", math.nan),  # three of ten
        (".+" + "." * 18 + "+" * 180, 200),  # one lucky iteration is no start
        ("+" * 190 + "." * 10, math.nan),  # lost at the end
        ("+" * 10 + "." * 50 + "+" * 140, 600),  # 50 of 200 below: the early success does not stay
        ("+" * 10 + "." * 30 + "+" * 160, 0),  # 30 of 200 below: it stays but for 15 %
        ("." + ".+" * 5 + "+" * 20, 60),  # first iteration at the level with at most 2 of 10 below
    ],
)
def test_by_hand(text, expected):
    assert solved_episode(by_iteration(text), 10.45) == pytest.approx(expected, nan_ok=True)


def test_an_iteration_counts_by_its_mean():
    one_failure_in_ten = [11.0] * 9 + [0.0]
    assert solved_episode(one_failure_in_ten * 10, 9.9) == 0
    assert math.isnan(solved_episode(one_failure_in_ten * 10, 9.91))
    assert solved_episode([-150.0] * 100 + [-90.0] * 100, -100.0) == 100


def test_the_incomplete_iteration_does_not_count():
    assert solved_episode(by_iteration("+" * 10) + [0.0] * 9, 10.45) == 0


def plain(text, slack, window):
    """The definition word by word."""
    n = len(text)
    for i in range(n):
        if text[i] == "." or i + window > n:
            continue
        stretches = (text[i : i + window], text[i:], text[n - window :])
        if all(s.count(".") <= slack * len(s) for s in stretches):
            return i * 10.0
    return math.nan


TEXTS = st.lists(st.sampled_from("+++."), max_size=40).map("".join)


@given(TEXTS, st.sampled_from([0.0, 0.1, 0.25, 0.5]), st.integers(1, 12))
def test_agrees_with_the_definition(text, slack, window):
    found = solved_episode(by_iteration(text), 10.45, slack, window)
    assert found == pytest.approx(plain(text, slack, window), nan_ok=True)


RETURNS = st.lists(st.integers(0, 11), min_size=100, max_size=300)


def order(value):
    return math.inf if math.isnan(value) else value


@given(RETURNS, st.integers(0, 11), st.integers(0, 11))
def test_a_higher_threshold_is_never_met_earlier(returns, first, second):
    low, high = sorted([first, second])
    assert order(solved_episode(returns, low)) <= order(solved_episode(returns, high))


@given(RETURNS, st.integers(0, 11))
def test_more_slack_is_never_later(returns, threshold):
    assert order(solved_episode(returns, threshold, 0.3)) <= order(
        solved_episode(returns, threshold, 0.1)
    )


@given(RETURNS, st.integers(1, 11), st.integers(1, 5))
def test_failures_before_the_start_delay_by_their_number(returns, threshold, n):
    later = solved_episode([0.0] * 10 * n + returns, threshold)
    assert later == pytest.approx(solved_episode(returns, threshold) + 10 * n, nan_ok=True)


@given(TEXTS, st.integers(1, 64), st.integers(-64, 64))
def test_scale_and_offset_do_not_matter(text, scale, offset):
    moved = [scale * value + offset for value in by_iteration(text)]
    expected = solved_episode(by_iteration(text), 10.0)
    assert solved_episode(moved, 10.0 * scale + offset) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("slack", "window"), [(-0.1, 10), (1.0, 10), (math.nan, 10), (0.1, 0)])
def test_slack_and_window_out_of_range_are_refused(slack, window):
    with pytest.raises(ValueError, match="slack="):
        solved_episode([1.0] * 100, 0.5, slack, window)


def test_never_solved_counts_as_the_length_of_the_run():
    np.testing.assert_array_equal(censored([30.0, math.nan], 2000), [30.0, 2000.0])


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ([11.0] * 10, 10),
        ([11.0] * 9, math.nan),
        ([0.0] * 50 + [11.0] * 10 + [0.0] * 90, 60),
        ([0.0] * 200 + [11.0] + [0.0] * 98, math.nan),
        (([0.0] * 9 + [11.0]) * 30, 100),
        # Nine in a hundred are too few, however many hundreds there are.
        (([11.0] * 9 + [0.0] * 91) * 5, math.nan),
        ([], math.nan),
    ],
)
def test_learned_by_hand(returns, expected):
    assert learned_episode(returns, 1.1) == pytest.approx(expected, nan_ok=True)


@given(st.lists(st.sampled_from([0.0, -0.01, 0.99, 11.0]), max_size=300), st.floats(0.01, 11.0))
def test_learned_is_the_first_trailing_mean_at_the_threshold(returns, threshold):
    found = learned_episode(returns, threshold)
    means = [math.fsum(returns[max(0, k - 100) : k]) / 100 for k in range(1, len(returns) + 1)]
    if math.isnan(found):
        assert all(mean < threshold for mean in means)
    else:
        assert means[int(found) - 1] >= threshold * (1 - 1e-8)
        assert all(mean < threshold for mean in means[: int(found) - 1])


def test_a_threshold_that_nothing_learned_reaches_too_is_refused():
    with pytest.raises(ValueError, match="threshold=0"):
        learned_episode([0.0] * 10, 0.0)
