"""The command `vdqn-claims`: which of the paper's claims the runs called `paper` reproduce."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.answer import answer, output_folder, parser_of_runs
from vdqn_runner.console import console
from vdqn_runner.errors import ConfigError

# The same runs give the same intervals.
_BOOTSTRAP_SEED = 0
_SEEDS = 10


@console("vdqn-claims")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request.

    A claim that is not reproduced is an answer, not a failure.
    """
    arguments = _parser().parse_args(argv)
    return answer("vdqn-claims", lambda: claims(arguments.runs, arguments.output, arguments.seeds))


def claims(
    paths: Sequence[Path], output: Path | None, n_seeds: int = _SEEDS
) -> Iterator[str | Path]:
    """Yield the verdicts over all paper runs at or below the paths, line by line, and the files.

    Args:
        paths: folders.
        output: folder for `claims.csv` and `claims.md`, made if it is not there; None writes none.
        n_seeds: fewest seeds that a run must have to be used.

    Raises:
        ConfigError: no run called `paper`, two configs for the same place, or nowhere to write to.
        RunError: a run folder that cannot be read, or a file that cannot be written.
    """
    from vdqn_runner.analysis.load import find_runs

    if n_seeds < 2:
        raise ConfigError(f"--seeds {n_seeds}: must be at least 2, for an interval over seeds")
    runs = find_runs(paths)  # before the slow imports, so that a wrong path is told at once

    import numpy as np

    from vdqn_runner.analysis.claims.check import check_claims
    from vdqn_runner.analysis.claims.evidence import NAME, paper_runs
    from vdqn_runner.analysis.claims.files import as_csv, as_markdown
    from vdqn_runner.analysis.claims.table import table
    from vdqn_runner.runs.atomic import write_atomic

    if not paper_runs(runs):
        shown = ", ".join(map(str, paths))
        names = ", ".join(sorted({run.name for run in runs} - {""})) or "no name"
        raise ConfigError(
            f"{shown}: no run named {NAME} (runs/{NAME}/<env>/<algo>/<hash>), only {names}"
        )
    if output is not None:
        output_folder(output)
    results = check_claims(runs, np.random.default_rng(_BOOTSTRAP_SEED), n_seeds)
    yield from table(results)
    if output is not None:
        for name, content in (("claims.csv", as_csv(results)), ("claims.md", as_markdown(results))):
            write_atomic(output / name, [content])
            yield output / name


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_runs(
        "vdqn-claims",
        "Check the paper's twelve claims against the runs named `paper`, each with a "
        "statistic, a threshold fixed in advance, a 95 % bootstrap interval and a verdict.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR",
        help="also write claims.csv (one row a part) and claims.md there",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", type=int, default=_SEEDS, metavar="N",
        help=f"fewest seeds a run must have for a claim to be tested (default: {_SEEDS})",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
