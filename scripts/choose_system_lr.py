"""Which of the paper's two learning rates does each system take on chains and on deep seas?

Reads the tuning runs, applies the rule of `vdqn_runner.analysis.compare.rates`, and writes the
table that `experiment=deep_exploration` reads:

    vdqn-run experiment=lr_systems
    python scripts/choose_system_lr.py runs/lr_systems
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vdqn_runner.analysis.compare.rates import mean_returns, table_text
from vdqn_runner.analysis.load import find_runs
from vdqn_runner.errors import ConfigError, RunError

ROOT = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Choose the learning rates of the systems.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help="the tuning runs")
    parser.add_argument("--table", type=Path, default=ROOT / "conf" / "system_lr.yaml")
    arguments = parser.parse_args(argv)
    try:
        text = table_text(mean_returns(find_runs(arguments.runs)))
    except (ConfigError, RunError) as error:
        print(f"choose_system_lr: {error}", file=sys.stderr)
        return 2 if isinstance(error, ConfigError) else 1
    arguments.table.write_text(text, encoding="utf-8")
    print(arguments.table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
