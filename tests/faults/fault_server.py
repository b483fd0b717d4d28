"""A process that has imported everything and starts each command in a fork of itself.

A fork is as good as a new process, since nothing has run in the server and it has no threads, and
costs no import. It takes requests as lines of JSON on its standard input and answers in kind:
``{"start": {...}}`` with the process's id, ``{"wait": id}`` with the exit code, negative for a
signal.
"""

import gc
import json
import os
import signal
import sys
import traceback

import injection
import numpy.ma  # noqa: F401 (NumPy's median imports it)
from hydra._internal.utils import get_args_parser
from omegaconf import OmegaConf

import vdqn_runner.seeds  # noqa: F401 (what trains, and torch)
from vdqn_runner import run
from vdqn_runner.cli import job, main
from vdqn_runner.config import compose
from vdqn_runner.kernels import available


def serve() -> None:
    available()
    _warm()
    # A collection in a fork need not look through, and thereby copy, all that is imported.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        if "start" in request:
            answer = _start(request["start"])
        else:
            _, status = os.waitpid(request["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        print(json.dumps(answer), flush=True)


def _warm() -> None:
    """Compose once, which fills the caches of Hydra's parser and changes nothing else."""
    parser = get_args_parser()
    compose.plan(parser.parse_args(["n_seeds=1"]))


def _start(work: dict) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = _work(**work)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _work(
    err: str,
    cwd: str,
    argv: list | None = None,
    settings: dict | None = None,
    fault: dict | None = None,
) -> int:
    """Run a command line, or one job with these settings, with its output in the file ``err``."""
    # Also where the tests run in the background of a shell, which then ignores SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    descriptor = os.open(err, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(cwd)
    # It starts three processes, and no file of the run depends on it but status.json.
    run.commit = lambda: None
    if fault is not None:
        injection.install(**fault)
    if argv is not None:
        return main(argv)
    try:
        job(OmegaConf.create(settings))
    except SystemExit as end:
        return int(end.code)
    return 0


if __name__ == "__main__":
    serve()
