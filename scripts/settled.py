"""On which chains do seeds settle at the optimum, and does Q depend on the state where they do?

A seed has settled if its last 100 training episodes return at least 95 % of 11 on average, and has
learned nothing if they return less than 1, what a single step in state N pays.

    python scripts/settled.py results/runs/paper results/state_dependence.csv
"""

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vdqn_runner.analysis.answer import answer
from vdqn_runner.analysis.claims.measures import NEAR_BEST
from vdqn_runner.analysis.labels import algo_name
from vdqn_runner.analysis.load import Run, find_runs, load_episodes, load_evaluations

LAST = 100
ALGOS = ("vdqn", "dqn", "noisynet")  # the paper's
NOTHING = 1.0
SAME = 0.8  # of the states, above which Q is said not to depend on the state
LONG = 20  # states of the chains from which on VDQN settles in nearly all seeds


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="settled", description="Count the seeds that settle.")
    parser.add_argument("runs", type=Path, metavar="RUNS", help="folder with the runs of chains")
    parser.add_argument(
        "states", type=Path, metavar="CSV", help="what state_dependence.py made of them"
    )
    arguments = parser.parse_args(argv)
    return answer("settled", lambda: tables(arguments.runs, arguments.states))


def tables(runs: Path, states: Path) -> Iterator[str]:
    """Yield two tables in Markdown, a line each."""
    head = " | ".join(map(algo_name, ALGOS))
    yield "Seeds that settle in training / whose greedy policy returns as much at the end, of all:"
    yield from ("", f"| | {head} |", "| --- | --- | --- | --- |")
    yield from chain_rows(run for run in find_runs([runs]) if run.n is not None)
    yield from ("", "Seeds in which Q is the same in over 80 % of the states, of all such seeds:")
    yield from ("", "| | learned nothing | learned, not settled | settled |")
    yield "| --- | --- | --- | --- |"
    yield from state_rows(read_beliefs(states))


def chain_rows(runs: Iterable[Run]) -> Iterator[str]:
    """Yield a row for each length of chain."""
    cells = {(run.n or 0, run.algo): settled(run) for run in runs}
    for n in sorted({n for n, _ in cells}):
        row = " | ".join(cells.get((n, algo), "–") for algo in ALGOS)
        yield f"| N = {n} | {row} |"


def settled(run: Run) -> str:
    """Return how many seeds settle, in training and by the greedy policy of its end."""
    returns = (
        load_episodes(run).groupby("seed")["return"].apply(lambda all_: all_.tail(LAST).mean())
    )
    trials = load_evaluations(run)
    at_end = trials[(trials["policy"] == "mean") & (trials["episode"] == run.episodes)]
    greedy = at_end.groupby("seed")["return"].mean()
    trained = int((returns >= NEAR_BEST).sum())
    return f"{trained} / {int((greedy >= NEAR_BEST).sum())} of {len(returns)}"


@dataclass(frozen=True)
class Belief:
    """What `state_dependence.csv` says of a seed.

    Attributes:
        algo: the algorithm.
        long: whether the chain has 20 states or more.
        same: whether Q is the same in more than 80 % of the states.
        end: mean return of the last 100 training episodes.
    """

    algo: str
    long: bool
    same: bool
    end: float


def read_beliefs(states: Path) -> list[Belief]:
    """Return all seeds of the table that `state_dependence.py` writes."""
    with states.open(newline="", encoding="utf-8") as stream:
        return [
            Belief(
                row["algo"],
                int(row["env"].rpartition("-")[2]) >= LONG,
                float(row["equal_states"]) > SAME,
                float(row["return_last_100"]),
            )
            for row in csv.DictReader(stream)
        ]


def state_rows(seeds: Sequence[Belief]) -> Iterator[str]:
    """Yield a row for short and for long chains and each algorithm."""
    for words, long in ((f"N < {LONG}", False), (f"N >= {LONG}", True)):
        for algo in ALGOS:
            of = [seed for seed in seeds if (seed.algo, seed.long) == (algo, long)]
            groups = (
                [seed for seed in of if seed.end < NOTHING],
                [seed for seed in of if NOTHING <= seed.end < NEAR_BEST],
                [seed for seed in of if seed.end >= NEAR_BEST],
            )
            yield f"| {algo_name(algo)}, {words} | {' | '.join(map(share, groups))} |"


def share(seeds: Sequence[Belief]) -> str:
    """Return in how many of these seeds Q does not depend on the state."""
    return f"{sum(seed.same for seed in seeds)} of {len(seeds)}" if seeds else "–"


if __name__ == "__main__":
    sys.exit(main())
