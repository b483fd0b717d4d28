"""status.json: how far a seed is, for people and for the next command."""

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal, get_args

from vdqn_runner.runs.atomic import write_atomic
from vdqn_runner.runs.folder import STATUS

State = Literal["planned", "running", "stopped", "done", "failed"]

DIVERGED = "diverged at step "
"""How the reason of a seed begins whose numbers were no longer finite."""


@dataclasses.dataclass(frozen=True)
class Status:
    """State of one seed; counts are of this seed alone.

    Attributes:
        seed: The seed.
        state: ``stopped`` by a signal, with a checkpoint to go on from. ``running`` may also be
            what a killed process left behind; only the lock tells.
        reason: Why it failed, in one line; None otherwise.
        episodes: Episodes asked for.
        episodes_done: Episodes finished.
        steps: Environment steps taken.
        updates: Gradient steps taken.
        versions: Of Python and the packages that decide the numbers.
        commit: Git commit of the package's checkout, ``+dirty`` if changed; None if installed.
        command: The command as typed.
        started: When the seed was first started, ISO 8601 in UTC.
        updated: When this was written, ISO 8601 in UTC.
    """

    seed: int
    state: State
    reason: str | None
    episodes: int
    episodes_done: int
    steps: int
    updates: int
    versions: dict[str, str]
    commit: str | None
    command: str
    started: str
    updated: str

    @property
    def diverged(self) -> bool:
        """Whether the seed ended because its numbers were no longer finite."""
        return self.state == "failed" and (self.reason or "").startswith(DIVERGED)


def write_status(folder: Path, status: Status) -> None:
    """Replace ``folder``/status.json atomically; the caller holds the folder's lock.

    Raises:
        RunError: the file cannot be written.
    """
    text = json.dumps(dataclasses.asdict(status), indent=2) + "\n"
    write_atomic(folder / STATUS, [text.encode()])


def read_status(folder: Path) -> Status | None:
    """Read ``folder``/status.json; None if it is missing, torn or not a status."""
    try:
        found = json.loads((folder / STATUS).read_bytes())
    except (OSError, ValueError):
        return None
    return status_of(found)


def status_of(found: object) -> Status | None:
    """The status with these fields; None if one is missing or not of its type.

    Keys that are not known are left out, so that later versions may add some.
    """
    if not isinstance(found, dict) or not _is_status(found):
        return None
    names = [field.name for field in dataclasses.fields(Status)]
    return Status(**{name: found[name] for name in names})


def _is_status(found: dict[str, Any]) -> bool:
    counts = ("seed", "episodes", "episodes_done", "steps", "updates")
    texts = ("command", "started", "updated")
    optional = ("reason", "commit")
    versions = found.get("versions")
    return (
        all(type(found.get(key)) is int for key in counts)
        and all(isinstance(found.get(key), str) for key in texts)
        and all(key in found and isinstance(found[key], str | None) for key in optional)
        and found.get("state") in get_args(State)
        and isinstance(versions, dict)
        and all(isinstance(version, str) for version in versions.values())
    )
