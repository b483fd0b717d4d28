"""Schedules against values by hand, and their general properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdqn_runner.config import (
    ConstantSchedule,
    ExponentialSchedule,
    LinearSchedule,
    PiecewiseSchedule,
)
from vdqn_runner.schedules import value_at

number = st.floats(-1e3, 1e3)
positive = st.floats(1e-6, 1e3)
time = st.integers(0, 10_000)


def at(schedule, time):
    """The value at a time counted in the schedule's own unit, with a wrong count in the other."""
    if getattr(schedule, "unit", "steps") == "steps":
        return value_at(schedule, time, np.array([time + 17]))[0]
    return value_at(schedule, time + 17, np.array([time]))[0]


@pytest.mark.parametrize("unit", ["steps", "episodes"])
def test_values_by_hand(unit):
    linear = LinearSchedule(start=1.0, end=0.1, duration=90, unit=unit)
    assert [at(linear, t) for t in (0, 30, 45, 90, 1000)] == pytest.approx(
        [1.0, 0.7, 0.55, 0.1, 0.1]
    )
    exponential = ExponentialSchedule(start=1.0, end=0.01, duration=100, unit=unit)
    assert [at(exponential, t) for t in (0, 25, 50, 100, 1000)] == pytest.approx(
        [1.0, 10**-0.5, 0.1, 0.01, 0.01]
    )
    points = ((10, 2.0), (20, 4.0), (40, 0.0))
    piecewise = PiecewiseSchedule(points=points, unit=unit)
    assert [at(piecewise, t) for t in (0, 10, 15, 20, 30, 40, 99)] == pytest.approx(
        [2.0, 2.0, 3.0, 4.0, 2.0, 0.0, 0.0]
    )
    assert at(ConstantSchedule(value=0.3), 5) == 0.3


def test_episodes_give_each_seed_its_own_value():
    schedule = LinearSchedule(start=0.0, end=10.0, duration=10, unit="episodes")
    np.testing.assert_allclose(value_at(schedule, 99, np.array([0, 3, 12])), [0.0, 3.0, 10.0])


def test_steps_give_all_seeds_one_value():
    schedule = LinearSchedule(start=0.0, end=10.0, duration=10)
    np.testing.assert_allclose(value_at(schedule, 4, np.array([0, 3, 12])), [4.0] * 3)


@given(start=number, end=number, duration=st.integers(1, 5000), times=st.lists(time, min_size=2))
def test_linear_is_bounded_and_monotone(start, end, duration, times):
    schedule = LinearSchedule(start=start, end=end, duration=duration)
    values = np.array([at(schedule, t) for t in sorted(times)])
    slack = 1e-9 * (abs(start) + abs(end))
    assert (values >= min(start, end) - slack).all() and (values <= max(start, end) + slack).all()
    assert (np.diff(values) * np.sign(end - start) >= -slack).all()


@given(start=positive, end=positive, duration=st.integers(2, 5000), times=st.lists(time))
def test_exponential_is_bounded_monotone_and_geometric(start, end, duration, times):
    schedule = ExponentialSchedule(start=start, end=end, duration=duration)
    values = np.array([at(schedule, t) for t in sorted(times)])
    assert (values >= min(start, end) * (1 - 1e-9)).all()
    assert (values <= max(start, end) * (1 + 1e-9)).all()
    assert (np.diff(values) * np.sign(end - start) >= -1e-9 * max(start, end)).all()
    middle = duration // 2
    ratio = at(schedule, 1) / at(schedule, 0)
    assert at(schedule, middle) == pytest.approx(start * ratio**middle, rel=1e-6)


@given(
    st.lists(st.tuples(time, number), min_size=1, max_size=8, unique_by=lambda point: point[0]),
    st.lists(time, max_size=20),
)
def test_piecewise_hits_its_points_and_stays_between_them(points, times):
    points = sorted(points)
    schedule = PiecewiseSchedule(points=tuple(points))
    for when, value in points:
        assert at(schedule, when) == pytest.approx(value)
    low, high = min(v for _, v in points), max(v for _, v in points)
    slack = 1e-9 * (abs(low) + abs(high))
    for when in times:
        assert low - slack <= at(schedule, when) <= high + slack
    assert at(schedule, 10**6) == points[-1][1]
    assert at(schedule, 0) == points[0][1]


@given(
    st.sampled_from(
        [
            LinearSchedule(start=0.3, end=0.007, duration=37, unit="episodes"),
            ExponentialSchedule(start=0.3, end=0.007, duration=37, unit="episodes"),
            PiecewiseSchedule(points=((1, 0.3), (9, 0.001), (41, 0.7)), unit="episodes"),
        ]
    ),
    st.lists(st.integers(0, 50), min_size=1, max_size=19),
)
def test_a_seeds_value_has_the_same_bits_beside_any_others(schedule, episodes):
    together = value_at(schedule, 0, np.array(episodes))
    alone = [value_at(schedule, 0, np.array([e]))[0] for e in episodes]
    assert together.tolist() == alone


@pytest.mark.parametrize("unit", ["steps", "episodes"])
def test_values_are_the_callers_to_keep(unit):
    for schedule in (
        ConstantSchedule(value=0.3),
        LinearSchedule(start=1.0, end=0.1, duration=90, unit=unit),
        ExponentialSchedule(start=1.0, end=0.1, duration=90, unit=unit),
        PiecewiseSchedule(points=((1, 0.3), (9, 0.001)), unit=unit),
    ):
        value = value_at(schedule, 3, np.array([1, 2]))
        assert value.shape == (2,) and value.dtype == np.float64 and value.flags.writeable
