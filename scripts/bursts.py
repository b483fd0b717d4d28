"""Do an agent's failures on a chain come one by one, or in bursts?

An episode fails if its return is below 1, so that state N was never left with its reward. One by
one is what a policy sampled anew at each step would do; a burst says that Q itself is wrong for a
while. Episodes from 1000 on are counted.

    python scripts/bursts.py results/runs/paper -o results/bursts.csv
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from vdqn_runner.analysis.answer import answer, parser_of_runs
from vdqn_runner.analysis.load import Run, find_runs, load_episodes
from vdqn_runner.analysis.tables import csv_bytes
from vdqn_runner.runs.atomic import write_atomic

COLUMNS = ("env", "algo", "episodes", "failures", "bursts", "mean_length", "longest", "at_optimum")
FIRST = 1000


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of_runs("bursts", "Measure how failures on chains are spread.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", required=True)
    arguments = parser.parse_args(argv)
    return answer("bursts", lambda: study(arguments.runs, arguments.output))


def study(paths: Sequence[Path], output: Path) -> Iterable[str]:
    """Write a row for each run of a chain."""
    rows = [measured(run) for run in find_runs(paths) if run.n is not None]
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(output, [csv_bytes([COLUMNS, *rows])])
    return []


def measured(run: Run) -> tuple[object, ...]:
    """Return the row of a run, over all its seeds."""
    episodes = load_episodes(run)
    episodes = episodes[episodes["episode"] >= FIRST]
    returns = [group["return"].to_numpy() for _, group in episodes.groupby("seed")]
    bursts = [length for row in returns for length in lengths(row < 1.0)]
    count = sum(len(row) for row in returns)
    best = sum(int((row > 10.99).sum()) for row in returns)
    mean = sum(bursts) / len(bursts) if bursts else 0.0
    longest = max(bursts, default=0)
    share = f"{best / count:.4f}" if count else ""
    return run.env, run.algo, count, sum(bursts), len(bursts), f"{mean:.2f}", longest, share


def lengths(failed: np.ndarray) -> list[int]:
    """Return how long each run of consecutive failures is, bool [E]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], failed.astype(int), [0]])))
    return [int(length) for length in edges[1::2] - edges[::2]]


if __name__ == "__main__":
    sys.exit(main())
