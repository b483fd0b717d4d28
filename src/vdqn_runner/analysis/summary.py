"""The command `vdqn-summary`: what runs reached, as a table for a README or a paper's appendix."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vdqn_runner.analysis.answer import answer, output_folder, parser_of_runs
from vdqn_runner.analysis.load import Run, find_runs
from vdqn_runner.analysis.tables import csv_bytes
from vdqn_runner.console import console
from vdqn_runner.errors import ConfigError

if TYPE_CHECKING:
    from vdqn_runner.analysis.report.gather import Shown

COLUMNS = ("env", "run", "measure", "estimate", "low", "high", "seeds")
TRAINING, GREEDY = "training", "greedy"
_TITLES = {
    TRAINING: "Return of the last 100 training episodes",
    GREEDY: "Return of the greedy policy at the end (VDQN, NoisyNet: of the mean weights)",
}


@dataclass(frozen=True)
class Entry:
    """One number: the mean over seeds of what one run reached.

    Attributes:
        env: the environment, such as `Chain, N = 50`.
        run: the run's label.
        measure: `training` or `greedy`.
        estimate: the mean over seeds.
        low: lower end of its 95 % bootstrap interval.
        high: upper end.
        seeds: how many seeds there are.
    """

    env: str
    run: str
    measure: str
    estimate: float
    low: float
    high: float
    seeds: int


@console("vdqn-summary")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request."""
    arguments = _parser().parse_args(argv)
    return answer("vdqn-summary", lambda: summary(arguments.runs, arguments.output, arguments.name))


def summary(paths: Sequence[Path], output: Path | None, name: str | None) -> Iterator[str | Path]:
    """Yield the tables in Markdown, line by line, and the files that they are written to.

    Args:
        paths: folders at or below which runs lie.
        output: folder for `summary.md` and `summary.csv`, made if it is not there; None for none.
        name: only runs of this name (`<name>/<env>/<algo>/<hash>`); None for all.

    Raises:
        ConfigError: no such run, or nowhere to write to.
        RunError: a run folder that cannot be read, or a file that cannot be written.
    """
    runs = _named(find_runs(paths), name)
    if output is not None:
        output_folder(output)

    from vdqn_runner.analysis.report.gather import gather
    from vdqn_runner.runs.atomic import write_atomic

    entries = measured(gather(runs))
    lines = list(as_markdown(entries))
    yield from lines
    if output is not None:
        text = "\n".join(lines) + "\n"
        for file, content in (("summary.md", text.encode()), ("summary.csv", as_csv(entries))):
            write_atomic(output / file, [content])
            yield output / file


def measured(runs: Sequence[Shown]) -> list[Entry]:
    """What each run reached; without an entry where it has not come so far."""
    import numpy as np

    from vdqn_runner.analysis.report.numbers import mean_of
    from vdqn_runner.analysis.report.results import at_end, last

    entries = []
    for one in runs:
        found = {TRAINING: last(one.returns.values)}
        if "mean" in one.evaluations:
            found[GREEDY] = at_end(one.evaluations["mean"].values)
        for measure, values in found.items():
            known = values[~np.isnan(values)]
            if len(known):
                entries.append(Entry(one.env, one.label, measure, *mean_of(known), len(known)))
    return entries


def as_markdown(entries: Sequence[Entry]) -> Iterator[str]:
    """A table for each measure: environments down, runs across."""
    from vdqn_runner.analysis.report.numbers import MISSING, with_interval

    runs = list(dict.fromkeys(entry.run for entry in entries))
    for measure, title in _TITLES.items():
        cells = {(e.env, e.run): e for e in entries if e.measure == measure}
        if not cells:
            continue
        counts = sorted({entry.seeds for entry in cells.values()})
        seeds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        yield f"{title}, mean over {seeds} seeds [95 % bootstrap interval]:"
        yield ""
        yield f"| | {' | '.join(runs)} |"
        yield f"| --- |{' --- |' * len(runs)}"
        for env in dict.fromkeys(entry.env for entry in cells.values()):
            row = [cells.get((env, run)) for run in runs]
            texts = [with_interval(e.estimate, e.low, e.high) if e else MISSING for e in row]
            yield f"| {env} | {' | '.join(texts)} |"
        yield ""


def as_csv(entries: Sequence[Entry]) -> bytes:
    """One row a number."""
    return csv_bytes([COLUMNS, *([getattr(e, column) for column in COLUMNS] for e in entries)])


def _named(runs: Sequence[Run], name: str | None) -> list[Run]:
    if name is None:
        return list(runs)

    from vdqn_runner.config.suggest import closest, did_you_mean

    found = [run for run in runs if run.name == name]
    if not found:
        names = sorted({run.name for run in runs})
        hint = did_you_mean(closest(name, names))
        raise ConfigError(f"--name {name}: no such runs, only {', '.join(names)}{hint}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_runs(
        "vdqn-summary",
        "What runs reached at their end: training return and that of the greedy policy, mean over "
        "seeds with a 95 % bootstrap interval, as Markdown.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="also write summary.md and summary.csv"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="only the runs of this name (vdqn-run name=...)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
