"""Carry out one run: find out which seeds are missing, and have those trained.

What trains them, and torch with it, is imported only where it is needed: the parent of workers does
without.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from vdqn_runner.config import RunConfig, identity_mapping
from vdqn_runner.errors import SeedFailures, seed_names
from vdqn_runner.prepare import Prepared, prepare
from vdqn_runner.progress import Progress
from vdqn_runner.runs.finished import drop_checkpoints, lacks_policies
from vdqn_runner.runs.folder import create_run, seed_path
from vdqn_runner.runs.interrupt import noted_signals
from vdqn_runner.runs.provenance import commit, versions
from vdqn_runner.trackers import tracked
from vdqn_runner.workers import train_in_workers

_log = logging.getLogger(__name__)


def execute(config: RunConfig) -> Path:
    """Train every seed of ``config`` that is not done yet; return the run's folder.

    Seeds that are done are skipped, unfinished ones go on from their last checkpoint, new ones
    begin. So the same command again finishes what a crash left.

    Workers do not import the main module of the process that calls this, so a script needs no
    guard.

    Raises:
        ConfigError: The device is not there, or memory does not suffice; nothing has been made.
        HeldError: Another process trains some of the seeds; none has been trained here.
        SeedFailures: Seeds could not go on; the others are trained, and what is written stays.
        RunError: The run could not begin.
        Interrupted: A signal came; a checkpoint has been written.
    """
    prepared = prepare(config)
    run, todo, n_workers = prepared.run, prepared.todo, prepared.n_workers
    failures = dict(prepared.failures)
    create_run(run, identity_mapping(config))
    if not config.quiet:
        by = f" in {n_workers} processes" if n_workers > 1 else ""
        print(f"{run}: {len(todo)} of {config.n_seeds} seeds to train{by}", file=sys.stderr)
    done = [seed for seed in config.seeds if seed not in todo and seed not in failures]
    for seed in done:
        # Those of a process that was killed before it could do so itself.
        drop_checkpoints(seed_path(run, seed))
    if lacking := lacks_policies(run, config, done):
        _log.warning(
            "%s: %s done without policies every %d episodes; remove the folder of a seed to train "
            "it again with them",
            run,
            f"{seed_names(lacking)} {'is' if len(lacking) == 1 else 'are'}",
            config.policy_every,
        )
    with tracked(config, run, training=bool(todo)):
        if todo:
            try:
                _train(config, prepared)
            except SeedFailures as error:
                failures |= error.reasons
    if failures:
        raise SeedFailures(failures)
    return run


def _train(config: RunConfig, prepared: Prepared) -> None:
    """Train what is left, here or in workers."""
    # The same for every seed, and asking git takes several processes.
    origin: dict[str, Any] = {"versions": versions(), "commit": commit()}
    label = f"{config.algo.name} on {prepared.spec.label}"

    def begin(total_episodes: int, done: int) -> Progress:
        return Progress(total_episodes, done, config.quiet, label)

    run, seeds = prepared.run, prepared.todo
    if prepared.n_workers > 1:
        train_in_workers(config, run, seeds, prepared.n_workers, origin, begin)
    else:
        from vdqn_runner.seeds import train_seeds

        with noted_signals() as interrupt:
            train_seeds(config, run, seeds, origin, begin, interrupt)
