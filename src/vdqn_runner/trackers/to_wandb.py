"""Weights & Biases: a run for each seed.

Offline, nobody looks before ``wandb sync``, and its files can only be written from beginning to
end. So they are written once the seed has ended, all of it, and take the place of earlier ones.
Online, the server knows the last step of a run that goes on, and takes no earlier one.
"""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vdqn_runner.config import WandbTracker
from vdqn_runner.trackers.points import Point
from vdqn_runner.trackers.sent import Sent, write_sent
from vdqn_runner.trackers.sources import About

OFFLINE = "offline-run-*"

# What W&B would add of its own: about this process, which does not train.
_SETTINGS = {
    "console": "off",
    "silent": True,
    "disable_code": True,
    "disable_git": True,
    "disable_job_creation": True,
    "x_disable_machine_info": True,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_save_requirements": False,
}


class WandbRun:
    """A run of W&B, see ``sender.Target``."""

    def __init__(self, folder: Path, sent: Sent, about: About, tracker: WandbTracker) -> None:
        import wandb

        key = hashlib.sha256(f"{about.group} {about.seed} {sent.started}".encode()).hexdigest()[:16]
        known = wandb.Settings.model_fields
        online = tracker.mode == "online"
        self._folder = folder
        # It makes the folder `wandb` itself.
        self._run: Any = wandb.init(
            mode=tracker.mode,
            project=tracker.project,
            entity=tracker.entity,
            dir=str(folder.parent),
            id=key,
            name=about.name,
            group=about.group,
            tags=[f"{name}={value}"[:64] for name, value in about.tags.items()],
            config={**about.config, "seed": about.seed},
            resume="allow" if online else None,
            reinit="create_new",
            settings=wandb.Settings(**{k: v for k, v in _SETTINGS.items() if k in known}),
        )
        self._online = online
        self._sent = replace(sent, step=max(self._run.starting_step - 1, 0) if online else 0)

    @property
    def step(self) -> int:
        """The step up to which every row is there."""
        return self._sent.step

    def send(self, points: Sequence[Point], step: int) -> None:
        """Log the points."""
        for point in points:
            self._run.log({**point.values, "_timestamp": point.seconds}, step=point.step)
        self._sent = replace(self._sent, step=step)

    def close(self, state: str, seconds: float) -> None:
        """End the run, and note what it has; offline, earlier ones of the seed go."""
        mine = Path(self._run.settings.sync_dir)
        key = self._run.id
        self._run.finish(exit_code=0 if state == "done" else 1)
        write_sent(self._folder, replace(self._sent, state=state))
        if not self._online:
            for other in self._folder.glob(f"{OFFLINE}-{key}"):
                if other.name != mine.name:
                    shutil.rmtree(other)
