"""The command `vdqn-pack`: copies runs into the packed form, to keep and to share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from vdqn_runner.analysis.answer import answer, parser_of_runs
from vdqn_runner.analysis.load import (
    TABLES,
    Run,
    find_runs,
    load_episodes,
    load_evaluations,
    load_status,
    load_updates,
    read_table,
    unfinished,
)
from vdqn_runner.analysis.packed import SEEDS, SUFFIX, compress, read_seeds, seeds_table
from vdqn_runner.console import console
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.runs.atomic import cannot_make, write_atomic

_LEVELS = 4  # name, environment, algorithm, hash


@console("vdqn-pack")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 0, 1 for unreadable runs, 2 for a bad request."""
    arguments = _parser().parse_args(argv)
    return answer("vdqn-pack", lambda: pack(arguments.runs, arguments.output))


def pack(paths: Sequence[Path], output: Path) -> Iterator[Path]:
    """Copy all runs at or below the paths in packed form, yielding each new run folder.

    A run keeps its last four folders, `<name>/<env>/<algo>/<hash>`. Equal runs give equal bytes.
    Unfinished runs are copied as far as they are, with a note on stderr. Packed runs may be packed
    again; what lies at the place of a copy is replaced.

    Args:
        paths: folders.
        output: folder for the copies; made if it is not there.

    Raises:
        ConfigError: no runs; two that would have one place, or one whose place is its own.
        RunError: a run that is damaged, a packed run with seeds that its new copy would lack, or a
            place that cannot be written.
    """
    places = _places(find_runs(paths), output)
    for place, run in places.items():
        note = unfinished(run, load_episodes(run)) or _not_done(run)
        if note:
            print(f"vdqn-pack: note: {note}", file=sys.stderr)
        # What cannot be read back must not be packed.
        load_updates(run)
        load_evaluations(run)
        pack_run(run, place)
        yield place


def pack_run(run: Run, place: Path) -> None:
    """Write the packed form of a run into a folder, which is made if it is not there.

    Raises:
        RunError: seeds have different columns, the folder holds seeds that the run has not, or it
            cannot be written.
    """
    tables = {f"{name}{SUFFIX}": read_table(run, name) for name in TABLES}
    files = {name: compress(table) for name, table in tables.items() if table}
    files = {"config.yaml": (run.path / "config.yaml").read_bytes(), **files}
    marker = place / SEEDS
    if marker.exists():
        lost = sorted(set(read_seeds(place)) - set(run.seeds))
        if lost:
            raise RunError(
                f"{place}: holds seed {lost[0]}, which {run.path} does not; remove it to pack anew"
            )
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_make(place, error) from error
    # Until all is written the folder is no packed run, so that no mixture of two is ever read.
    marker.unlink(missing_ok=True)
    for name in tables:
        if name not in files:
            (place / name).unlink(missing_ok=True)
    for name, content in files.items():
        write_atomic(place / name, [content])
    write_atomic(marker, [seeds_table(load_status(run))])


def _parser() -> argparse.ArgumentParser:
    parser = parser_of_runs(
        "vdqn-pack",
        "Copies runs in a form to keep and to share: their logs as compressed tables, "
        "without checkpoints, policies and times. Every command that reads runs reads it.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER",
        help="where the copies go, as <name>/<env>/<algo>/<hash> below it",
    )  # fmt: skip
    return parser


def _places(runs: Sequence[Run], output: Path) -> dict[Path, Run]:
    places: dict[Path, Run] = {}
    for run in runs:
        folders = run.path.resolve().parts[1:]
        place = output.joinpath(*folders[-_LEVELS:])
        if place in places:
            raise ConfigError(f"{run.path} and {places[place].path} would both become {place}")
        if place.resolve() == run.path.resolve():
            raise ConfigError(f"--output {output}: the copy of {run.path} would replace it")
        if any(place.glob("seed-*")):
            raise ConfigError(f"--output {output}: {place} is a run with seed-* folders already")
        places[place] = run
    return places


def _not_done(run: Run) -> str:
    statuses = {seed: status for seed, status in load_status(run).items() if status}
    for seed, status in statuses.items():
        if status.state != "done":
            return f"{run.path} is unfinished: seed {seed} is {status.state}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
