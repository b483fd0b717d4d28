"""Carry out one run: find out which seeds are missing, and have those trained.

What trains them, and torch with it, is imported only where it is needed: the parent of workers does
without.
"""

import sys
from pathlib import Path
from typing import Any

from vdqn_runner.config import RunConfig, identity_mapping
from vdqn_runner.prepare import prepare
from vdqn_runner.progress import Progress
from vdqn_runner.runs.folder import create_run
from vdqn_runner.runs.interrupt import noted_signals
from vdqn_runner.runs.provenance import commit, versions
from vdqn_runner.workers import train_in_workers


def execute(config: RunConfig) -> Path:
    """Train every seed of ``config`` that is not done yet; return the run's folder.

    Seeds that are done are skipped, unfinished ones go on from their last checkpoint, new ones
    begin. So the same command again finishes what a crash left.

    With several workers, a script that calls this needs the usual guard of multiprocessing,
    ``if __name__ == "__main__":``.

    Raises:
        ConfigError: The device is not there, or memory does not suffice; nothing has been made.
        RunError: The run could not go on; what is written stays.
        Interrupted: A signal came; a checkpoint has been written.
    """
    prepared = prepare(config)
    run, todo, n_workers = prepared.run, prepared.todo, prepared.n_workers
    create_run(run, identity_mapping(config))
    if not config.quiet:
        by = f" in {n_workers} processes" if n_workers > 1 else ""
        print(f"{run}: {len(todo)} of {config.n_seeds} seeds to train{by}", file=sys.stderr)
    if not todo:
        return run
    # The same for every seed, and asking git takes several processes.
    origin: dict[str, Any] = {"versions": versions(), "commit": commit()}
    label = f"{config.algo.name} on {prepared.env_label}"

    def begin(total_episodes: int, done: int) -> Progress:
        return Progress(total_episodes, done, config.quiet, label)

    if n_workers > 1:
        train_in_workers(config, run, todo, n_workers, origin, begin)
    else:
        from vdqn_runner.seeds import train_seeds

        with noted_signals() as interrupt:
            train_seeds(config, run, todo, origin, begin, interrupt)
    return run
