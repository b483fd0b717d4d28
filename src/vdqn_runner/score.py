"""One number for a run, which Hydra's optimising sweepers (Optuna, say) try to make large."""

import csv
from collections.abc import Iterable
from pathlib import Path

from vdqn_runner.runs.folder import EPISODES, seed_path


def score(run: Path, seeds: Iterable[int]) -> float:
    """Return the mean return of all training episodes of these seeds, which are done.

    It is the area under the training curve: large for settings that learn early and keep it. The
    rule for the paper's learning rates rests on the same number.
    """
    total, count = 0.0, 0
    for seed in seeds:
        with (seed_path(run, seed) / EPISODES).open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                total, count = total + float(row["return"]), count + 1
    return total / count
