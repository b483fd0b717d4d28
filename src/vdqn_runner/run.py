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
from vdqn_runner.runs.atomic import cannot_write
from vdqn_runner.runs.folder import create_run, run_path, seed_path
from vdqn_runner.runs.interrupt import Interrupted, noted_signals
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
    envs = make_envs(config.env, [config.seed])
    envs.close()
    run = run_path(config, envs.spec.label, identity(config))
    create_run(run, identity_mapping(config))
    todo = [seed for seed in _seeds(config) if not _is_done(run, seed)]
    if not config.quiet:
        skipped = config.n_seeds - len(todo)
        print(f"{run}: {len(todo)} seeds to train, {skipped} done", file=sys.stderr)
    if not todo:
        return run
    with ExitStack() as stack:
        runs = []
        for seed in todo:
            folder = seed_path(run, seed)
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise cannot_write(folder, error) from error
            stack.enter_context(SeedLock(folder))
            seed_run = SeedRun(folder, _status(config, seed, folder))
            stack.callback(seed_run.close)
            runs.append(seed_run)
        interrupt = stack.enter_context(noted_signals())
        for group, states in _by_step(runs):
            try:
                train(config, group, states, interrupt)
            except Interrupted:
                raise
            except Exception as error:
                for seed_run in group:
                    if not _is_done(run, seed_run.seed):
                        seed_run.fail(f"{type(error).__name__}: {error}")
                raise
    return run


def _seeds(config: RunConfig) -> range:
    return range(config.seed, config.seed + config.n_seeds)


def _is_done(run: Path, seed: int) -> bool:
    status = read_status(seed_path(run, seed))
    return status is not None and status.state == "done"


def _status(config: RunConfig, seed: int, folder: Path) -> Status:
    """Return the status with which a seed starts, or starts again."""
    before = read_status(folder)
    return Status(
        seed=seed,
        state="planned",
        reason=None,
        episodes=config.episodes,
        episodes_done=0,
        steps=0,
        updates=0,
        versions=versions(),
        commit=commit(),
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


__all__ = ["Interrupted", "RunError", "execute"]
