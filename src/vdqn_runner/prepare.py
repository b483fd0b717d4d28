"""What a run asks of this machine, found out and checked before anything is made."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vdqn_runner.config import RunConfig, identity
from vdqn_runner.devices import check_device
from vdqn_runner.envs import EnvSpec, make_envs
from vdqn_runner.envs.registered import registration
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.memory import check_memory
from vdqn_runner.runs.finished import is_done
from vdqn_runner.runs.folder import run_path
from vdqn_runner.trackers.packages import check_tracker
from vdqn_runner.workers import place, worker_count


@dataclass(frozen=True)
class Prepared:
    """A run that can be carried out.

    Attributes:
        run: Its folder, which may not exist yet.
        todo: The seeds that are to be trained.
        failures: What is wrong with those that are finished and damaged, by seed.
        n_workers: The number of processes among which they are dealt.
        spec: The environment.
    """

    run: Path
    todo: tuple[int, ...]
    failures: Mapping[int, str]
    n_workers: int
    spec: EnvSpec


def prepare(config: RunConfig) -> Prepared:
    """Find out what is left of a run to do, and whether it can be done here.

    Raises:
        ConfigError: The device is not there, the tracker is not installed, memory does not suffice,
            ``out`` is no folder, or workers are asked for that cannot have the environment.
    """
    check_device(config.device)
    check_tracker(config.tracker)
    envs = make_envs(config.env, [config.seed])
    envs.close()
    run = run_path(config, envs.spec.label, identity(config))
    check_place(run)
    todo, failures = _missing(run, config)
    # A GPU takes all seeds at once.
    wanted = 1 if config.workers == "auto" and config.device != "cpu" else config.workers
    n_workers = worker_count(wanted, config.threads, len(todo), place())
    if n_workers > 1 and _known_here_only(config):
        n_workers = 1
    check_memory(config, envs.spec, len(todo), n_workers)
    return Prepared(run, todo, failures, n_workers, envs.spec)


def _known_here_only(config: RunConfig) -> bool:
    """Return whether workers cannot have the environment.

    Raises:
        ConfigError: That is so, and a number of workers is asked for.
    """
    if config.env.kind != "gym" or registration(config.env.id) is not None:
        return False
    if config.workers != "auto":
        raise ConfigError(
            f"workers={config.workers}: {config.env.id} is registered in a script or a notebook, "
            "which workers do not import; must be 1 or auto, or write the environment in a module "
            f"and give env.id=<module>:{config.env.id}"
        )
    return True


def _missing(run: Path, config: RunConfig) -> tuple[tuple[int, ...], dict[int, str]]:
    """Return the seeds that are to be trained, and what is wrong with those that cannot be."""
    todo: list[int] = []
    failures: dict[int, str] = {}
    for seed in config.seeds:
        try:
            if not is_done(run, config, seed):
                todo.append(seed)
        except RunError as error:
            failures[seed] = str(error)
    return tuple(todo), failures


def check_place(run: Path) -> None:
    """Refuse a run's folder that cannot be there whatever is done: a file is in its way, say.

    Raises:
        ConfigError: That is so.
    """
    for folder in (run, *run.parents):
        try:
            is_file = os.path.lexists(folder) and not folder.is_dir()
            # Raises where the name is too long, which the first two take for "not there".
            folder.lstat()
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            continue
        except OSError as error:
            raise ConfigError(f"out: {_short(folder)} cannot be made ({error.strerror})") from error
        if is_file:
            raise ConfigError(f"out: {_short(folder)} is in the way: it is no folder")


def _short(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 100 else f"{text[:97]}..."
