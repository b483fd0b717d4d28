"""The folder of a sweep: what was planned when it began, and what became of each job.

    jobs.json            every job in order: its name in messages, and its settings
    done-00003.json      one file a job that ended, or failed-00003.json, or skipped-00003.json

It is how jobs and the command that began them speak to each other, whichever processes and machines
a launcher uses.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from vdqn_runner.config.schema import RunConfig
from vdqn_runner.errors import RunError
from vdqn_runner.runs.atomic import cannot_make, write_atomic

JOBS = "jobs.json"

Outcome = Literal["done", "failed", "skipped"]


@dataclass(frozen=True)
class Planned:
    """A job as it was when the sweep began.

    Attributes:
        label: The overrides that tell the job from the others.
        settings: All settings of its run, as ``config.build`` takes them.
    """

    label: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    Attributes:
        outcome: ``skipped`` where another process trains its seeds.
        reason: Why it is not done, in one line; empty if it is.
    """

    outcome: Outcome
    reason: str


def begin(folder: Path, jobs: Mapping[RunConfig, Sequence[str]] | None) -> None:
    """Make the folder and write down the jobs; what an earlier sweep left in it is removed.

    Args:
        folder: The sweep's folder.
        jobs: The run of each job, in order, and its overrides; None where another sweeper than
            Hydra's own decides them as it goes.

    Raises:
        RunError: It cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for outcome in get_args(Outcome):
            for path in folder.glob(f"{outcome}-*.json"):
                path.unlink()
        (folder / JOBS).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_make(folder, error) from error
    if jobs is None:
        return
    planned = [
        {"label": label, "settings": config.model_dump(mode="json")}
        for label, config in zip(labels(list(jobs.values())), jobs, strict=True)
    ]
    write_atomic(folder / JOBS, [json.dumps(planned).encode()])


def labels(overrides: Sequence[Sequence[str]]) -> list[str]:
    """Return for each job those of its overrides that not all jobs have; all if that is none."""
    common = set.intersection(*map(set, overrides)) if overrides else set()
    return [" ".join([one for one in job if one not in common] or job) for job in overrides]


def planned(folder: Path, job: int) -> Planned | None:
    """Return a job as it was when the sweep began.

    None where nothing is written down: another sweeper than Hydra's own decides its jobs as it
    goes.

    Raises:
        RunError: The file cannot be read, or does not know the job.
    """
    path = folder / JOBS
    try:
        return Planned(**json.loads(path.read_bytes())[job])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(f"{path} cannot be read for job {job} ({type(error).__name__})") from error


def note(folder: Path, job: int, overrides: Sequence[str], ended: Ended) -> None:
    """Write down how a job with these overrides ended.

    Raises:
        RunError: It cannot be written.
    """
    record = {"overrides": list(overrides), "reason": ended.reason}
    write_atomic(folder / f"{ended.outcome}-{job:05d}.json", [json.dumps(record).encode()])


def ended(folder: Path, job: int) -> Ended | None:
    """Return how a job ended; None if it left no word."""
    for outcome in get_args(Outcome):
        try:
            record = json.loads((folder / f"{outcome}-{job:05d}.json").read_bytes())
            return Ended(outcome, str(record["reason"]))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, LookupError, TypeError):
            return Ended(outcome, "" if outcome == "done" else "its record is damaged")
    return None


def noted(folder: Path) -> dict[int, tuple[str, ...]]:
    """Return the overrides of all jobs that have left word, by number."""
    found: dict[int, tuple[str, ...]] = {}
    for outcome in get_args(Outcome):
        for path in folder.glob(f"{outcome}-*.json"):
            number = path.stem.removeprefix(f"{outcome}-")
            if number.isdecimal():
                found[int(number)] = _overrides(path)
    return dict(sorted(found.items()))


def _overrides(path: Path) -> tuple[str, ...]:
    try:
        return tuple(map(str, json.loads(path.read_bytes())["overrides"]))
    except (OSError, ValueError, LookupError, TypeError):
        return (path.stem,)
