"""SIGINT and SIGTERM: noted at once, acted upon between two steps."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
def noted_signals() -> Iterator[Interrupt]:
    """Note SIGINT and SIGTERM while in here; the second one ends the process at once.

    Outside the main thread, where Python allows no signal handlers, nothing is ever noted.

    Raises:
        KeyboardInterrupt: It was the second one; with a line that says what is lost.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.signal = number
        for handled, before in handlers.items():
            signal.signal(handled, before)

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
