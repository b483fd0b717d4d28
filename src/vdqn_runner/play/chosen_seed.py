"""Which seed of which run a command here is about."""

from __future__ import annotations

import argparse
from pathlib import Path

from vdqn_runner.analysis.load import find_run
from vdqn_runner.console import parser_of
from vdqn_runner.errors import ConfigError


def parser_of_seed(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of a command that takes ``run`` and ``seed``."""
    parser = parser_of(command, description)
    parser.add_argument(
        "run", type=Path, metavar="RUN", help="a run's folder or one above it, or one seed's"
    )
    parser.add_argument("--seed", type=int, metavar="K", help="which seed (default: the first)")
    return parser


def seed_folder(run: Path, seed: int | None) -> Path:
    """Return the folder of a seed of the one run at or below ``run``, or that seed's itself.

    Raises:
        ConfigError: There is none, or there are several runs.
        RunError: The run's settings cannot be understood.
    """
    if run.name.startswith("seed-") and seed is None:
        return run
    found = find_run(run)
    if found.packed:
        raise ConfigError(f"{found.path}: is packed, which leaves policies behind")
    if seed is not None and seed not in found.seeds:
        numbers = list(found.seeds)
        shown = ", ".join(map(str, numbers[:20])) + (", ..." if len(numbers) > 20 else "")
        raise ConfigError(f"--seed {seed}: the run has {shown}")
    return found.seeds[min(found.seeds) if seed is None else seed]
