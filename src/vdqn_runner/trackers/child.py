"""The process that sends: passes over the seeds of runs until there is no more to come.

It is told what to do in one line on standard input, and that there is no more to come by the end
of that input: so it also learns of the death of the process that started it. Then it passes over
all seeds a last time, and ends. On standard output it says from then on that it is alive, and why
something could not be sent.
"""

import contextlib
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from vdqn_runner.analysis.load import find_runs
from vdqn_runner.config import Tracker
from vdqn_runner.errors import RunError
from vdqn_runner.trackers.messages import ALIVE, DONE, FAILED
from vdqn_runner.trackers.sender import Sender
from vdqn_runner.trackers.sources import live_run, sources

# Seconds between two passes; more where a pass takes long, or fails.
INTERVAL = 5.0
_SHARE = 0.1
_AFTER_FAILURE = 60.0

# A store that is away is not asked for every seed.
_FAILURES = 3

_LONGEST = 300

# What the packages would do beside their work, mostly over the network.
_ENVIRON = {
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "WANDB_ERROR_REPORTING": "false",
}


class Parent:
    """The process that started this one."""

    def __init__(self) -> None:
        # Whatever packages print goes where errors go.
        self._answers = os.dup(1)
        os.dup2(2, 1)
        self._id = os.getppid()
        self._gone = False

    def task(self) -> dict[str, Any]:
        """Return what is to be done."""
        line = bytearray()
        while not line.endswith(b"\n"):
            # Unbuffered: what comes after is waited for with select.
            line += os.read(0, 1) or b"\n"
        task: dict[str, Any] = json.loads(line)
        return task

    def gone(self, seconds: float = 0.0) -> bool:
        """Wait; return whether there is no more to come, as soon as that is so."""
        deadline = time.monotonic() + seconds
        while not self._gone:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([0], [], [], max(0.0, min(left, 1.0)))
            self._gone = bool(ready and not os.read(0, 1)) or os.getppid() != self._id
            if left <= 0:
                break
        return self._gone

    def sign(self) -> None:
        """Say that this process is alive, if that is waited for."""
        if self.gone():
            self.say(ALIVE)

    def say(self, kind: str, text: str = "") -> None:
        """Send a line."""
        # Nobody listens to what is left of a command that was killed.
        with contextlib.suppress(OSError):
            os.write(self._answers, f"{kind}{' '.join(text.split())}\n".encode())


def follow(senders: Sequence[Sender], parent: Parent) -> None:
    """Pass over seeds until there is no more to come, and then a last time; say what failed."""
    wait = 0.0
    while not parent.gone(wait):
        begin = time.monotonic()
        failed = send_all(senders, parent, last=False)
        wait = max(INTERVAL, (time.monotonic() - begin) / _SHARE)
        if failed:
            wait = max(wait, _AFTER_FAILURE)
    for reason in send_all(senders, parent, last=True):
        parent.say(FAILED, reason)


def send_all(senders: Iterable[Sender], parent: Parent, last: bool) -> list[str]:
    """Let each seed be sent; return what failed. After some failures in a row, give up."""
    reasons: list[str] = []
    row = 0
    for sender in senders:
        try:
            sender.send(last, parent.sign)
            row = 0
        except Exception as error:
            reasons.append(_told(error))
            row += 1
            if row == _FAILURES:
                break
        parent.sign()
    return list(dict.fromkeys(reasons))


def main() -> None:
    """Do the task."""
    parent = Parent()
    # The end of the input is what ends this process; a terminal's Ctrl-C is for the command.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(10)
    task = parent.task()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update({**_ENVIRON, "WANDB_CACHE_DIR": scratch})
        for path, seeds in task["runs"]:
            try:
                _carry_out(task, Path(path), seeds, parent)
            except Exception as error:
                parent.say(FAILED, _told(error))
            parent.say(DONE)
        if "wandb" in sys.modules:
            # Otherwise the process that it has started outlives this one.
            sys.modules["wandb"].teardown()


def _carry_out(
    task: dict[str, Any], path: Path, seeds: Sequence[int] | None, parent: Parent
) -> None:
    tracker: Tracker = TypeAdapter(Tracker).validate_python(task["tracker"])
    run = live_run(path, seeds) if seeds is not None else find_runs([path])[0]
    out = Path(task["out"]) if task["out"] is not None else run.path.resolve().parents[3]
    follow([Sender(tracker, out, source) for source in sources(run)], parent)


def _told(error: Exception) -> str:
    """Return an error in one line."""
    text = str(error) if isinstance(error, RunError) else f"{type(error).__name__}: {error}"
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


if __name__ == "__main__":
    main()
