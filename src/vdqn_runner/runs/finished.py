"""Whether a seed needs no more training, and what it then no longer needs."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from vdqn_runner.config import RunConfig
from vdqn_runner.errors import RunError
from vdqn_runner.runs.atomic import temporary_path
from vdqn_runner.runs.folder import (
    CHECKPOINT,
    PREVIOUS_CHECKPOINT,
    kept_policy,
    results,
    seed_path,
)
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


def lacks_policies(run: Path, config: RunConfig, done: Iterable[int]) -> list[int]:
    """Return which of the finished seeds did not keep all the policies that are asked for now."""
    if not config.policy_every:
        return []
    episodes = range(config.policy_every, config.episodes + 1, config.policy_every)
    names = [kept_policy(episode) for episode in episodes]
    return [
        seed for seed in done if not all((seed_path(run, seed) / name).exists() for name in names)
    ]


def drop_checkpoints(folder: Path) -> None:
    """Remove what only a resume needs; what cannot be removed does no harm and stays.

    The seed is done, and its status says so.
    """
    newest = folder / CHECKPOINT
    for path in (newest, folder / PREVIOUS_CHECKPOINT, temporary_path(newest)):
        with contextlib.suppress(OSError):
            path.unlink()
