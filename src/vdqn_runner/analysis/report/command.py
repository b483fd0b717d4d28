"""The command `vdqn-report`: one HTML file that shows runs, for a reader without this package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import util
from pathlib import Path

from vdqn_runner.analysis.answer import answer, output_file, parser_of_runs
from vdqn_runner.analysis.load import find_runs
from vdqn_runner.console import console
from vdqn_runner.errors import ConfigError


@console("vdqn-report")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request."""
    arguments = _parser().parse_args(argv)
    return answer("vdqn-report", lambda: [report(arguments.runs, arguments.output)])


def report(paths: Sequence[Path], output: Path) -> Path:
    """Write the report of all runs at or below the paths; equal runs give equal bytes.

    Unfinished runs are shown as far as they are.

    Args:
        paths: folders.
        output: the file; its folder is made if it is not there.

    Raises:
        ConfigError: plotly is not installed, no runs, or no place to write to.
        RunError: a run folder that cannot be read, or the file cannot be written.
    """
    if util.find_spec("plotly") is None:
        raise ConfigError("needs plotly, which is not there: pip install 'vdqn-runner[report]'")
    # Before the slow imports, so that a wrong path is told at once.
    runs = find_runs(paths)
    output_file(output)

    from vdqn_runner.analysis.report.compose import compose
    from vdqn_runner.runs.atomic import write_atomic

    content = compose(runs, _warn).encode("utf-8", "backslashreplace")
    write_atomic(output, [content])
    return output


def _warn(note: str) -> None:
    print(f"vdqn-report: note: {note}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_runs(
        "vdqn-report",
        "One HTML file, which needs no network, with the claims, curves, settings and "
        "origins of runs.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("report.html"), metavar="FILE",
        help="the file to write (default: report.html)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
