"""One seed's folder while it is being trained: its logs, status and checkpoints."""

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vdqn_runner.errors import RunError
from vdqn_runner.runs.atomic import cannot_write
from vdqn_runner.runs.checkpoint import load_checkpoint, save_checkpoint, save_policy
from vdqn_runner.runs.csvlog import Cell, CsvLog
from vdqn_runner.runs.finished import drop_checkpoints
from vdqn_runner.runs.folder import (
    EPISODES,
    EVALUATIONS,
    POLICY,
    STATUS,
    TIMING,
    UPDATES,
    kept_policy,
)
from vdqn_runner.runs.provenance import utc_now
from vdqn_runner.runs.status import DIVERGED, Status, read_status, write_status

EPISODE_COLUMNS = ("seed", "episode", "iteration", "step", "return", "length", "terminated")
TIMING_COLUMNS = ("seed", "iteration", "step", "seconds", "steps_per_second")


class SeedRun:
    """Writes what one seed produces; the caller holds the folder's lock.

    Attributes:
        folder: The seed's folder.
        seed: The seed.
        failure: Why it could not go on, in one line; None if it could.
    """

    def __init__(self, folder: Path, status: Status) -> None:
        """``status`` is what the seed starts with; nothing is written yet."""
        self.folder = folder
        self.seed = status.seed
        self._status = status
        self.failure: str | None = None
        self._offsets: Mapping[str, int] = {}
        self._checksums: Mapping[str, int] = {}
        self._logs: dict[str, CsvLog] = {}
        self._kept = 0  # the step of the last checkpoint

    def plan(self) -> None:
        """Leave word that this seed is going to be trained, unless it has a status already."""
        if not (self.folder / STATUS).exists():
            self._write_status(state="planned")

    def restore(self) -> dict[str, Any] | None:
        """Return the training state of the last checkpoint, or None if there is none.

        Raises:
            RunError: There are checkpoints and none can be read, or it was made by the other
                form of the kernels.
        """
        payload = load_checkpoint(self.folder)
        if payload is None:
            return None
        engine = self._status.versions["kernels"]
        if payload["engine"] != engine:
            raise RunError(
                f"{self.folder}: its checkpoint was made with {payload['engine']} kernels and this "
                f"process has {engine} ones, which give other bits; go on with the device and "
                "C compiler that there were before, or remove the folder to start again"
            )
        self._offsets = payload["offsets"]
        # Checkpoints of earlier versions have none.
        self._checksums = payload.get("checksums", {})
        self._status = dataclasses.replace(self._status, **payload["counts"])
        self._kept = self._status.steps
        state: dict[str, Any] = payload["state"]
        return state

    def open_logs(
        self,
        extra_columns: Sequence[str],
        update_columns: Sequence[str],
        evaluation_columns: Sequence[str],
    ) -> None:
        """Open the logs, cut back to what the restored checkpoint knew of, or anew.

        Without columns of evaluations.csv there is no such file.
        """
        columns = {
            EPISODES: (*EPISODE_COLUMNS, *extra_columns),
            UPDATES: tuple(update_columns),
            TIMING: TIMING_COLUMNS,
        }
        if evaluation_columns:
            columns[EVALUATIONS] = tuple(evaluation_columns)
        for name, names in columns.items():
            self._logs[name] = CsvLog(
                self.folder / name, names, self._offsets.get(name, 0), self._checksums.get(name)
            )
        self._write_status(state="running")

    def write_episode(self, figures: Mapping[str, Cell]) -> None:
        """Add a row to episodes.csv."""
        self._logs[EPISODES].write(figures)
        self._status = dataclasses.replace(
            self._status, episodes_done=self._status.episodes_done + 1
        )

    def write_update(self, figures: Mapping[str, Any], seconds: float, steps: int) -> None:
        """Add a row to updates.csv and, with the time it took, to timing.csv; flush all logs."""
        self._logs[UPDATES].write(figures)
        identity = (figures["seed"], figures["iteration"], figures["step"])
        # A clock may stand still.
        speed = steps / seconds if seconds > 0 else float("nan")
        self._logs[TIMING].write((*identity, seconds, speed))
        for log in self._logs.values():
            log.flush()

    def write_evaluation(self, rows: Iterable[Mapping[str, Cell]]) -> None:
        """Add rows to evaluations.csv."""
        for row in rows:
            self._logs[EVALUATIONS].write(row)
        self._logs[EVALUATIONS].flush()

    def keep_policy(self, policy: Mapping[str, Any], episode: int) -> None:
        """Keep the parameters as they are after ``episode`` episodes."""
        path = self.folder / kept_policy(episode)
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise cannot_write(path.parent, error) from error
        save_policy(path, dict(policy))

    def checkpoint(self, state: Mapping[str, Any], steps: int, updates: int) -> None:
        """Keep everything that is needed to go on from here."""
        self._sync_logs()
        counts = {
            "episodes_done": self._status.episodes_done,
            "steps": steps,
            "updates": updates,
        }
        engine = self._status.versions["kernels"]
        payload = {
            "state": state,
            "offsets": {name: log.offset() for name, log in self._logs.items()},
            "checksums": {name: log.checksum() for name, log in self._logs.items()},
            "counts": counts,
            "engine": engine,
        }
        save_checkpoint(self.folder, payload)
        self._kept = steps
        self._write_status(**counts)

    def finish(self, policy: Mapping[str, Any], steps: int, updates: int) -> None:
        """Write the final policy, mark the seed as done, and drop what only a resume needs."""
        self._sync_logs()
        save_policy(self.folder / POLICY, dict(policy))
        self._write_status(state="done", steps=steps, updates=updates)
        drop_checkpoints(self.folder)
        self.close()

    @property
    def done(self) -> bool:
        """Whether the seed is finished, by what is on the disk: the last write may have failed."""
        status = read_status(self.folder)
        return status is not None and status.state == "done"

    def fail(self, reason: str) -> None:
        """Mark the seed as failed, on the disk too unless that is what fails."""
        self.failure = reason
        with contextlib.suppress(RunError):
            self._write_status(state="failed", reason=reason)

    def stop(self) -> None:
        """Mark the seed, unless it is done or failed, as stopped where it was checkpointed last.

        One that has no checkpoint is still to begin.
        """
        if self._status.state not in ("done", "failed"):
            with contextlib.suppress(RunError):
                self._write_status(state="stopped" if self._status.steps else "planned")

    def diverge(self, what: str, steps: int, updates: int) -> None:
        """Mark the seed as failed because numbers are not finite; nothing of them is kept.

        Args:
            what: Which numbers, in words.
            steps: Environment steps taken.
            updates: Gradient steps taken.
        """
        self._sync_logs()
        kept = f"the last checkpoint is of step {self._kept}" if self._kept else "no checkpoint yet"
        reason = f"{DIVERGED}{steps} ({what}); {kept}"
        self._status = dataclasses.replace(self._status, steps=steps, updates=updates)
        self.fail(reason)
        self.close()

    def close(self) -> None:
        """Close the logs; closing twice is allowed."""
        for log in self._logs.values():
            log.close()

    def _sync_logs(self) -> None:
        for log in self._logs.values():
            log.flush(sync=True)

    def _write_status(self, **changes: Any) -> None:
        self._status = dataclasses.replace(self._status, updated=utc_now(), **changes)
        write_status(self.folder, self._status)
