"""One seed, from its logs to its tracker."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from vdqn_runner.config import MLflowTracker, TensorBoardTracker, Tracker, WandbTracker
from vdqn_runner.errors import HeldError, RunError
from vdqn_runner.runs.lock import SeedLock
from vdqn_runner.runs.status import Status
from vdqn_runner.trackers.logs import SeedLogs
from vdqn_runner.trackers.points import Point, Times, points, start_of
from vdqn_runner.trackers.sent import Sent, is_sent, read_sent, store
from vdqn_runner.trackers.sources import About, Source

# As many episodes are read, and then sent, at a time.
EPISODES_AT_ONCE = 2000

PATIENCE = 20.0
"""Seconds to wait for another process that sends the same seed, the last time."""

_OVER = ("done", "failed", "stopped")


class Target(Protocol):
    """What a tracker has of one seed while it is being added to."""

    @property
    def step(self) -> int:
        """The step up to which every row is there."""

    def send(self, points: list[Point], step: int) -> None:
        """Add points, after which every row up to ``step`` is there."""

    def close(self, state: str, seconds: float) -> None:
        """Add nothing more, for now; ``state`` is the seed's, ``seconds`` the time of its end."""


def lives(tracker: Tracker) -> bool:
    """Whether a tracker can be added to, and looked at, while a seed trains."""
    return not (isinstance(tracker, WandbTracker) and tracker.mode == "offline")


class Sender:
    """Sends what there is of one seed, again and again while it trains."""

    def __init__(self, tracker: Tracker, out: Path, source: Source) -> None:
        """Nothing is read or made yet.

        Args:
            tracker: The tracker.
            out: The folder of all results.
            source: The seed.
        """
        self.source = source
        self._tracker = tracker
        self._out = out
        self._folder = source.folder / tracker.kind
        self._open: _Open | None = None

    def send(self, last: bool, sign: Callable[[], None]) -> bool:
        """Send the rows that stay and are not there yet.

        Args:
            last: Whether this is the last time, so that what waits for the end is to be done now.
            sign: Called between parts of the work.

        Returns:
            Whether all of them are there now.

        Raises:
            Exception: Of any kind that a tracker knows; the next time begins anew.
            RunError: A log cannot be read, or another process sends this seed.
        """
        status = self.source.status()
        if status is None:
            return False
        over = last or status.state in _OVER
        if self._open is None:
            if is_sent(self._tracker, self._out, self.source.folder, status):
                return True
            if not (over or lives(self._tracker)):
                return False
        try:
            if self._open is None:
                self._open = self._begin(status, _hold(self._folder, PATIENCE * last, sign))
            self._open.catch_up(status.steps, sign)
            if over:
                open_, self._open = self._open, None
                open_.close(status.state)
        except BaseException:
            self._give_up()
            raise
        return True

    def _begin(self, status: Status, held: ExitStack) -> "_Open":
        """Open the tracker under the lock ``held``."""
        try:
            sent = read_sent(self._folder, store(self._tracker, self._out), status.started)
            target = begin(self._tracker, self._out, self._folder, sent, self.source.about)
            return _Open(target, self.source.logs(), start_of(status.started), held)
        except BaseException:
            held.close()
            raise

    def _give_up(self) -> None:
        """Let go of what went wrong."""
        if self._open is not None:
            self._open.release()
        self._open = None


class _Open:
    """A seed whose logs are open and whose tracker is, with a lock on the tracker's folder."""

    def __init__(self, target: Target, logs: SeedLogs, started: float, held: ExitStack) -> None:
        self._target = target
        self._logs = logs
        self._times = Times(started)
        self._held = held
        self._read = 0

    def catch_up(self, upto: int, sign: Callable[[], None]) -> None:
        """Send the rows up to a step that the tracker does not have."""
        while self._read < upto:
            self._read, tables = self._logs.next(upto, EPISODES_AT_ONCE)
            try:
                found = points(tables, self._times)
            except (KeyError, ValueError) as error:
                raise RunError(f"its logs cannot be understood: {error!r}") from error
            new = [point for point in found if point.step > self._target.step]
            if self._read > self._target.step:
                self._target.send(new, self._read)
            sign()

    def close(self, state: str) -> None:
        """Close the tracker, and let go of the lock."""
        try:
            self._target.close(state, self._times.at(self._read))
        finally:
            self.release()

    def release(self) -> None:
        """Let go of the lock."""
        self._held.close()


def _hold(folder: Path, patience: float, sign: Callable[[], None]) -> ExitStack:
    """Make the folder and take its lock, which the process of a command killed just now may have.

    Raises:
        RunError: Another process has it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    held = ExitStack()
    while True:
        try:
            held.enter_context(SeedLock(folder))
            return held
        except HeldError as error:
            if time.monotonic() >= deadline:
                raise RunError(f"{folder} is being written by another process") from error
        sign()
        time.sleep(0.1)


def begin(tracker: Tracker, out: Path, folder: Path, sent: Sent, about: About) -> Target:
    """Open a tracker for a seed; its packages are imported now.

    Args:
        tracker: Which.
        out: The folder of all results.
        folder: Where it has its files of this seed; locked by this process.
        sent: What has been sent already.
        about: What the seed is called.
    """
    match tracker:
        case TensorBoardTracker():
            from vdqn_runner.trackers.to_tensorboard import EventFile

            return EventFile(folder, sent, about)
        case MLflowTracker():
            from vdqn_runner.trackers.to_mlflow import MLflowRun

            return MLflowRun(folder, sent, about, tracker, out)
        case WandbTracker():
            from vdqn_runner.trackers.to_wandb import WandbRun

            return WandbRun(folder, sent, about, tracker)
        case _:
            raise ValueError(f"{tracker.kind} is no tracker to send to")
