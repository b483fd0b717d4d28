"""The worker's side: train the seeds it is given, and say how it goes."""

import logging
import os
import signal
import time
import traceback
import warnings
from multiprocessing.connection import Connection
from types import FrameType
from typing import TextIO

from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.recent import MeanReturn
from vdqn_runner.runs.interrupt import Interrupt, Interrupted
from vdqn_runner.workers.messages import (
    Begun,
    Failed,
    Finished,
    Message,
    Progressed,
    Stopped,
    Task,
    Warned,
)

TRAINING = "vdqn_runner.seeds"
"""The module that trains, and imports torch."""

# Seconds between two reports of progress. They are also what tells that the parent is gone.
_REPORT_SECONDS = 0.25


class Outbox:
    """The way to the parent; when nobody is left to listen, the worker is to stop."""

    def __init__(self, connection: "Connection[Message, object]", interrupt: Interrupt) -> None:
        """``interrupt`` is noted in when the parent is gone."""
        self._connection = connection
        self._interrupt = interrupt

    def send(self, message: Message) -> None:
        """Send one message."""
        try:
            self._connection.send(message)
        except OSError:
            self._interrupt.signal = signal.SIGTERM


class LogSender(logging.Handler):
    """Sends log records."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def emit(self, record: logging.LogRecord) -> None:
        """Send one, with all that it says in its text."""
        text = self.format(record)
        plain = {"msg": text, "args": None, "exc_info": None, "exc_text": None, "stack_info": None}
        self._outbox.send(logging.makeLogRecord({**record.__dict__, **plain}))


class Relay:
    """A ``Report`` that sends on what it is told, a few times a second."""

    def __init__(self, total_episodes: int, done: int, outbox: Outbox) -> None:
        """Tell where the worker begins."""
        self.episodes = done
        self.steps = 0
        self._mean_return = MeanReturn()
        self._outbox = outbox
        self._next = time.monotonic() + _REPORT_SECONDS
        outbox.send(Begun(total_episodes, done))

    def update(self, episodes_done: int, mean_return: MeanReturn, steps: int) -> None:
        """Take note, and send it if it is time."""
        self.episodes, self._mean_return, self.steps = episodes_done, mean_return, steps
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _REPORT_SECONDS
            self._send()

    def close(self) -> None:
        """Send the last state."""
        self._send()

    def _send(self) -> None:
        self._outbox.send(Progressed(self.episodes, self._mean_return, self.steps))


def work(task: Task, connection: "Connection[Message, object]") -> None:
    """Do a task; what a worker process runs from beginning to end."""
    os.environ.clear()
    os.environ.update(task.environ)
    interrupt = _listen_to_the_parent()
    outbox = Outbox(connection, interrupt)
    _send_logs_and_warnings(outbox, task.log_level)
    outbox.send(_outcome(task, outbox, interrupt))
    connection.close()


def _outcome(task: Task, outbox: Outbox, interrupt: Interrupt) -> Message:
    """Train; return how that ended."""
    from vdqn_runner.envs.registered import make_known
    from vdqn_runner.seeds import train_seeds

    def begin(total_episodes: int, done: int) -> Relay:
        return Relay(total_episodes, done, outbox)

    try:
        make_known(task.registered)
        train_seeds(task.config, task.run, task.seeds, task.origin, begin, interrupt)
    except Interrupted as stop:
        return Stopped(stop.signal)
    except (ConfigError, RunError) as error:
        return Failed(error)
    except Exception as error:
        reason = f"internal error, see the traceback: {type(error).__name__}: {error}"
        return Failed(RunError(" ".join(reason.split())), traceback.format_exc())
    return Finished()


def _listen_to_the_parent() -> Interrupt:
    """Note SIGTERM, however often it comes, and ignore SIGINT.

    A terminal sends SIGINT to the parent too, which then tells its workers with SIGTERM. Both have
    been blocked since the process began, so that none could end it before it was ready.
    """
    interrupt = Interrupt()

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.signal = number

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, note)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    return interrupt


def _send_logs_and_warnings(outbox: Outbox, level: int) -> None:
    """Send log records and Python warnings to the parent, which shows them as its own."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        outbox.send(Warned(str(message), category, filename, lineno))

    root = logging.getLogger()
    root.handlers[:] = [LogSender(outbox)]
    root.setLevel(level)
    warnings.showwarning = show
