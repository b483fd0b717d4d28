"""Does what a trained agent believes of a chain depend on the state at all?

On a chain, going right everywhere is optimal, so a network may learn it without looking at its
input. For each finished seed: in which share of the states 2 .. N-1 the mean Q-values are the
same, the mean Q of going right in the first state, and the seed's return at the end.

    python scripts/state_dependence.py runs/paper -o results/state_dependence.csv
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.answer import answer, parser_of_runs
from vdqn_runner.analysis.load import Run, find_runs, load_episodes
from vdqn_runner.analysis.tables import csv_bytes
from vdqn_runner.play.agent import read_agent
from vdqn_runner.play.q_posterior import belief, share_of_equal_states
from vdqn_runner.runs.atomic import write_atomic
from vdqn_runner.runs.folder import POLICY

COLUMNS = ("env", "algo", "seed", "equal_states", "q_right_in_2", "return_last_100")
SAMPLES = 500
LAST = 100


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of_runs("state_dependence", "Measure how far Q depends on a chain's state.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", required=True)
    arguments = parser.parse_args(argv)
    return answer("state_dependence", lambda: study(arguments.runs, arguments.output))


def study(paths: Sequence[Path], output: Path) -> Iterator[str]:
    """Write a row for each finished seed of a chain; yield a line for each run."""
    runs = [run for run in find_runs(paths) if run.n is not None and not run.packed]
    rows = [row for run in runs for row in measured(run)]
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(output, [csv_bytes([COLUMNS, *rows])])
    for env, algo in dict.fromkeys((row[0], row[1]) for row in rows):
        shares = [float(row[3]) for row in rows if row[:2] == (env, algo)]
        most = sum(share > 0.8 for share in shares)
        yield f"{env:>10} {algo:>9}: Q the same in over 80 % of states in {most} of {len(shares)}"


def measured(run: Run) -> Iterator[tuple[str, str, int, str, str, str]]:
    """Yield a row for each finished seed of a chain run."""
    assert run.n is not None
    episodes = load_episodes(run)
    for seed, folder in run.seeds.items():
        if not (folder / POLICY).exists():
            continue
        found = belief(read_agent(folder), run.n, SAMPLES)
        share, q = share_of_equal_states(found), found.mean[1, 1]
        last = episodes[episodes["seed"] == seed]["return"].tail(LAST).mean()
        yield run.env, run.algo, seed, f"{share:.4f}", f"{q:.3f}", f"{last:.4f}"


if __name__ == "__main__":
    sys.exit(main())
