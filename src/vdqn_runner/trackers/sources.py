"""The seeds of a run as trackers see them: what they are called, and where their rows are."""

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from vdqn_runner.analysis.labels import flatten, setting_text
from vdqn_runner.analysis.load import TABLES, Run, read_table
from vdqn_runner.analysis.packed import read_seeds
from vdqn_runner.errors import RunError
from vdqn_runner.runs.folder import CONFIG, seed_path
from vdqn_runner.runs.status import Status, read_status
from vdqn_runner.trackers.logs import LOGS, SeedLogs, Tail

_PLACE = {"algo": ("name",), "env": ("kind", "id", "n")}
"""Settings that ``flatten`` leaves out."""


@dataclass(frozen=True)
class About:
    """What a tracker is told of a seed beside its numbers.

    Attributes:
        group: ``<name>/<env>/<algo>/<hash>``, the same for all seeds of a run.
        name: ``<env>/<algo>/<hash>/seed-00003``.
        seed: The seed.
        tags: ``seed``, ``env``, ``algo``, ``run`` (the hash) and ``name``.
        config: The run's settings, nested as in config.yaml.
        params: The same by dotted key, a schedule as one value; and the seed.
    """

    group: str
    name: str
    seed: int
    tags: Mapping[str, str]
    config: Mapping[str, Any]
    params: Mapping[str, float | str | bool]


@dataclass(frozen=True)
class Source:
    """A seed.

    Attributes:
        about: What it is called.
        folder: Where trackers have their files of it.
        status: Reads its status; None if there is none.
        logs: Begins to read its logs.
    """

    about: About
    folder: Path
    status: Callable[[], Status | None]
    logs: Callable[[], SeedLogs]


def sources(run: Run) -> list[Source]:
    """Return the seeds of a run, in order.

    Raises:
        RunError: A packed run is damaged.
    """
    return [*(_packed(run) if run.packed else _in_folders(run))]


def live_run(path: Path, seeds: Iterable[int]) -> Run:
    """Return a run that is being trained, some of whose seeds may have no folder yet.

    Raises:
        RunError: Its config.yaml cannot be read.
    """
    try:
        config = yaml.safe_load((path / CONFIG).read_bytes())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RunError(f"{path / CONFIG} cannot be read ({type(error).__name__})") from error
    return Run(path, config, {seed: seed_path(path, seed) for seed in seeds})


def place(run: Path, seed: int, packed: bool) -> Path:
    """Return where trackers have their files of a seed: its folder; of packed runs, one of theirs.

    In a folder of its own, a packed run must have no folder of a seed.
    """
    return seed_path(run / "trackers" if packed else run, seed)


def _in_folders(run: Run) -> Iterable[Source]:
    for seed, folder in run.seeds.items():
        yield Source(
            about=_about(run, seed),
            folder=place(run.path, seed, packed=False),
            status=partial(read_status, folder),
            logs=partial(_logs_in, folder),
        )


def _packed(run: Run) -> Iterable[Source]:
    statuses = read_seeds(run.path)
    tables = {name: _by_seed(read_table(run, name)) for name in TABLES}
    for seed in run.seeds:
        texts = {name: table.get(seed, b"") for name, table in tables.items()}
        yield Source(
            about=_about(run, seed),
            folder=place(run.path, seed, packed=True),
            status=partial(statuses.get, seed),
            logs=partial(_logs_of, run.path, texts),
        )


def _logs_in(folder: Path) -> SeedLogs:
    return SeedLogs({name: Tail(folder / name) for name in LOGS})


def _logs_of(run: Path, texts: Mapping[str, bytes]) -> SeedLogs:
    opened = {name: partial(io.BytesIO, text) for name, text in texts.items()}
    return SeedLogs({name: Tail(run / name, open_log) for name, open_log in opened.items()})


def _by_seed(table: bytes) -> dict[int, bytes]:
    """Return the rows of each seed, under the header, of a table whose first column is the seed."""
    header, *lines = table.splitlines(keepends=True) or [b""]
    rows: dict[int, list[bytes]] = {}
    for line in lines:
        rows.setdefault(int(line.partition(b",")[0]), [header]).append(line)
    return {seed: b"".join(found) for seed, found in rows.items()}


def _about(run: Run, seed: int) -> About:
    parts = run.path.resolve().parts[-4:]
    label = f"seed-{seed:05d}"
    params = {key: _param(value) for key, value in _settings(run).items()}
    tags = {
        "seed": str(seed), "env": run.env, "algo": run.algo, "run": run.path.name, "name": run.name
    }  # fmt: skip
    return About(
        group="/".join(parts),
        name="/".join([*parts[-3:], label]),
        seed=seed,
        tags=tags,
        config=run.config,
        params={**params, "seed": seed},
    )


def _settings(run: Run) -> dict[str, Any]:
    left_out = {
        f"{group}.{key}": run.config[group][key]
        for group, keys in _PLACE.items()
        for key in keys
        if key in run.config[group]
    }
    return left_out | flatten(run.config)


def _param(value: Any) -> float | str | bool:
    return value if isinstance(value, bool | int | float) else setting_text(value)
