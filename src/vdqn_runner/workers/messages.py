"""What a worker is given, and what it sends back; all of it can be pickled."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vdqn_runner.config import RunConfig
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.recent import MeanReturn


@dataclass(frozen=True)
class Task:
    """The seeds of one worker.

    Attributes:
        config: The run's settings.
        run: The run's folder.
        seeds: Which seeds of the run.
        origin: The versions and the commit that the numbers come from.
        environ: Environment variables; a process may have been forked before they were set.
        log_level: Log records below it are not sent.
        registered: Makes an environment of gymnasium's known, see ``envs.registered``.
    """

    config: RunConfig
    run: Path
    seeds: tuple[int, ...]
    origin: Mapping[str, Any]
    environ: Mapping[str, str]
    log_level: int
    registered: bytes = b""


@dataclass(frozen=True)
class Begun:
    """The worker has its locks and checkpoints; episodes of its seeds, and how many are done."""

    total: int
    done: int


@dataclass(frozen=True)
class Progressed:
    """How far a worker is; see ``progress.Report``."""

    episodes: int
    mean_return: MeanReturn
    steps: int


@dataclass(frozen=True)
class Warned:
    """A Python warning; ``showwarning`` of the standard library names the parts."""

    text: str
    category: type[Warning]
    filename: str
    lineno: int


@dataclass(frozen=True)
class Finished:
    """The worker's seeds are done."""


@dataclass(frozen=True)
class Stopped:
    """The worker has written checkpoints because of a signal."""

    signal: int


@dataclass(frozen=True)
class Failed:
    """The worker could not go on; with a traceback if nobody expected that."""

    error: RunError | ConfigError
    traceback: str = ""


Message = Begun | Progressed | Warned | Finished | Stopped | Failed | logging.LogRecord
