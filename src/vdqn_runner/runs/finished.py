"""Whether a seed needs no more training, and what it then no longer needs."""

import contextlib
from pathlib import Path

from vdqn_runner.config import RunConfig
from vdqn_runner.errors import RunError
from vdqn_runner.runs.atomic import temporary_path
from vdqn_runner.runs.folder import CHECKPOINT, PREVIOUS_CHECKPOINT, results, seed_path
from vdqn_runner.runs.status import read_status


def is_done(run: Path, config: RunConfig, seed: int) -> bool:
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


def drop_checkpoints(folder: Path) -> None:
    """Remove what only a resume needs; what cannot be removed does no harm and stays.

    The seed is done, and its status says so.
    """
    newest = folder / CHECKPOINT
    for path in (newest, folder / PREVIOUS_CHECKPOINT, temporary_path(newest)):
        with contextlib.suppress(OSError):
            path.unlink()
