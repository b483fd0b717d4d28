"""The folder of a sweep: what was planned when it began, and what became of each job.

    jobs.json            settings and overrides of every job, in order
    done-00003.json      one file a job that ended, or failed-00003.json, or skipped-00003.json

It is how jobs and the command that began them speak to each other, whichever processes and machines
a launcher uses.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from vdqn_runner.config.schema import RunConfig
from vdqn_runner.errors import RunError
from vdqn_runner.runs.atomic import cannot_write, write_atomic

JOBS = "jobs.json"

Outcome = Literal["done", "failed", "skipped"]


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Attributes:
        overrides: What tells the job from the others.
        outcome: ``skipped`` where another process trains its seeds.
        reason: Why it is not done, in one line; empty if it is.
    """

    overrides: tuple[str, ...]
    outcome: Outcome
    reason: str


def begin(folder: Path, jobs: Iterable[tuple[Sequence[str], RunConfig]]) -> None:
    """Make the folder and write down the jobs; what an earlier sweep left in it is removed.

    Args:
        folder: The sweep's folder.
        jobs: The overrides and the settings of each job, in order.

    Raises:
        RunError: It cannot be written.
    """
    planned = [
        {"overrides": list(overrides), "settings": settings(config)} for overrides, config in jobs
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for outcome in get_args(Outcome):
            for path in folder.glob(f"{outcome}-*.json"):
                path.unlink()
    except OSError as error:
        raise cannot_write(folder, error) from error
    write_atomic(folder / JOBS, [json.dumps(planned).encode()])


def settings(config: RunConfig) -> dict[str, Any]:
    """Return all settings of a run as plain values, which ``config.build`` takes again."""
    return config.model_dump(mode="json")


def planned_settings(folder: Path, job: int) -> dict[str, Any] | None:
    """Return the settings that a job had when the sweep began.

    None where nothing is written down: another sweeper than Hydra's own decides its jobs as it
    goes.

    Raises:
        RunError: The file cannot be read, or does not know the job.
    """
    path = folder / JOBS
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())[job]["settings"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(f"{path} cannot be read for job {job} ({type(error).__name__})") from error
    return found


def note(folder: Path, job: int, ended: Ended) -> None:
    """Write down how a job ended.

    Raises:
        RunError: It cannot be written.
    """
    record = {"overrides": list(ended.overrides), "reason": ended.reason}
    write_atomic(folder / f"{ended.outcome}-{job:05d}.json", [json.dumps(record).encode()])


def outcomes(folder: Path, jobs: Sequence[Sequence[str]]) -> list[Ended | None]:
    """Return how each job ended, by the overrides of all; None for one that left no word."""
    return [_outcome(folder, job, tuple(overrides)) for job, overrides in enumerate(jobs)]


def _outcome(folder: Path, job: int, overrides: tuple[str, ...]) -> Ended | None:
    for outcome in get_args(Outcome):
        try:
            record = json.loads((folder / f"{outcome}-{job:05d}.json").read_bytes())
            return Ended(overrides, outcome, str(record["reason"]))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, LookupError, TypeError):
            return Ended(overrides, outcome, "" if outcome == "done" else "its record is damaged")
    return None
