"""How far runs are, read from their folders; quick, whatever the length of their logs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vdqn_runner.analysis.load import Run, load_status
from vdqn_runner.recent import EPISODES as RECENT
from vdqn_runner.runs.folder import EPISODES
from vdqn_runner.runs.holder import is_held
from vdqn_runner.runs.status import Status

# In the order in which they are told.
STATES = ("done", "training", "stopped", "broken off", "planned", "failed", "unknown")
# The end of a log that holds the last 100 rows: rows are shorter than this.
_ROW_BYTES = 200


@dataclass(frozen=True)
class Seed:
    """One seed of a run.

    Attributes:
        number: The seed.
        state: ``training`` where a process has its lock, ``broken off`` where one had and is gone
            without a word; otherwise that of its status.
        status: What its status.json says; None if that cannot be read.
        last_return: Mean return of its last 100 logged episodes; None if there is none, or if the
            run is packed.
    """

    number: int
    state: str
    status: Status | None
    last_return: float | None


@dataclass(frozen=True)
class Survey:
    """A run and its seeds.

    Attributes:
        run: The run.
        seeds: In order.
    """

    run: Run
    seeds: tuple[Seed, ...]

    @property
    def states(self) -> Mapping[str, int]:
        """How many seeds are in each state, in the order of ``STATES``."""
        counts = Counter(seed.state for seed in self.seeds)
        return {state: counts[state] for state in STATES if counts[state]}

    @property
    def progress(self) -> float:
        """Share of all episodes that are done, 0 to 1."""
        done = sum(seed.status.episodes_done for seed in self.seeds if seed.status)
        return done / (self.run.episodes * len(self.seeds))

    @property
    def last_return(self) -> float | None:
        """Mean over seeds of their last returns; None if there is none."""
        known = [seed.last_return for seed in self.seeds if seed.last_return is not None]
        return sum(known) / len(known) if known else None

    @property
    def updated(self) -> str:
        """When a status was last written, ISO 8601 in UTC; empty if none can be read."""
        return max((seed.status.updated for seed in self.seeds if seed.status), default="")

    @property
    def finished(self) -> bool:
        """Whether all its seeds are done."""
        return set(self.states) == {"done"}


def survey(run: Run) -> Survey:
    """Look at the seeds of a run.

    Raises:
        RunError: The table of a packed run is damaged.
    """
    statuses = load_status(run)
    seeds = []
    for number, folder in sorted(run.seeds.items()):
        status = statuses.get(number)
        last = None if run.packed else last_return(folder / EPISODES)
        seeds.append(Seed(number, _state(run, folder, status), status, last))
    return Survey(run, tuple(seeds))


def last_return(log: Path, count: int = RECENT) -> float | None:
    """Return the mean return of the last ``count`` episodes of a log; None if it has none.

    Only the end of the file is read, so that a log of any length takes as long.
    """
    try:
        with log.open("rb") as file:
            header = file.readline().decode().rstrip("\n").split(",")
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - count * _ROW_BYTES, 0))
            lines = file.read().decode().split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    # The first may be half a row or the header, the last one still being written.
    rows = [line.split(",") for line in lines[1:-1]][-count:]
    if "return" not in header or not rows or any(len(row) != len(header) for row in rows):
        return None
    try:
        returns = [float(row[header.index("return")]) for row in rows]
    except ValueError:
        return None
    return sum(returns) / len(returns)


def _state(run: Run, folder: Path, status: Status | None) -> str:
    if not run.packed and is_held(folder):
        return "training"
    if status is None:
        return "unknown"
    return "broken off" if status.state == "running" else status.state


def shown_states(states: Mapping[str, int], total: int) -> str:
    """Return ``done`` where all seeds are in one state, else ``7 done, 3 stopped``."""
    if len(states) == 1:
        return next(iter(states))
    return ", ".join(f"{count} {state}" for state, count in states.items()) if total else ""


def as_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]
) -> list[str]:
    """Return lines of aligned columns; those numbered in ``right`` are aligned to the right."""
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
