"""SIGINT and SIGTERM: noted at once, acted upon between two steps."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SAME_PRESS = 0.5
"""Seconds within which a signal after the first is not another wish, but the same one again:
``timeout``, say, sends its signal to the command and then to the group that it is in."""


class Interrupted(Exception):
    """A signal ended training after a checkpoint; ``signal`` is its number."""

    def __init__(self, number: int) -> None:
        """``number`` is the signal's."""
        super().__init__(f"stopped by {signal.Signals(number).name}; the same command goes on")
        self.signal = number


class Terminated(KeyboardInterrupt):
    """SIGTERM, where it ends the process at once."""


class Interrupt:
    """The signal that has come, if any."""

    signal: int | None = None

    def check(self) -> None:
        """Raise ``Interrupted`` if a signal has come."""
        if self.signal is not None:
            raise Interrupted(self.signal)


@contextmanager
def noted_signals(clock: Callable[[], float] = time.monotonic) -> Iterator[Interrupt]:
    """Note SIGINT and SIGTERM while in here; the second one ends the process at once.

    What comes within ``SAME_PRESS`` of the first is no second one.

    Outside the main thread, where Python allows no signal handlers, nothing is ever noted.

    Args:
        clock: Tells seconds.

    Raises:
        KeyboardInterrupt: It was the second one; with a line that says what is lost.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    came: float | None = None

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came is None:
            came = clock()
            interrupt.signal = number
        elif clock() - came >= SAME_PRESS:
            for handled, before in handlers.items():
                signal.signal(handled, before)
            signal.raise_signal(number)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, note)
    try:
        yield interrupt
    except KeyboardInterrupt as stop:
        raise type(stop)(
            "ended at once; the same command goes on from the last checkpoint, if there is one"
        ) from stop
    finally:
        for handled, before in handlers.items():
            signal.signal(handled, before)


@contextmanager
def terminated_in_one_line() -> Iterator[None]:
    """Let SIGTERM raise ``Terminated`` in here, as SIGINT raises ``KeyboardInterrupt``."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
