"""The command `vdqn-compare`: systems side by side on chains and deep seas of growing size."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.answer import answer, output_folder, parser_of_runs
from vdqn_runner.analysis.load import find_runs
from vdqn_runner.console import console
from vdqn_runner.errors import ConfigError


@console("vdqn-compare")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request."""
    arguments = _parser().parse_args(argv)
    return answer("vdqn-compare", lambda: compare(arguments.runs, arguments.output))


def compare(paths: Sequence[Path], output: Path) -> Iterator[str | Path]:
    """Yield the tables in Markdown, line by line, and the files that were written.

    Args:
        paths: folders at or below which runs lie, one for each system and environment.
        output: folder for `compare.md`, `learning.csv`, `ranking.csv`, `improvement.csv` and a
            figure for each kind of environment; made if it is not there.

    Raises:
        ConfigError: nothing to compare, two runs for one system, or nowhere to write to.
        RunError: a run folder that cannot be read, or a file that cannot be written.
    """
    runs = find_runs(paths)
    output_folder(output)

    from vdqn_runner.analysis import style
    from vdqn_runner.analysis.compare import tables
    from vdqn_runner.analysis.compare.entries import entries
    from vdqn_runner.analysis.compare.figure import comparison_figure
    from vdqn_runner.analysis.tables import csv_bytes
    from vdqn_runner.runs.atomic import write_atomic

    found = entries(runs)
    if not found:
        raise ConfigError(f"{', '.join(map(str, paths))}: no seed is finished yet")
    ranks = tables.rankings(found)
    lines = list(tables.as_markdown(found, ranks))
    yield from lines
    contents = {
        "compare.md": ("\n".join(lines) + "\n").encode(),
        "learning.csv": csv_bytes([tables.LEARNING, *tables.learning_rows(found)]),
        "ranking.csv": csv_bytes([tables.RANKING, *tables.ranking_rows(ranks)]),
        "improvement.csv": csv_bytes([tables.IMPROVEMENT, *tables.improvement_rows(ranks)]),
    }
    for name, content in contents.items():
        write_atomic(output / name, [content])
        yield output / name
    order = tables.ordered(found, ranks)
    for kind in dict.fromkeys(entry.kind for entry in found):
        of_kind = [entry for entry in found if entry.kind == kind]
        figure = comparison_figure(of_kind, order)
        for suffix in ("png", "pdf"):
            style.save(figure, output / f"{kind}.{suffix}")
            yield output / f"{kind}.{suffix}"


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_runs(
        "vdqn-compare",
        "Compare systems (an algorithm with its options) on chains and deep seas: episodes to "
        "learn against size, interquartile mean of the score, probability of improvement.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("figures/compare"), metavar="DIR",
        help="where the files are written (default: figures/compare)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
