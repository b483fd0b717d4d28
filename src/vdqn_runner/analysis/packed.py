"""The packed form of a run: a few compressed tables in place of its seed folders.

    <run>/
      config.yaml
      episodes.csv.xz  updates.csv.xz  evaluations.csv.xz    the rows of all seeds, in their order
      seeds.csv                                              one row a seed: what status.json says

The tables hold the very characters of the seeds' logs, so no number changes; what no seed has is
left out. `seeds.csv` is written last: a folder without it is no packed run.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import lzma
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vdqn_runner.errors import RunError
from vdqn_runner.runs.status import Status, status_of

SEEDS = "seeds.csv"
SUFFIX = ".xz"
_COLUMNS = [field.name for field in dataclasses.fields(Status)]
_OPTIONAL = ("reason", "commit")
_COUNTS = ("episodes", "episodes_done", "steps", "updates")


def compress(table: bytes) -> bytes:
    """A table as the content of an `.xz` file; equal tables give equal bytes."""
    return lzma.compress(table, lzma.FORMAT_XZ, lzma.CHECK_CRC64, preset=9)


def read_compressed(file: Path) -> bytes:
    """The table in an `.xz` file; empty if there is no file.

    Raises:
        RunError: the file is damaged or cut short.
    """
    if not file.exists():
        return b""
    try:
        return lzma.decompress(file.read_bytes(), lzma.FORMAT_XZ)
    except (lzma.LZMAError, EOFError) as error:
        raise RunError(f"{file}: is no complete xz file: {error}") from error


def seeds_table(statuses: Mapping[int, Status | None]) -> bytes:
    """The content of `seeds.csv`; a seed without a status has a row of its number alone.

    `versions` is JSON; what is None is empty.
    """
    text = io.StringIO(newline="")
    # Quotes around every text, because some versions leave a carriage return without them.
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(_COLUMNS)
    for seed, status in sorted(statuses.items()):
        writer.writerow(_cells(seed, status))
    return text.getvalue().encode("utf-8", "backslashreplace")


def read_seeds(folder: Path) -> dict[int, Status | None]:
    """The seeds of a packed run and their statuses, by seed number.

    Raises:
        RunError: `seeds.csv` is damaged.
    """
    file = folder / SEEDS
    try:
        text = file.read_bytes().decode("utf-8")
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        found = {int(row["seed"]): _status(row) for row in rows}
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise RunError(f"{file}: is no table of seeds: {type(error).__name__}: {error}") from error
    if not found:
        raise RunError(f"{file}: has no seed")
    if len(found) != len(rows):
        raise RunError(f"{file}: has a seed twice")
    return dict(sorted(found.items()))


# Parts of a command that say where the results lay, on a machine that readers do not have; the
# second is added to every sweep's command by vdqn-run itself.
_PLACES = re.compile(r" (?:out=\S+|'out=[^']*')| (?:hydra\.sweep\.dir=|'hydra\.sweep\.dir=).*$")


def _cells(seed: int, status: Status | None) -> list[Any]:
    if status is None:
        return [seed] + [""] * (len(_COLUMNS) - 1)
    cells = dataclasses.asdict(dataclasses.replace(status, seed=seed))
    cells["versions"] = json.dumps(status.versions, sort_keys=True)
    cells["command"] = _PLACES.sub("", status.command)
    return ["" if cells[name] is None else cells[name] for name in _COLUMNS]


def _status(row: Mapping[str, str]) -> Status | None:
    if not row["state"]:
        return None
    found: dict[str, Any] = {name: row[name] for name in _COLUMNS}
    found |= {name: int(row[name]) for name in ("seed", *_COUNTS)}
    found |= {name: row[name] or None for name in _OPTIONAL}
    found["versions"] = json.loads(row["versions"])
    status = status_of(found)
    if status is None:
        raise ValueError(f"seed {row['seed']} has no status that can be understood")
    return status
