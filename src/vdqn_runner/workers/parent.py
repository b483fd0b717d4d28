"""The parent's side: hear the workers, tell them to stop, and say how it ended."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from vdqn_runner.config import RunConfig
from vdqn_runner.envs.registered import registration
from vdqn_runner.errors import ConfigError, HeldError, RunError, SeedFailures
from vdqn_runner.progress import Report
from vdqn_runner.recent import MeanReturn, joined
from vdqn_runner.runs.folder import seed_path
from vdqn_runner.runs.interrupt import Interrupt, noted_signals
from vdqn_runner.runs.lock import SeedLock
from vdqn_runner.workers.echo import Echo
from vdqn_runner.workers.messages import Begun, Failed, Finished, Progressed, Stopped, Task, Warned
from vdqn_runner.workers.processes import Worker, started

_log = logging.getLogger(__name__)

# Seconds within which a signal is seen.
_TICK = 0.1


def train_in_workers(
    config: RunConfig,
    run: Path,
    seeds: Sequence[int],
    n_workers: int,
    origin: Mapping[str, Any],
    begin: Callable[[int, int], Report],
) -> None:
    """Train these seeds as ``seeds.train_seeds`` does, dealt out to ``n_workers`` processes.

    If a worker fails, the others go on to the end of their seeds.

    Raises:
        HeldError: Seeds are locked by another process.
        SeedFailures: Seeds could not go on; what is written stays.
        Interrupted: A signal came; every worker has written checkpoints.
    """
    for seed in seeds:
        # Each worker takes its own locks; this refuses a second command before any seed trains.
        try:
            with SeedLock(seed_path(run, seed)):
                pass
        except HeldError:
            raise
        except RunError:
            _log.debug("left to its worker to tell", exc_info=True)
    registered = registration(config.env.id) if config.env.kind == "gym" else None
    tasks = [
        Task(
            config=config,
            run=run,
            seeds=tuple(seeds[first::n_workers]),
            origin=origin,
            environ=dict(os.environ),
            log_level=_log.getEffectiveLevel(),
            registered=registered or b"",
        )
        for first in range(n_workers)
    ]
    # Signals are noted from here on: until all workers are there, one may end this at once.
    with started(tasks) as workers, noted_signals() as interrupt:
        _attend(workers, begin, interrupt)
        interrupt.check()
        _raise_failures(workers)


def _summed(told: Sequence[Progressed]) -> tuple[int, MeanReturn, int]:
    """Return (episodes, mean return, steps) of all workers, from the progress of each."""
    episodes = sum(progress.episodes for progress in told)
    mean_return = joined(progress.mean_return for progress in told)
    return episodes, mean_return, sum(progress.steps for progress in told)


def _attend(
    workers: Sequence[Worker], begin: Callable[[int, int], Report], interrupt: Interrupt
) -> None:
    """Hear the workers until all have ended; tell them to stop when a signal comes."""
    echo = Echo()
    report: Report | None = None
    told = False
    try:
        while live := [worker for worker in workers if not worker.inbox.closed]:
            ready = wait([worker.inbox for worker in live], _TICK)
            if interrupt.signal is not None and not told:
                told = True
                for worker in live:
                    worker.process.terminate()
            for worker in live:
                if worker.inbox in ready:
                    _hear(worker, echo)
            starts = [worker.begun for worker in workers if worker.begun]
            waiting = any(not worker.begun and not worker.inbox.closed for worker in workers)
            if report is None and starts and not waiting:
                report = begin(sum(one.total for one in starts), sum(one.done for one in starts))
            if report is not None:
                report.update(*_summed([worker.progress for worker in workers if worker.progress]))
            going_on = any(not worker.inbox.closed for worker in live)
            for worker in live:
                if worker.inbox.closed and (going_on or told):
                    _tell_of_failure(worker)
    finally:
        if report is not None:
            report.close()


def _hear(worker: Worker, echo: Echo) -> None:
    """Take one message of a worker; close its inbox if that was the last."""
    try:
        message = worker.inbox.recv()
    except (EOFError, OSError):
        # An OSError is a message that broke off in the middle.
        worker.inbox.close()
        worker.process.join()
        return
    match message:
        case Begun():
            worker.begun = message
            worker.progress = Progressed(message.done, MeanReturn(), 0)
        case Progressed():
            worker.progress = message
        case Finished() | Stopped() | Failed():
            worker.outcome = message
            if isinstance(message, Failed) and message.traceback:
                print(message.traceback, end="", file=sys.stderr)
        case Warned() | logging.LogRecord():
            echo.show(worker.seeds[0], message)


def _failure(worker: Worker) -> RunError | ConfigError | None:
    """Return why a worker that has ended did not finish its seeds, if it did not."""
    match worker.outcome:
        case Finished():
            return None
        case Failed(error=error):
            return error
        case Stopped(signal=number):
            how = f"was stopped by {signal.Signals(number).name}"
        case None:
            code = worker.process.exitcode or 0
            how = f"ended without a word (exit code {code})"
            if code < 0:
                how = f"was killed by {signal.Signals(-code).name} (short of memory?)"
    return RunError(f"their process {how}; the same command goes on from the last checkpoint")


def _tell_of_failure(worker: Worker) -> None:
    """Say at once that a worker failed where that does not end the command."""
    failure = _failure(worker)
    if isinstance(failure, RunError) and not isinstance(worker.outcome, Stopped):
        _log.warning("%s", SeedFailures(_reasons(worker, failure)))


def _raise_failures(workers: Sequence[Worker]) -> None:
    """Raise what went wrong, in one line, if anything did."""
    reasons: dict[int, str] = {}
    held: HeldError | None = None
    for worker in workers:
        failure = _failure(worker)
        if isinstance(failure, ConfigError):
            raise failure
        if isinstance(failure, HeldError):
            held = failure
        elif failure is not None:
            reasons |= _reasons(worker, failure)
    if reasons:
        raise SeedFailures(reasons)
    if held is not None:
        raise held


def _reasons(worker: Worker, failure: RunError) -> dict[int, str]:
    """Return why each seed of a worker that failed is not done."""
    if isinstance(failure, SeedFailures):
        return failure.reasons
    return dict.fromkeys(worker.seeds, str(failure))
