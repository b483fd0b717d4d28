"""The learned policy without exploration, where it was evaluated; no verdict rests on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vdqn_runner.analysis.claims.interval import mean_interval
from vdqn_runner.analysis.claims.result import Supplement
from vdqn_runner.analysis.labels import algo_name
from vdqn_runner.analysis.load import Run
from vdqn_runner.errors import RunError

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("seed", "episode", "policy", "return")


def greedy_return(run: Run, episodes: int, rng: np.random.Generator) -> Supplement | None:
    """Mean return of the greedy policy (VDQN, NoisyNet: of the mean weights) late in training.

    Of each seed the last evaluation within the given number of episodes counts, averaged over its
    trials. None where fewer than two seeds were evaluated.

    Raises:
        RunError: evaluations.csv is no such table.
    """
    import pandas as pd

    files = [folder / "evaluations.csv" for folder in run.seeds.values()]
    files += [run.path / "evaluations.csv.xz"]
    tables = [_read(file) for file in dict.fromkeys(files) if file.is_file()]
    if not tables:
        return None
    table = pd.concat(tables, ignore_index=True)
    table = table[(table["policy"] == "mean") & (table["episode"] <= episodes)]
    last = table[table["episode"] == table.groupby("seed")["episode"].transform("max")]
    values = last.groupby("seed")["return"].mean().sort_index()
    if len(values) < 2:
        return None
    array = values.to_numpy(dtype=np.float64)
    low, high = mean_interval(array, rng)
    earliest, latest = int(last["episode"].min()), int(last["episode"].max())
    after = f"{latest}" if earliest == latest else f"{earliest} to {latest}"
    place = f"N = {run.n}" if run.n is not None else run.env
    name = f"{place}, {algo_name(run.algo)}: greedy return after {after} episodes"
    return Supplement(name, float(array.mean()), low, high, tuple(map(int, values.index)))


def _read(file: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        table = pd.read_csv(file)
        missing = [column for column in _COLUMNS if column not in table]
        if missing:
            raise ValueError(f"has no column {', '.join(missing)}")
        return table.astype({"seed": "int64", "episode": "int64", "return": "float64"})
    except (ValueError, OSError) as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise RunError(f"{file}: is no table of evaluations: {line}") from error
