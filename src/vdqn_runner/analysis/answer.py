"""How the commands of this room end: what they print and which exit code they give."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from vdqn_runner.console import unread
from vdqn_runner.errors import ConfigError, RunError


def answer(command: str, work: Callable[[], Iterable[object]]) -> int:
    """Print what ``work`` yields, a line each; return the exit code.

    0; 2 where the request cannot be met as it is (ConfigError); 1 where runs cannot be read or
    files not be written (RunError, OSError). What went wrong is one line on standard error.
    """
    try:
        for item in work():
            print(item)
    except ConfigError as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 2
    except (RunError, OSError) as error:
        if unread(error):
            raise
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    return 0


def output_folder(folder: Path) -> Path:
    """Return the folder that ``--output`` names, made if it is not there.

    Raises:
        ConfigError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--output {folder}: cannot be made: {error.strerror}") from error
    return folder


def parser_of_runs(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of a command that takes run folders, as its argument ``runs``."""
    parser = argparse.ArgumentParser(prog=command, description=description)
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUNS", help="folders at or below which runs lie"
    )
    return parser
