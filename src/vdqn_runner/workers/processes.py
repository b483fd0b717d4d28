"""Starting worker processes, and leaving none behind.

On Linux they are forked from a server process that has imported torch and done nothing else: it has
no threads, which a fork would lose, and only the first run of a sweep waits for the import. It is
not the server of multiprocessing's own processes: signals are blocked in its forks, and a pool that
somebody else makes must end by them. Where system libraries do not bear forking (macOS), each
worker is a new interpreter.

Unlike other processes of multiprocessing, workers do not import the main module of who starts them,
of which they need nothing. So a script needs no guard to train, and may come from standard input.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker, spawn
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from vdqn_runner.workers.child import TRAINING, work
from vdqn_runner.workers.messages import (
    Begun,
    Failed,
    Finished,
    Message,
    Progressed,
    Stopped,
    Task,
)

_preparation_data = spawn.get_preparation_data
_server = forkserver.ForkServer()
# Functions of multiprocessing are replaced meanwhile, and several threads may train.
_starting = threading.Lock()


@dataclass
class Worker:
    """A worker as its parent knows it.

    Attributes:
        seeds: The seeds it trains.
        process: Its process.
        inbox: Where its messages arrive; closed once it has ended.
        begun: Where it began, once it has.
        progress: How far it is, once it has begun.
        outcome: What it said last; None as long as it trains, and if it died without a word.
    """

    seeds: tuple[int, ...]
    process: BaseProcess
    inbox: "Connection[object, Message]"
    begun: Begun | None = None
    progress: Progressed | None = None
    outcome: Finished | Stopped | Failed | None = None


@contextmanager
def started(tasks: Sequence[Task]) -> Iterator[list[Worker]]:
    """Start a worker for each task; on leaving, kill those that have not ended."""
    begin = _from_server() if sys.platform == "linux" else _new_interpreter
    workers: list[Worker] = []
    try:
        for task in tasks:
            inbox, outbox = multiprocessing.Pipe(duplex=False)
            # The worker then has the only end to write to: when it ends, so does what is to read.
            with outbox:
                workers.append(Worker(task.seeds, begin(task, outbox), inbox))
        yield workers
    finally:
        for worker in workers:
            worker.inbox.close()
            worker.process.kill()
            worker.process.join()


def _from_server() -> Callable[[Task, "Connection[Message, object]"], BaseProcess]:
    """Return what starts a worker by a fork of the server, which is started if it is not there."""
    context = multiprocessing.get_context("forkserver")
    _server.set_forkserver_preload([TRAINING])
    # If it were started later, it would unblock the signals.
    resource_tracker.ensure_running()
    with _signals_blocked(), _one_blas_thread():
        _server.ensure_running()

    def start(task: Task, outbox: "Connection[Message, object]") -> BaseProcess:
        # Signals are blocked in the server and so in its forks; here they come while this waits
        # for the server, which may still be at its import.
        process = context.Process(target=work, args=(task, outbox))
        with (
            _starting,
            _replaced(spawn, "get_preparation_data", _without_main),
            _replaced(forkserver, "connect_to_new_process", _server.connect_to_new_process),
        ):
            process.start()
        return process

    return start


def _new_interpreter(task: Task, outbox: "Connection[Message, object]") -> BaseProcess:
    """Start a worker in an interpreter of its own."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=(task, outbox))
    resource_tracker.ensure_running()
    with (
        _signals_blocked(),
        _starting,
        _replaced(spawn, "get_preparation_data", _without_main),
    ):
        process.start()
    return process


def _without_main(name: str) -> dict[str, Any]:
    """Return what a new process has to know, but nothing of this one's main module.

    Both ways of starting a process ask ``spawn.get_preparation_data``, and nothing else than to
    take its place can keep the main module out.
    """
    told = _preparation_data(name)
    return {key: value for key, value in told.items() if not key.startswith("init_main_")}


@contextmanager
def _replaced(module: ModuleType, name: str, new: Callable[..., Any]) -> Iterator[None]:
    """Put another function in the place of a module's."""
    before = getattr(module, name)
    setattr(module, name, new)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block SIGINT and SIGTERM, for processes started in here too; this one gets them later."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Keep NumPy's library from starting threads on import in processes started in here."""
    name = "OPENBLAS_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before
