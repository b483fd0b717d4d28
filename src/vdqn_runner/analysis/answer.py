"""How the commands of this room end: what they print and which exit code they give."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from vdqn_runner.console import parser_of, unread
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
        ConfigError: It cannot be made, or not be written to.
    """
    _make(folder, f"--output {folder}:")
    return folder


def output_file(file: Path) -> Path:
    """Return the file that ``--output`` names; its folder is made if it is not there.

    Raises:
        ConfigError: It is a folder, or its folder cannot be made, or not be written to.
    """
    if file.is_dir():
        raise ConfigError(f"--output {file}: is a folder; name a file in it")
    _make(file.parent, f"--output {file}: its folder")
    return file


def _make(folder: Path, shown: str) -> None:
    """Make a folder to write to, before the work is done that is to be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{shown} cannot be made: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"{shown} cannot be written to")


def parser_of_runs(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of a command that takes run folders, as its argument ``runs``."""
    parser = parser_of(command, description)
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUNS", help="folders at or below which runs lie"
    )
    return parser
