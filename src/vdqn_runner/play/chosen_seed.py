"""Which seed of which run a command here is about."""

from __future__ import annotations

import argparse
from pathlib import Path

from vdqn_runner.errors import ConfigError


def parser_of_seed(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of a command that takes ``run`` and ``seed``."""
    parser = argparse.ArgumentParser(prog=command, description=description)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder, or one seed's")
    parser.add_argument("--seed", type=int, metavar="K", help="which seed (default: the first)")
    return parser


def seed_folder(run: Path, seed: int | None) -> Path:
    """Return the folder of a seed of a run.

    Raises:
        ConfigError: There is none.
    """
    if run.name.startswith("seed-") and seed is None:
        return run
    numbers = sorted(
        int(number)
        for folder in run.glob("seed-*")
        if (number := folder.name.removeprefix("seed-")).isdecimal()
    )
    if not numbers:
        packed = (
            "; it is packed, which leaves policies behind" if (run / "seeds.csv").exists() else ""
        )
        raise ConfigError(f"{run}: is no folder of a run with seed-* folders{packed}")
    if seed is not None and seed not in numbers:
        shown = ", ".join(map(str, numbers[:20])) + (", ..." if len(numbers) > 20 else "")
        raise ConfigError(f"--seed {seed}: the run has {shown}")
    return run / f"seed-{numbers[0] if seed is None else seed:05d}"
