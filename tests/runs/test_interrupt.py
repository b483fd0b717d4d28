"""Signals: the first is noted, the second ends the process, and some are the first once more."""

import os
import signal

import pytest

from vdqn_runner.runs.interrupt import SAME_PRESS, Interrupted, noted_signals

NUMBERS = [signal.SIGINT, signal.SIGTERM]


class Ended(KeyboardInterrupt):
    """What the handlers of these tests raise."""


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    def end(number, frame):
        raise Ended

    before = {number: signal.signal(number, end) for number in NUMBERS}
    yield Clock()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", NUMBERS)
@pytest.mark.parametrize("second", NUMBERS)
def test_a_wrapper_that_sends_it_twice_has_sent_one(clock, first, second):
    with noted_signals(clock) as interrupt:
        os.kill(os.getpid(), first)
        for later in (0.0, 0.001, 0.9 * SAME_PRESS):
            clock.now = 1000.0 + later
            os.kill(os.getpid(), second)
        with pytest.raises(Interrupted, match=f"^stopped by {first.name}; the same command"):
            interrupt.check()
    with pytest.raises(Ended):
        os.kill(os.getpid(), second)


@pytest.mark.parametrize("first", NUMBERS)
@pytest.mark.parametrize("second", NUMBERS)
@pytest.mark.parametrize("echoes", [0, 2])
def test_a_second_one_ends_at_once(clock, first, second, echoes):
    """However often the first was sent."""
    at_once = pytest.raises(Ended, match="^ended at once; the same command goes on from the last")
    with at_once, noted_signals(clock):
        os.kill(os.getpid(), first)
        for _ in range(echoes):
            clock.now += SAME_PRESS / 3
            os.kill(os.getpid(), first)
        clock.now = 1000.0 + SAME_PRESS
        os.kill(os.getpid(), second)
        pytest.fail("it went on")


def test_nothing_is_noted_afterwards(clock):
    with noted_signals(clock) as interrupt:
        pass
    with pytest.raises(Ended):
        os.kill(os.getpid(), signal.SIGINT)
    interrupt.check()
