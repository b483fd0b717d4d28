"""Numbers that change over time: constant, linear, exponential, piecewise linear."""

import numpy as np

from vdqn_runner.config import (
    AnySchedule,
    ConstantSchedule,
    ExponentialSchedule,
    LinearSchedule,
    PiecewiseSchedule,
)


def value_at(schedule: AnySchedule, step: int, episodes: np.ndarray) -> np.ndarray:
    """Return ``[S]`` float64: the schedule's value for each seed.

    ``step`` is the environment step that all seeds of the batch are at; ``episodes`` [S] counts
    the episodes that each has finished. ``schedule.unit`` says which of the two is the time.
    """
    if isinstance(schedule, ConstantSchedule):
        return np.full(len(episodes), schedule.value)
    time = episodes.astype(np.float64) if schedule.unit == "episodes" else np.float64(step)
    if isinstance(schedule, LinearSchedule):
        done = np.minimum(time / schedule.duration, 1.0)
        value = schedule.start + (schedule.end - schedule.start) * done
    elif isinstance(schedule, ExponentialSchedule):
        done = np.minimum(time / schedule.duration, 1.0)
        value = schedule.start * (schedule.end / schedule.start) ** done
    else:
        assert isinstance(schedule, PiecewiseSchedule)
        times, values = zip(*schedule.points, strict=True)
        value = np.interp(time, times, values)
    return np.broadcast_to(value, (len(episodes),)).copy()
