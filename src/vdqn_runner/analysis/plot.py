"""The command `vdqn-plot`: from run folders to figures and the numbers behind them."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vdqn_runner.analysis.answer import answer, output_folder, parser_of_runs
from vdqn_runner.console import console
from vdqn_runner.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vdqn_runner.analysis.curves import Curve
    from vdqn_runner.analysis.stats import Summary
    from vdqn_runner.analysis.visits import Visits

_FORMATS = ("png", "pdf")
# Every interval is drawn from its own generator with this seed, so that the interval of a run does
# not depend on what else is plotted.
_BOOTSTRAP_SEED = 0


@console("vdqn-plot")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request."""
    arguments = _parser().parse_args(argv)

    def work() -> Iterator[Path]:
        formats = _formats(arguments.format)
        return plot(arguments.runs, arguments.output, formats, arguments.iqm)

    return answer("vdqn-plot", work)


def plot(
    paths: Sequence[Path], output: Path, formats: Sequence[str], use_iqm: bool = False
) -> Iterator[Path]:
    """Write the figures and tables of all runs at or below the paths, yielding each file.

    Args:
        paths: folders.
        output: folder for the files; made if it is not there.
        formats: of `png`, `pdf`.
        use_iqm: training curves show the interquartile mean over seeds in place of the mean.

    Raises:
        ConfigError: no runs, none that has an iteration to show, or no place to write to.
        RunError: a run folder that cannot be read.
    """
    # matplotlib rejects some values of this at import, although only files are drawn here.
    os.environ["MPLBACKEND"] = "agg"
    from vdqn_runner.analysis.load import find_runs, load_episodes, unfinished

    runs = find_runs(paths)  # before the slow imports, so that a wrong path is told at once

    import numpy as np

    from vdqn_runner.analysis.curves import curves_figure, training_curve
    from vdqn_runner.analysis.labels import labels
    from vdqn_runner.analysis.stats import EPISODES_PER_ITERATION, iqm, mean
    from vdqn_runner.analysis.visits import visit_probabilities, visits_figure

    curves, visits = [], []
    for run, label in zip(runs, labels(runs), strict=True):
        episodes = load_episodes(run)
        note = unfinished(run, episodes)
        if note:
            print(f"vdqn-plot: note: {note}", file=sys.stderr)
        if episodes.empty or episodes["episode"].max() < EPISODES_PER_ITERATION - 1:
            continue
        rng = np.random.default_rng(_BOOTSTRAP_SEED)
        curves.append(training_curve(run, label, episodes, iqm if use_iqm else mean, rng))
        if run.n is not None:
            rng = np.random.default_rng(_BOOTSTRAP_SEED)
            visits.append(visit_probabilities(run, label, episodes, rng))
    if not curves:
        shown = ", ".join(map(str, paths))
        raise ConfigError(f"{shown}: no run has an iteration (10 episodes) to show yet")

    name = "iqm" if use_iqm else "mean"
    output_folder(output)
    yield from _write(
        curves_figure(curves, "Return (IQM)" if use_iqm else "Return"),
        output / "training_curves",
        formats,
    )
    yield _write_table(
        output / "curves.csv",
        ["env", "algo", "label", "iteration", "n_seeds", name, "low", "high"],
        _curve_rows(curves),
    )
    if visits:
        yield from _write(visits_figure(visits), output / "visit_probabilities", formats)
        yield _write_table(
            output / "visits.csv",
            ["env", "algo", "label", "state", "iteration", "n_seeds", "mean", "low", "high"],
            _visit_rows(visits),
        )


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_runs(
        "vdqn-plot",
        "Training curves and visit probabilities of runs, with 95 % bootstrap "
        "intervals over seeds, and the plotted numbers as CSV.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("figures"), metavar="FOLDER",
        help="where the files are written (default: figures)",
    )  # fmt: skip
    parser.add_argument(
        "--format", default=",".join(_FORMATS), help="png, pdf or both (default: png,pdf)"
    )
    parser.add_argument(
        "--iqm", action="store_true",
        help="show the interquartile mean of the returns over seeds in place of the mean",
    )  # fmt: skip
    return parser


def _formats(text: str) -> list[str]:
    formats = list(dict.fromkeys(text.split(",")))
    for name in formats:
        if name not in _FORMATS:
            from vdqn_runner.config.suggest import closest, did_you_mean

            hint = did_you_mean(closest(name, _FORMATS))
            raise ConfigError(
                f"--format {text}: {name!r} is not one of {', '.join(_FORMATS)}{hint}"
            )
    return formats


def _write(figure: Figure, stem: Path, formats: Sequence[str]) -> Iterator[Path]:
    from vdqn_runner.analysis.style import save

    for name in formats:
        file = stem.with_name(f"{stem.name}.{name}")
        save(figure, file)
        yield file


def _write_table(file: Path, header: Sequence[str], rows: Iterator[list[Any]]) -> Path:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return file


def _curve_rows(curves: Sequence[Curve]) -> Iterator[list[Any]]:
    for curve in curves:
        for row in _summary_rows(curve.summary):
            yield [curve.run.env, curve.run.algo, curve.label, *row]


def _visit_rows(visits: Sequence[Visits]) -> Iterator[list[Any]]:
    for one in visits:
        for column, summary in one.by_column.items():
            for row in _summary_rows(summary):
                yield [one.run.env, one.run.algo, one.label, one.state(column), *row]


def _summary_rows(summary: Summary) -> Iterator[list[Any]]:
    columns = (summary.n_seeds, summary.center, summary.low, summary.high)
    for iteration, values in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        yield [iteration, *values]


if __name__ == "__main__":
    sys.exit(main())
