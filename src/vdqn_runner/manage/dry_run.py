"""What a request would do: its runs, how far they are, and what they will take."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vdqn_runner.config import RunConfig
from vdqn_runner.manage.survey import as_table
from vdqn_runner.memory import needed
from vdqn_runner.prepare import Prepared
from vdqn_runner.runs.folder import TIMING, seed_path
from vdqn_runner.runs.status import read_status

_SAMPLES = 20
_MIB = 2**20


@dataclass(frozen=True)
class Estimate:
    """What is left of one run.

    Attributes:
        run: Its folder.
        asked: Seeds asked for.
        left: Seeds to train.
        failed: Seeds that are finished and damaged.
        steps: Environment steps left, of all seeds; None where episodes have no longest length.
        exact: Whether it takes just as many; otherwise at most.
        memory: Bytes, of all processes.
        seconds: Time, from the pace of earlier runs below the same ``out`` (see ``pace``); None if
            there are none.
    """

    run: Path
    asked: int
    left: int
    failed: int
    steps: int | None
    exact: bool
    memory: int
    seconds: float | None


def estimate(config: RunConfig, prepared: Prepared) -> Estimate:
    """Return what is left of a run, and what it takes."""
    spec, todo = prepared.spec, prepared.todo
    memory = needed(config, spec, len(todo), prepared.n_workers).total if todo else 0
    steps: dict[int, int] = {}
    if spec.max_episode_steps is not None:
        for seed in todo:
            status = read_status(seed_path(prepared.run, seed))
            taken = status.steps if status else 0
            steps[seed] = max(config.episodes * spec.max_episode_steps - taken, 0)
    known = spec.max_episode_steps is not None
    speed = pace(prepared.run.parent) if steps else None
    # All seeds step together, so the one with the most to do decides.
    seconds = max(steps.values()) / speed if speed else None
    return Estimate(
        run=prepared.run,
        asked=config.n_seeds,
        left=len(todo),
        failed=len(prepared.failures),
        steps=sum(steps.values()) if known else None,
        exact=config.env.kind != "gym",
        memory=memory,
        seconds=seconds,
    )


def pace(algo_folder: Path) -> float | None:
    """Return the median steps a second of a seed in the runs of ``<out>/*/<env>/<algo>``.

    The newest runs count, those of other names too. Where there are none of this environment,
    those of any other are taken; None if there is none at all.
    """
    out, env, algo = algo_folder.parents[2], algo_folder.parent.name, algo_folder.name
    for place in (env, "*"):
        logs = out.glob(f"*/{place}/{algo}/*/seed-*/{TIMING}")
        newest = sorted(logs, key=lambda log: log.stat().st_mtime)[-_SAMPLES:]
        speeds = [speed for log in newest for speed in _speeds(log)]
        if speeds:
            return statistics.median(speeds)
    return None


def _speeds(log: Path) -> Iterator[float]:
    """Yield the steps a second of a timing.csv, what cannot be read left out."""
    try:
        with log.open(newline="") as stream:
            for row in csv.DictReader(stream):
                value = float(row["steps_per_second"])
                if value > 0:
                    yield value
    except (OSError, ValueError, KeyError, TypeError):
        return


def told(jobs: Mapping[RunConfig, Prepared]) -> Iterator[str]:
    """Yield a table of runs, and a line for all of them together."""
    found = [estimate(config, prepared) for config, prepared in jobs.items()]
    rows = [
        [str(one.run), _state(one), _steps(one), _memory(one), _time(one.seconds, one.left)]
        for one in found
    ]
    yield from as_table(["run", "seeds", "steps", "memory", "time"], rows, right=(2, 3, 4))
    left = sum(one.left for one in found)
    times = [one.seconds for one in found if one.left]
    known = [seconds for seconds in times if seconds is not None]
    total = _time(sum(known) if known else None, left)
    more = " and more" if 0 < len(known) < len(times) else ""
    runs = f"{len(found)} run{'' if len(found) == 1 else 's'}"
    yield f"{runs}, {left} seeds to train; time, one run after the other: {total}{more}"


def _state(one: Estimate) -> str:
    done = one.asked - one.left - one.failed
    parts = [f"{done} done" if done else "", f"{one.left} to train" if one.left else ""]
    parts.append(f"{one.failed} damaged" if one.failed else "")
    return ", ".join(filter(None, parts))


def _steps(one: Estimate) -> str:
    if not one.left:
        return "-"
    if one.steps is None:
        return "?"
    return f"{'' if one.exact else 'up to '}{one.steps:,}"


def _memory(one: Estimate) -> str:
    return f"{one.memory / _MIB:,.0f} MiB" if one.left else "-"


def _time(seconds: float | None, left: int) -> str:
    if not left:
        return "-"
    if seconds is None:
        return "?"
    minutes = round(seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02d} h" if minutes else "under 1 min"
