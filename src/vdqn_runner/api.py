"""For notebooks and scripts: train with the settings of ``vdqn-run``, and read runs as tables.

    from vdqn_runner.api import load_runs, train

    episodes = train("algo=vdqn", "env=chain", "env.n=10", n_seeds=3, episodes=200)
    episodes.groupby(["seed", "iteration"])["return"].mean()

Nothing is imported before it is needed: reading runs needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vdqn_runner.config.words import quoted
from vdqn_runner.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from vdqn_runner.config import RunConfig

__all__ = ["load_runs", "settings", "train"]

Table = Literal["episodes", "updates", "evaluations"]


def settings(*overrides: str, **values: Any) -> RunConfig:
    """Return the checked settings of one run, as ``vdqn-run`` would train it.

    Args:
        overrides: As on the command line: ``"algo=dqn"``, ``"env.n=50"``, ``"experiment=..."``.
        values: Settings of the top level, of any type: ``episodes=100``, ``quiet=True``.

    Raises:
        ConfigError: There is no such run; one line with key, value, what is allowed and the
            closest valid name. Several runs (a sweep) are for ``vdqn-run -m``.
    """
    from hydra._internal.utils import get_args_parser

    from vdqn_runner.config.compose import plan

    given = [f"{key}={_written(value)}" for key, value in values.items()]
    flags = [item for item in overrides if item.startswith("-")]
    if flags:
        raise ConfigError(f"{flags[0]}: is a flag of the command vdqn-run; give settings only")
    planned = plan(get_args_parser().parse_args([*overrides, *given]))
    if planned.sweep_dir is not None or planned.jobs is None:
        raise ConfigError(f"{' '.join(overrides)}: is a sweep of several runs; use vdqn-run -m")
    (config,) = planned.jobs
    return config


def train(*overrides: str, **values: Any) -> pd.DataFrame:
    """Train one run as ``vdqn-run`` does, and return the episodes of its seeds.

    Seeds that are done are not trained again, unfinished ones go on from their last checkpoint.
    The arguments are those of ``settings``.

    Returns:
        A row for each episode of the seeds asked for, with the columns of ``load_runs``.

    Raises:
        ConfigError: There is no such run; nothing has been made.
        RunError: Seeds could not go on; what is written stays.
        Interrupted: SIGTERM came, or Ctrl-C; a checkpoint has been written.
    """
    config = settings(*overrides, **values)

    from vdqn_runner.run import execute

    episodes = load_runs(execute(config))
    return episodes[episodes["seed"].isin(config.seeds)].reset_index(drop=True)


def load_runs(
    paths: str | Path | Iterable[str | Path] = "runs", table: Table = "episodes"
) -> pd.DataFrame:
    """Return what all runs at or below the paths have logged, finished or not, packed or not.

    Args:
        paths: A folder, or several.
        table: Which log: ``episodes``, ``updates`` or ``evaluations``.

    Returns:
        The log's columns (docs/reading-results.md), then ``algo``, ``env``, ``n`` (NA unless
        a chain), ``run`` (the run's folder) and ``label``: the algorithm, and the settings in
        which its runs of one environment differ.

    Raises:
        ConfigError: No such table, or no run there.
        RunError: A run's files cannot be understood.
    """
    import pandas as pd

    from vdqn_runner.analysis import load
    from vdqn_runner.analysis.labels import labels

    readers = {
        "episodes": load.load_episodes,
        "updates": load.load_updates,
        "evaluations": load.load_evaluations,
    }
    if table not in readers:
        raise ConfigError(f"table={table!r}: must be one of {', '.join(readers)}")
    runs = load.find_runs([paths] if isinstance(paths, str | Path) else paths)
    frames = [
        readers[table](run).assign(run=str(run.path), label=label)
        for run, label in zip(runs, labels(runs), strict=True)
    ]
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled or frames[:1], ignore_index=True)


def _written(value: Any) -> str:
    """Return a value as it is written in an override."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, str):
        return quoted(value)
    return repr(value)
