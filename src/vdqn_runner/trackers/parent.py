"""Starting the process that sends, and saying at the end what it could not send.

It is never waited for while a run trains. At the end it has the time that it needs as long as it
gives signs of life.
"""

import json
import logging
import os
import select
import shlex
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import vdqn_runner
from vdqn_runner.config import RunConfig, Tracker
from vdqn_runner.errors import seed_names
from vdqn_runner.runs.folder import seed_path
from vdqn_runner.runs.interrupt import Interrupted
from vdqn_runner.runs.status import read_status
from vdqn_runner.trackers.messages import DONE, FAILED
from vdqn_runner.trackers.sent import is_sent

_log = logging.getLogger(__name__)

# Seconds without a sign of life after which the process is given up; after a signal, in all.
SILENCE = 90.0
HURRY = 10.0
_GOODBYE = 5.0  # to end once all is said

_LONGEST = 200


@contextmanager
def tracked(config: RunConfig, run: Path, training: bool) -> Iterator[None]:
    """Have the logs of a run sent to its tracker while it trains in here, and after.

    Whatever goes wrong with that is logged as a warning on leaving, in one line. A second signal,
    which ends a command at once, ends this too.

    Args:
        config: The run's settings.
        run: The run's folder, which exists.
        training: Whether there is anything to train; otherwise all may be there already.
    """
    tracker, out = config.tracker, Path(config.out)
    if tracker.kind == "none" or not (training or left(tracker, out, run, config.seeds)):
        yield
        return
    try:
        process = Process(tracker, out, [(run, list(config.seeds))])
    except OSError as error:
        yield
        _warn(config, run, f"its process cannot be started ({error.strerror or error})")
        return
    with process:
        try:
            yield
        except Interrupted:
            # Whoever has stopped a run waits for its end.
            _warn(config, run, process.reason(HURRY))
            raise
        except Exception:
            _warn(config, run, process.reason())
            raise
        _warn(config, run, process.reason())


def left(tracker: Tracker, out: Path, run: Path, seeds: Iterable[int]) -> list[int]:
    """Return the seeds of a run, in folders, of which the tracker lacks rows that stay."""
    found = []
    for seed in seeds:
        folder = seed_path(run, seed)
        status = read_status(folder)
        if status is not None and not is_sent(tracker, out, folder, status):
            found.append(seed)
    return found


def _warn(config: RunConfig, run: Path, reason: str) -> None:
    """Say which seeds the tracker lacks, if there are any."""
    lacking = left(config.tracker, Path(config.out), run, config.seeds)
    if lacking:
        kind = config.tracker.kind
        _log.warning(
            "tracker=%s: %s of %s not sent in full: %s; the run itself is not touched by that, and "
            "the same command, or vdqn-runs track %s, sends the rest",
            kind,
            seed_names(lacking),
            run,
            reason or "rows came while it ended",
            shlex.join([str(run), f"tracker={kind}"]),
        )


@dataclass(frozen=True)
class Told:
    """How it went with one run.

    Attributes:
        run: Its folder.
        reason: Why something could not be sent; empty if all could.
    """

    run: Path
    reason: str


class Process:
    """The process that sends, as a context manager; on leaving, it is no more."""

    def __init__(
        self,
        tracker: Tracker,
        out: Path | None,
        runs: Sequence[tuple[Path, Sequence[int] | None]],
    ) -> None:
        """Start it.

        Args:
            tracker: Where to send to.
            out: The folder of all results; None for the one of each run.
            runs: The folder of each run, and its seeds; None for those that are there.

        Raises:
            OSError: It cannot be started.
        """
        self._runs = [run for run, _ in runs]
        source = str(Path(vdqn_runner.__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed on leaving)
        try:
            self._process = subprocess.Popen(
                # -P: a file in the folder where the command runs is no module.
                [sys.executable, "-P", "-m", "vdqn_runner.trackers.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, "PYTHONPATH": path},
                # What a terminal sends is for the command, which then ends this process.
                start_new_session=True,
            )
        except OSError:
            self._errors.close()
            raise
        task = {
            "tracker": tracker.model_dump(mode="json"),
            "out": None if out is None else str(out),
            "runs": [[str(run), seeds] for run, seeds in runs],
        }
        with suppress(OSError):  # it may be dead already, which its end tells
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
            self._process.stdin.flush()

    def reason(self, seconds: float | None = None) -> str:
        """End it as ``ends`` does; return why something could not be sent, if so."""
        return "; ".join(told.reason for told in self.ends(seconds) if told.reason)

    def ends(self, seconds: float | None = None) -> Iterator[Told]:
        """Tell it that there is no more to come, and yield how it went with each run.

        Args:
            seconds: How long it has in all; None for as long as it gives signs of life.
        """
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        left = deque(self._runs)
        reasons: list[str] = []
        for line in self._lines(seconds):
            if line.startswith(FAILED):
                reasons.append(line.removeprefix(FAILED))
            elif line.startswith(DONE):
                yield Told(left.popleft(), "; ".join(reasons))
                reasons = []
            if not left:
                break
        if left:
            reason = "; ".join([*reasons, self._last_words(seconds)])
            yield from (Told(run, reason) for run in left)
        else:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GOODBYE)

    def __enter__(self) -> "Process":
        """Return the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it, if it has not ended."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()

    def _lines(self, seconds: float | None) -> Iterator[str]:
        """Yield what it says, until it ends or is not waited for any longer."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        end = None if seconds is None else time.monotonic() + seconds
        rest = b""
        while True:
            patience = SILENCE if end is None else end - time.monotonic()
            ready, _, _ = select.select([pipe], [], [], max(0.0, patience))
            found = os.read(pipe, 1 << 16) if ready else b""
            if not found:
                return
            *lines, rest = (rest + found).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)

    def _last_words(self, seconds: float | None) -> str:
        """Return why it ended before it was done, or was not waited for."""
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            if seconds is not None:
                return f"it was not done within {seconds:g} seconds"
            return f"it gave no sign of life for {SILENCE:g} seconds"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        words = next((line.strip() for line in reversed(lines) if line.strip()), "nothing said")
        return f"its process ended with exit code {code} ({words[:_LONGEST]})"
