"""Train some seeds of a run, in this process."""

import logging
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from vdqn_runner.allocator import keep_freed_memory
from vdqn_runner.config import RunConfig
from vdqn_runner.errors import HeldError, RunError, SeedFailures
from vdqn_runner.kernels import engine
from vdqn_runner.progress import Report
from vdqn_runner.recent import RecentReturns
from vdqn_runner.runs.finished import is_done
from vdqn_runner.runs.folder import seed_path
from vdqn_runner.runs.interrupt import Interrupt, Interrupted
from vdqn_runner.runs.lock import SeedLock
from vdqn_runner.runs.provenance import utc_now
from vdqn_runner.runs.seed_run import SeedRun
from vdqn_runner.runs.status import Status, read_status
from vdqn_runner.train import train

_log = logging.getLogger(__name__)


def train_seeds(
    config: RunConfig,
    run: Path,
    seeds: Sequence[int],
    origin: Mapping[str, Any],
    begin: Callable[[int, int], Report],
    interrupt: Interrupt,
) -> None:
    """Train these seeds to the end of their episodes, from their last checkpoints if they have any.

    Args:
        config: The run's settings.
        run: The run's folder, which exists.
        seeds: Which of the run's seeds.
        origin: The ``versions`` and the ``commit`` that the numbers come from.
        begin: Makes what hears of the progress, from the number of episodes of these seeds together
            and how many of them are finished.
        interrupt: The signal that has come, if any.

    A seed that cannot go on is marked as failed and leaves the others to train.

    Raises:
        HeldError: A seed is locked by another process; none has been trained.
        SeedFailures: Seeds could not go on; what is written stays.
        Interrupted: A signal came; a checkpoint has been written.
    """
    torch.set_num_threads(config.threads)
    # Moments of weights that see no gradient decay into denormal numbers, which are slow.
    torch.set_flush_denormal(True)
    keep_freed_memory()
    _warn_of_other_kernels(config, run)
    origin = {**origin, "versions": {**origin["versions"], "kernels": engine(config.device)}}
    with ExitStack() as stack:
        runs = []
        failures: dict[int, str] = {}
        for seed in seeds:
            folder = seed_path(run, seed)
            try:
                stack.enter_context(SeedLock(folder))
                # Another process may have finished it between the caller's look and the lock.
                if not is_done(run, config, seed):
                    seed_run = SeedRun(folder, _status(config, seed, folder, origin))
                    stack.callback(seed_run.close)
                    seed_run.plan()
                    runs.append(seed_run)
            except HeldError:
                raise
            except RunError as error:
                failures[seed] = str(error)
        groups = _by_step(runs)
        finished = sum(state["episodes"] for _, states in groups for state in states)
        progress = begin(len(runs) * config.episodes, finished)
        stack.callback(progress.close)
        recent = RecentReturns()
        try:
            for group, states in groups:
                interrupt.check()
                _train_group(config, group, states, interrupt, progress, recent)
        except Interrupted:
            for seed_run in runs:
                seed_run.stop()
            raise
        failures |= {run.seed: run.failure for run in runs if run.failure is not None}
    if failures:
        raise SeedFailures(failures)


def _train_group(
    config: RunConfig,
    group: Sequence[SeedRun],
    states: list[Mapping[str, Any]],
    interrupt: Interrupt,
    progress: Report,
    recent: RecentReturns,
) -> None:
    """Train seeds that are at the same step; whatever ends this early is noted in their status."""
    try:
        train(config, group, states, interrupt, progress, recent)
    except Interrupted:
        raise
    except RunError as error:
        for seed_run in group:
            if not seed_run.done and seed_run.failure is None:
                seed_run.fail(str(error))
    except Exception as error:
        for seed_run in group:
            if not seed_run.done:
                seed_run.fail(" ".join(f"{type(error).__name__}: {error}".split()))
        raise


def _warn_of_other_kernels(config: RunConfig, run: Path) -> None:
    """Say so where finished seeds of this run were trained with the other form of the kernels."""
    for seed in config.seeds:
        status = read_status(seed_path(run, seed))
        used = status.versions.get("kernels") if status and status.state == "done" else None
        if used not in (None, engine(config.device)):
            _log.warning(
                "%s: finished seeds were trained with %s kernels, these will be with %s ones: "
                "the same statistically, not bit for bit",
                run,
                used,
                engine(config.device),
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
    """Group seeds that are at the same step, with their kept states (none for those that begin).

    A seed whose state cannot be read is marked as failed and in no group.
    """
    groups: dict[int, tuple[list[SeedRun], list[Mapping[str, Any]]]] = {}
    for run in runs:
        try:
            state = run.restore()
        except RunError as error:
            run.fail(str(error))
            continue
        members, states = groups.setdefault(state["step"] if state else 0, ([], []))
        members.append(run)
        if state:
            states.append(state)
    return [groups[step] for step in sorted(groups)]
