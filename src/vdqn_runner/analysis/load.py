"""Reading run folders: which runs there are, and what they logged.

A run folder is a folder with a `config.yaml` and `seed-*` folders, or a packed one, with tables of
all seeds in their place (see `packed.py`); both are read alike. Everything here only reads, and may
do so while the run is still being written.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vdqn_runner.analysis.packed import SEEDS, SUFFIX, read_compressed, read_seeds
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.runs.status import Status, read_status

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
_UPDATE_DTYPES = dict.fromkeys(("seed", "iteration", "episode", "step", "updates"), "int64")
_EVALUATION_DTYPES = {
    "seed": "int64",
    "episode": "int64",
    "step": "int64",
    "policy": "str",
    "trial": "int64",
    "return": "float64",
    "length": "int64",
}
TABLES = ("episodes.csv", "updates.csv", "evaluations.csv")


@dataclass(frozen=True)
class Run:
    """One config and its seeds, as they lie on disk.

    Attributes:
        path: the run folder.
        config: the content of its `config.yaml`.
        seeds: the folder with each seed's files, by seed number: its own, or that of the run where
            the run is packed.
        packed: whether all seeds lie together in tables of the run folder.
    """

    path: Path
    config: Mapping[str, Any]
    seeds: Mapping[int, Path]
    packed: bool = False

    @property
    def name(self) -> str:
        """The first folder of `<name>/<env>/<algo>/<hash>`; "" where the path is too short.

        Its config does not hold it.
        """
        parents = self.path.resolve().parents
        return parents[2].name if len(parents) > 2 else ""

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
    def env_name(self) -> str:
        """The environment in words, symbols left out: `Chain, N = 50`, `CartPole-v1`."""
        env = self.config["env"]
        if env["kind"] == "gym":
            return self.env
        return f"{str(env['kind']).replace('_', ' ').capitalize()}, N = {int(env['n'])}"

    @property
    def env(self) -> str:
        """Label of the environment: `chain-50`, `deep_sea-10`, `CartPole-v1`."""
        env = self.config["env"]
        return str(env["id"]) if env["kind"] == "gym" else f"{env['kind']}-{int(env['n'])}"

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


def find_run(path: Path) -> Run:
    """Return the one run at or below the path.

    Raises:
        ConfigError: There is none, or there are several.
        RunError: Its ``config.yaml`` cannot be understood.
    """
    runs = find_runs([path])
    if len(runs) > 1:
        names = ", ".join(str(run.path) for run in runs[:3]) + (", ..." if len(runs) > 3 else "")
        raise ConfigError(f"{path}: holds {len(runs)} runs, name one of them: {names}")
    return runs[0]


def load_episodes(run: Run) -> pd.DataFrame:
    """The finished episodes of all seeds of a run, sorted by seed and episode.

    The columns are those of `episodes.csv`, followed by `algo`, `env` and `n` (NA where the
    environment is no chain). A last line without its line end is one that is still being written,
    and is left out; a seed that has not started has no rows.

    Raises:
        RunError: a log lacks a column, holds something other than numbers or a return that is not
            finite, or skips an episode.
    """
    dtypes = _DTYPES | (dict.fromkeys(VISIT_COLUMNS, "int64") if run.n is not None else {})
    return _load(run, "episodes.csv", dtypes, _check_episodes)


def load_updates(run: Run) -> pd.DataFrame:
    """What all seeds of a run logged of their updates, sorted by seed and iteration.

    The columns are those of `updates.csv`, followed by `algo`, `env` and `n`; without any row there
    are only those that every algorithm logs. What there was no update for is NaN.

    Raises:
        RunError: a log lacks a column or holds something other than numbers.
    """
    return _load(run, "updates.csv", _UPDATE_DTYPES)


def load_evaluations(run: Run) -> pd.DataFrame:
    """The greedy evaluations of all seeds of a run, in the order of the logs; empty without any.

    The columns are those of `evaluations.csv` (`seed`, `episode`: episodes trained so far, `step`,
    `policy`, `trial`, `return`, `length`), followed by `algo`, `env` and `n`.

    Raises:
        RunError: a log lacks a column, or holds something other than numbers or a return that is
            not finite.
    """
    return _load(run, "evaluations.csv", _EVALUATION_DTYPES, _check_returns)


def load_status(run: Run) -> dict[int, Status | None]:
    """The status of each seed, by seed number; None where it has none that can be understood.

    Raises:
        RunError: the table of a packed run is damaged.
    """
    if run.packed:
        return read_seeds(run.path)
    return {seed: read_status(folder) for seed, folder in run.seeds.items()}


def read_table(run: Run, name: str) -> bytes:
    """The rows of all seeds as they were written, under one header; empty if no seed has the table.

    Args:
        run: the run.
        name: of `TABLES`.

    Raises:
        RunError: a packed table is damaged, or seeds have different columns.
    """
    header, lines = b"", []
    for log in _logs(run, name):
        first, _, rest = log.text.partition(b"\n")
        if header and first not in (b"", header):
            raise RunError(f"{log.file}: has other columns than the seeds before it")
        header = header or first
        lines.append(rest)
    return header + b"\n" + b"".join(lines) if header else b""


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
        seeds = any(name.startswith("seed-") for name in subfolders)
        if "config.yaml" in files and (seeds or SEEDS in files):
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
    seeds, packed = _seeds(path)
    mapping = {str(k): v for k, v in config.items()} if isinstance(config, dict) else {}
    run = Run(path, mapping, seeds, packed)
    try:
        _ = run.algo, run.env, run.episodes
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"{file}: is no config of a run: lacks algo.name, episodes, env.kind, env.n or env.id"
        ) from error
    if not seeds:
        raise RunError(f"{path}: none of its seed-* folders has a number, as in seed-00003")
    return run


def _seeds(path: Path) -> tuple[dict[int, Path], bool]:
    seeds = {}
    for folder in path.glob("seed-*"):
        number = folder.name.removeprefix("seed-")
        if number.isdecimal() and folder.is_dir():
            seeds[int(number)] = folder
    packed = (path / SEEDS).exists()
    if packed and seeds:
        raise RunError(f"{path}: has both seed-* folders and {SEEDS}; move one of them elsewhere")
    if packed:
        return dict.fromkeys(read_seeds(path), path), True
    return dict(sorted(seeds.items())), False


@dataclass(frozen=True)
class _Log:
    """One file: a seed's own, or the packed one of all seeds.

    Attributes:
        file: where it lies.
        text: its whole lines.
        seeds: those that it may speak of.
    """

    file: Path
    text: bytes
    seeds: frozenset[int]


def _logs(run: Run, name: str) -> list[_Log]:
    if run.packed:
        file = run.path / f"{name}{SUFFIX}"
        return [_Log(file, read_compressed(file), frozenset(run.seeds))]
    logs = []
    for seed, folder in run.seeds.items():
        file = folder / name
        text = file.read_bytes() if file.exists() else b""
        logs.append(_Log(file, text[: text.rfind(b"\n") + 1], frozenset([seed])))
    return logs


def _load(
    run: Run,
    name: str,
    dtypes: Mapping[str, str],
    check: Callable[[Path, pd.DataFrame], None] | None = None,
) -> pd.DataFrame:
    import pandas as pd

    parts = []
    for log in _logs(run, name):
        parts.append(_parse(log, dtypes))
        if check:
            check(log.file, parts[-1])
    started = [part for part in parts if len(part)]
    frame = pd.concat(started or parts[:1], ignore_index=True)
    return frame.assign(algo=run.algo, env=run.env, n=pd.array([run.n] * len(frame), dtype="Int64"))


def _parse(log: _Log, dtypes: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    text = log.text or ",".join(dtypes).encode()
    header = text.partition(b"\n")[0].decode(errors="replace").split(",")
    # float() gives the bits that were written; what pandas does depends on its version.
    floats = [c for c in header if dtypes.get(c, "float64") == "float64"]
    try:
        frame = pd.read_csv(io.BytesIO(text), converters=dict.fromkeys(floats, float))
    except ValueError as error:
        raise RunError(f"{log.file}: is no table: {_first_line(error)}") from error
    missing = [column for column in dtypes if column not in frame]
    if missing:
        raise RunError(f"{log.file}: has no column {', '.join(missing)}")
    try:
        frame = frame.astype(dict.fromkeys(floats, "float64") | dict(dtypes))
    except ValueError as error:
        raise RunError(
            f"{log.file}: holds something that is not a number: {_first_line(error)}"
        ) from error
    strange = sorted(set(frame["seed"]) - log.seeds)
    if strange:
        raise RunError(f"{log.file}: has a row of seed {strange[0]}, which does not belong there")
    return frame


def _check_episodes(file: Path, frame: pd.DataFrame) -> None:
    _check_returns(file, frame)
    expected = frame.groupby("seed", sort=False).cumcount()
    gap = (frame["episode"] != expected).to_numpy()
    if gap.any():
        row = int(gap.argmax())
        raise RunError(
            f"{file}: row {row} is of episode {frame['episode'][row]}, not {expected[row]}"
        )


def _check_returns(file: Path, frame: pd.DataFrame) -> None:
    if not frame["return"].abs().lt(float("inf")).all():
        raise RunError(f"{file}: holds a return that is not finite")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _no_runs(path: Path) -> str:
    if path.exists():
        above = next((p for p in path.resolve().parents if (p / "config.yaml").is_file()), None)
        hint = f"; it is part of the run {above}" if above else ""
        form = f"a folder with config.yaml and seed-* folders or {SEEDS}"
        return f"{path}: no run ({form}) at or below it{hint}"
    # Here and not above, because only a message needs it and it brings the models of configs.
    from vdqn_runner.config.suggest import closest, did_you_mean

    parts = [path, *path.parents]
    known, missing = next((a, b) for a, b in zip(parts[1:], parts, strict=False) if a.exists())
    siblings = [p.name for p in known.iterdir() if p.is_dir()] if known.is_dir() else []
    name = closest(missing.name, siblings)
    return f"{path}: does not exist{did_you_mean(str(known / name) if name else None)}"
