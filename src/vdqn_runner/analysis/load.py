"""Reading run folders: which runs there are, and the episodes that they logged.

A run folder is a folder with a `config.yaml` and `seed-*` folders. Everything here only reads, and
may do so while the run is still being written.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vdqn_runner.errors import ConfigError, RunError

if TYPE_CHECKING:
    import pandas as pd

_DTYPES = {
    "seed": "int64",
    "episode": "int64",
    "iteration": "int64",
    "step": "int64",
    "return": "float64",
    "length": "int64",
    "terminated": "int64",
}
VISIT_COLUMNS = ("visited_first", "visited_middle", "visited_last")


@dataclass(frozen=True)
class Run:
    """One config and its seeds, as they lie on disk.

    Attributes:
        path: the run folder.
        config: the content of its `config.yaml`.
        seeds: the seed folders, by seed number.
    """

    path: Path
    config: Mapping[str, Any]
    seeds: Mapping[int, Path]

    @property
    def algo(self) -> str:
        """Name of the algorithm, such as `vdqn`."""
        return str(self.config["algo"]["name"])

    @property
    def n(self) -> int | None:
        """Number of states of the chain; None for any other environment."""
        env = self.config["env"]
        return int(env["n"]) if env["kind"] == "chain" else None

    @property
    def env(self) -> str:
        """Label of the environment: `chain-50`, `CartPole-v1`."""
        return f"chain-{self.n}" if self.n is not None else str(self.config["env"]["id"])

    @property
    def episodes(self) -> int:
        """Number of episodes that each seed is to have."""
        return int(self.config["episodes"])


def find_runs(paths: Iterable[str | Path]) -> list[Run]:
    """All runs at or below the given folders, each once, sorted by path.

    Raises:
        ConfigError: a path does not exist, or no run lies at or below it.
        RunError: a `config.yaml` cannot be understood.
    """
    folders: dict[Path, Path] = {}
    for path in map(Path, paths):
        below = _run_folders(path) if path.is_dir() else []
        if not below:
            raise ConfigError(_no_runs(path))
        for folder in below:
            folders.setdefault(folder.resolve(), folder)
    return [_read_run(folder) for _, folder in sorted(folders.items())]


def load_episodes(run: Run) -> pd.DataFrame:
    """The finished episodes of all seeds of a run, sorted by seed and episode.

    The columns are those of `episodes.csv`, followed by `algo`, `env` and `n` (NA where the
    environment is no chain). A last line without its line end is one that is still being written,
    and is left out; a seed that has not started has no rows.

    Raises:
        RunError: a log lacks a column, holds something other than numbers or a return that is not
            finite, or skips an episode.
    """
    import pandas as pd

    dtypes = _DTYPES | (dict.fromkeys(VISIT_COLUMNS, "int64") if run.n is not None else {})
    parts = [_read_log(folder / "episodes.csv", dtypes) for folder in run.seeds.values()]
    started = [part for part in parts if len(part)]
    frame = pd.concat(started or parts[:1], ignore_index=True)
    return frame.assign(algo=run.algo, env=run.env, n=pd.array([run.n] * len(frame), dtype="Int64"))


def unfinished(run: Run, episodes: pd.DataFrame) -> str:
    """One line about the seeds that have fewer episodes than the config asks for; "" if none."""
    counts = episodes.groupby("seed").size()
    short = {seed: int(counts.get(seed, 0)) for seed in run.seeds}
    short = {seed: count for seed, count in short.items() if count < run.episodes}
    if not short:
        return ""
    shown = [f"seed {seed} has {count}" for seed, count in list(short.items())[:3]]
    more = [f"and so on for {len(short) - 3} more"] if len(short) > 3 else []
    return f"{run.path} is unfinished: of {run.episodes} episodes " + ", ".join(shown + more)


def _run_folders(top: Path) -> list[Path]:
    found = []
    for folder, subfolders, files in os.walk(top, followlinks=True):
        if "config.yaml" in files and any(name.startswith("seed-") for name in subfolders):
            found.append(Path(folder))
            subfolders.clear()
    return found


def _read_run(path: Path) -> Run:
    from omegaconf import OmegaConf

    file = path / "config.yaml"
    try:
        config = OmegaConf.to_container(OmegaConf.load(file))
    except Exception as error:  # OmegaConf, YAML and the file system each raise their own kinds
        raise RunError(f"{file}: cannot be read: {_first_line(error)}") from error
    seeds = {}
    for folder in path.glob("seed-*"):
        number = folder.name.removeprefix("seed-")
        if number.isdecimal() and folder.is_dir():
            seeds[int(number)] = folder
    mapping = {str(k): v for k, v in config.items()} if isinstance(config, dict) else {}
    run = Run(path, mapping, dict(sorted(seeds.items())))
    try:
        _ = run.algo, run.env, run.episodes
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"{file}: is no config of a run: lacks algo.name, episodes, env.kind, env.n or env.id"
        ) from error
    if not seeds:
        raise RunError(f"{path}: none of its seed-* folders has a number, as in seed-00003")
    return run


def _read_log(file: Path, dtypes: Mapping[str, str]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    text = file.read_bytes() if file.exists() else b""
    complete = text[: text.rfind(b"\n") + 1] or ",".join(dtypes).encode()
    try:
        # float() gives the bits that were written; what pandas does depends on its version.
        frame = pd.read_csv(io.BytesIO(complete), converters={"return": float})
    except ValueError as error:
        raise RunError(f"{file}: is no table: {_first_line(error)}") from error
    missing = [column for column in dtypes if column not in frame]
    if missing:
        raise RunError(f"{file}: has no column {', '.join(missing)}")
    try:
        frame = frame.astype(dict(dtypes))
    except ValueError as error:
        raise RunError(
            f"{file}: holds something that is not a number: {_first_line(error)}"
        ) from error
    if not frame["return"].abs().lt(float("inf")).all():
        raise RunError(f"{file}: holds a return that is not finite")
    gap = frame["episode"].to_numpy() != np.arange(len(frame))
    if gap.any():
        row = int(gap.argmax())
        raise RunError(f"{file}: row {row} is of episode {frame['episode'][row]}, not {row}")
    return frame


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _no_runs(path: Path) -> str:
    if path.exists():
        above = next((p for p in path.resolve().parents if (p / "config.yaml").is_file()), None)
        hint = f"; it is part of the run {above}" if above else ""
        return f"{path}: no run (a folder with config.yaml and seed-* folders) at or below it{hint}"
    # Here and not above, because only a message needs it and it brings the models of configs.
    from vdqn_runner.config.suggest import closest, did_you_mean

    parts = [path, *path.parents]
    known, missing = next((a, b) for a, b in zip(parts[1:], parts, strict=False) if a.exists())
    siblings = [p.name for p in known.iterdir() if p.is_dir()] if known.is_dir() else []
    name = closest(missing.name, siblings)
    return f"{path}: does not exist{did_you_mean(str(known / name) if name else None)}"
