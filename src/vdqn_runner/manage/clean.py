"""Clearing away seeds that came to nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.load import find_runs
from vdqn_runner.errors import ConfigError, HeldError, RunError
from vdqn_runner.manage.survey import STATES, survey
from vdqn_runner.runs.lock import SeedLock

CLEARED = ("stopped", "broken off", "planned", "failed", "unknown")


def clean(paths: Sequence[Path], states: Sequence[str], yes: bool) -> Iterator[str]:
    """Remove the folders of seeds in these states, or say which they are; yield a line for each.

    Seeds that are done or in training stay, and so do packed runs. A run that has no seed left
    goes too.

    Args:
        paths: Folders at or below which runs lie.
        states: Of ``CLEARED``.
        yes: Whether to remove them.

    Raises:
        ConfigError: No run there, or a state that is not cleared away.
        RunError: A folder cannot be removed.
    """
    wrong = [state for state in states if state not in CLEARED]
    if wrong:
        kept = "it stays" if wrong[0] in STATES else "there is no such state"
        raise ConfigError(f"--state {wrong[0]}: {kept}; can be {', '.join(CLEARED)}")
    count = 0
    for run in find_runs(paths):
        if run.packed:
            continue
        gone = [seed for seed in survey(run).seeds if seed.state in states]
        for seed in gone:
            folder = run.seeds[seed.number]
            if yes:
                _remove(folder)
            count += 1
            yield f"{'removed' if yes else 'would remove'} {folder} ({seed.state})"
        if yes and gone and not any(run.path.glob("seed-*")):
            _remove_run(run.path)
            yield f"removed {run.path} (no seed left)"
    if not count:
        yield "nothing to remove"
    elif not yes:
        yield f"{count} in all; add --yes to remove them"


def _remove(folder: Path) -> None:
    try:
        # Whoever began to train it meanwhile keeps it.
        with SeedLock(folder):
            shutil.rmtree(folder)
    except HeldError:
        raise
    except OSError as error:
        raise RunError(f"{folder}: cannot be removed: {error.strerror or error}") from error


def _remove_run(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise RunError(f"{folder}: cannot be removed: {error.strerror or error}") from error
