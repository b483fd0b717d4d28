"""Which of the paper's two learning rates does each algorithm take in each environment?

Reads the tuning runs, applies the rule of `vdqn_runner.analysis.paper.learning_rates`, and writes
the table that experiments read and the scores behind it:

    vdqn-run experiment=lr_chain && vdqn-run experiment=lr_control
    python scripts/choose_lr.py runs/lr
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from vdqn_runner.analysis.load import find_runs
from vdqn_runner.analysis.paper.learning_rates import choose, scores, table_text
from vdqn_runner.errors import ConfigError, RunError

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Choose the learning rates of the experiments.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help="the tuning runs")
    parser.add_argument("--table", type=Path, default=ROOT / "conf" / "paper_lr.yaml")
    parser.add_argument("--scores", type=Path, default=ROOT / "results" / "learning_rates.csv")
    arguments = parser.parse_args(argv)
    try:
        scored = scores(find_runs(arguments.runs))
    except ConfigError as error:
        print(f"choose_lr: {error}", file=sys.stderr)
        return 2
    except RunError as error:
        print(f"choose_lr: {error}", file=sys.stderr)
        return 1
    choice = choose(scored)
    arguments.table.write_text(table_text(choice, scored), encoding="utf-8")
    arguments.scores.parent.mkdir(parents=True, exist_ok=True)
    with arguments.scores.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["env", "algo", "lr", "mean_return", "chosen"])
        for s in scored:
            writer.writerow(
                [s.env, s.algo, s.lr, s.mean_return, int(choice[s.env][s.algo] == s.lr)]
            )
    for file in (arguments.table, arguments.scores):
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
