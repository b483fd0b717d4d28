"""Carry out one run: find out which seeds are missing, and train those."""

import logging
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from vdqn_runner.config import RunConfig, identity, identity_mapping
from vdqn_runner.envs import make_envs
from vdqn_runner.errors import RunError
from vdqn_runner.kernels import engine
from vdqn_runner.runs.folder import create_run, results, run_path, seed_path
from vdqn_runner.runs.interrupt import Interrupt, Interrupted, noted_signals
from vdqn_runner.runs.lock import SeedLock
from vdqn_runner.runs.provenance import commit, utc_now, versions
from vdqn_runner.runs.seed_run import SeedRun
from vdqn_runner.runs.status import Status, read_status
from vdqn_runner.train import train

_log = logging.getLogger(__name__)


def execute(config: RunConfig) -> Path:
    """Train every seed of ``config`` that is not done yet; return the run's folder.

    Seeds that are done are skipped, unfinished ones go on from their last checkpoint, new ones
    begin. So the same command again finishes what a crash left.

    Raises:
        RunError: The run could not go on; what is written stays.
        Interrupted: A signal came; a checkpoint has been written.
    """
    torch.set_num_threads(config.threads)
    # Moments of weights that see no gradient decay into denormal numbers, which are slow.
    torch.set_flush_denormal(True)
    envs = make_envs(config.env, [config.seed])
    envs.close()
    run = run_path(config, envs.spec.label, identity(config))
    create_run(run, identity_mapping(config))
    todo = [seed for seed in _seeds(config) if not _is_done(run, config, seed)]
    done = [seed for seed in _seeds(config) if seed not in todo]
    if not config.quiet:
        print(f"{run}: {len(todo)} of {config.n_seeds} seeds to train", file=sys.stderr)
    if not todo:
        return run
    _warn_of_other_kernels(run, done)
    # The same for every seed, and asking git takes several processes.
    origin = {"versions": {**versions(), "kernels": engine()}, "commit": commit()}
    with ExitStack() as stack:
        runs = []
        for seed in todo:
            folder = seed_path(run, seed)
            stack.enter_context(SeedLock(folder))
            # Another process may have finished it between the look above and the lock.
            if not _is_done(run, config, seed):
                runs.append(SeedRun(folder, _status(config, seed, folder, origin)))
                runs[-1].plan()
                stack.callback(runs[-1].close)
        interrupt = stack.enter_context(noted_signals())
        for group, states in _by_step(runs):
            _train_group(config, group, states, interrupt)
    return run


def _train_group(
    config: RunConfig,
    group: Sequence[SeedRun],
    states: Sequence[Mapping[str, Any]],
    interrupt: Interrupt,
) -> None:
    """Train seeds that are at the same step; whatever ends this early is noted in their status."""
    try:
        train(config, group, states, interrupt)
    except (Interrupted, KeyboardInterrupt):
        raise
    except Exception as error:
        for seed_run in group:
            if not seed_run.done:
                seed_run.fail(" ".join(f"{type(error).__name__}: {error}".split()))
        raise


def _seeds(config: RunConfig) -> range:
    return range(config.seed, config.seed + config.n_seeds)


def _is_done(run: Path, config: RunConfig, seed: int) -> bool:
    """Whether this seed is finished.

    Raises:
        RunError: It is, and what it wrote is no longer there.
    """
    folder = seed_path(run, seed)
    status = read_status(folder)
    if status is None or status.state != "done":
        return False
    for name in results(config):
        if not (folder / name).exists():
            raise RunError(
                f"{folder} is done, but its {name} is missing; restore it, or remove the folder to "
                "train this seed again"
            )
    return True


def _warn_of_other_kernels(run: Path, done: Sequence[int]) -> None:
    """Say so where finished seeds of this run were trained with the other form of the kernels."""
    for seed in done:
        status = read_status(seed_path(run, seed))
        used = status.versions.get("kernels") if status else None
        if used not in (None, engine()):
            _log.warning(
                "%s: finished seeds were trained with %s kernels, these will be with %s ones: "
                "the same statistically, not bit for bit",
                run,
                used,
                engine(),
            )
            return


def _status(config: RunConfig, seed: int, folder: Path, origin: Mapping[str, Any]) -> Status:
    """Return the status with which a seed starts, or starts again.

    ``origin`` holds the versions and the commit that its numbers come from.
    """
    before = read_status(folder)
    return Status(
        seed=seed,
        state="planned",
        reason=None,
        episodes=config.episodes,
        episodes_done=0,
        steps=0,
        updates=0,
        **origin,
        command=shlex.join(sys.argv),
        started=before.started if before else utc_now(),
        updated=utc_now(),
    )


def _by_step(
    runs: Sequence[SeedRun],
) -> list[tuple[list[SeedRun], list[Mapping[str, Any]]]]:
    """Group seeds that are at the same step, with their kept states (none for those that begin)."""
    groups: dict[int, tuple[list[SeedRun], list[Mapping[str, Any]]]] = {}
    for run in runs:
        state = run.restore()
        members, states = groups.setdefault(state["step"] if state else 0, ([], []))
        members.append(run)
        if state:
            states.append(state)
    return [groups[step] for step in sorted(groups)]
