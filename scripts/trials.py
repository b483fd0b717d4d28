"""What did the search for VDQN's lambda and learning rate try, and what did each trial score?

The score is the mean return over all training episodes, which experiment=optuna_chain maximises.
The best of many trials owes some of its score to luck, so it is trained again with other seeds,
beside the paper's settings:

    python scripts/trials.py results/runs/optuna results/runs/optuna_check -o results/optuna
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from vdqn_runner.analysis import style
from vdqn_runner.analysis.answer import answer, output_folder
from vdqn_runner.analysis.load import find_runs, load_episodes
from vdqn_runner.analysis.paper.entropy_weight import constant_lambda
from vdqn_runner.analysis.paper.learning_rates import constant_rate
from vdqn_runner.analysis.paper.measures import areas, interval
from vdqn_runner.analysis.stats import Floats
from vdqn_runner.analysis.tables import csv_bytes
from vdqn_runner.errors import ConfigError
from vdqn_runner.runs.atomic import write_atomic

BEST = 5
COLUMNS = ("run", "lam", "lr", "n_seeds", "score", "low", "high")


@dataclass(frozen=True)
class Trial:
    """A run's lambda, rate and scores of its seeds, [S]."""

    name: str
    lam: float
    lr: float
    scores: Floats

    @property
    def score(self) -> float:
        """The mean over seeds: what the search was told."""
        return float(self.scores.mean())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="trials", description="List the trials of a search.")
    parser.add_argument("runs", type=Path, metavar="RUNS", help="the trials")
    parser.add_argument("again", type=Path, metavar="AGAIN", help="runs with seeds of their own")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", required=True)
    arguments = parser.parse_args(argv)
    return answer("trials", lambda: report(arguments.runs, arguments.again, arguments.output))


def report(runs: Path, again: Path, output: Path) -> Iterable[str]:
    """Write all trials as `trials.csv` and a picture of them; yield two tables in Markdown."""
    found, checked = trials(runs), trials(again)
    output_folder(output)
    rows = [
        (
            t.name,
            f"{t.lam:g}",
            f"{t.lr:g}",
            len(t.scores),
            *(f"{x:.4f}" for x in interval(t.scores)),
        )
        for t in found
    ]
    write_atomic(output / "trials.csv", [csv_bytes([COLUMNS, *rows])])
    figure = trials_figure(found)
    for suffix in ("png", "pdf"):
        style.save(figure, output / f"trials.{suffix}")
    yield from table(f"the best {BEST} of {len(found)} trials", found[:BEST])
    yield ""
    yield from table("other seeds", checked)


def trials(folder: Path) -> list[Trial]:
    """The finished runs at or below a folder, the best score first.

    Raises:
        ConfigError: There is none, or one has no constant lambda.
    """
    found = []
    for run in find_runs([folder]):
        lam = constant_lambda(run)
        if lam is None:
            raise ConfigError(f"{run.path}: has no constant lambda")
        scores = areas(run, load_episodes(run))
        if len(scores):
            found.append(Trial(run.path.name, lam, constant_rate(run), scores))
    if not found:
        raise ConfigError(f"{folder}: no seed is finished")
    return sorted(found, key=lambda trial: -trial.score)


def table(title: str, rows: Sequence[Trial]) -> Iterable[str]:
    """Lambda, rate, and the mean score with its interval over seeds."""
    yield f"| {title} | $\\lambda$ | rate | score |"
    yield "| --- | --- | --- | --- |"
    for i, trial in enumerate(rows, start=1):
        middle, low, high = interval(trial.scores)
        score = f"{middle:.2f} [{low:.2f}, {high:.2f}], {len(trial.scores)} seeds"
        yield f"| {i} | {trial.lam:.3g} | {trial.lr:.2g} | {score} |"


def trials_figure(found: Sequence[Trial]) -> Figure:
    """A point for each trial, at its lambda and rate, in the colour of its score."""
    with style.look():
        figure, (ax,) = style.grid(
            [(0, 0)], 2.4, "Learning rate", "Weight of the entropy $\\lambda$"
        )
        # The worst first, so that it hides none of the better.
        shown = found[::-1]
        points = ax.scatter(
            [t.lam for t in shown], [t.lr for t in shown], c=[t.score for t in shown], s=26,
            cmap="viridis", norm=Normalize(0, max(t.score for t in shown)), linewidths=0,
        )  # fmt: skip
        ax.plot(
            [found[0].lam], [found[0].lr], "o", markersize=8, markerfacecolor="none", color="0.2"
        )
        ax.set_xscale("log")
        ax.set_yscale("log")
        figure.colorbar(points, ax=ax, label="Mean return, all episodes")
    return figure


if __name__ == "__main__":
    sys.exit(main())
