"""What all console commands share: they print everywhere, and end well where that cannot be."""

import argparse
import io
import logging
import os
import select
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

UNREAD = 141
"""The exit code of a command whose reader went away (``| head -1``) before it had printed all.

It is 128 + SIGPIPE, what a shell sees of ``ls`` then. Python ignores the signal itself, and that
stays so, since it would also end a training whose connection to a tracker breaks.
"""

_FAILED = 1

_Arguments = ParamSpec("_Arguments")


def console(
    command: str,
) -> Callable[[Callable[_Arguments, int]], Callable[_Arguments, int]]:
    """Return a decorator for the entry point of ``command``, which returns the exit code.

    If the reader of standard output has gone, the command ends without a word, with ``UNREAD``; if
    standard output cannot be written for another reason, with one line and 1. A worse exit code of
    its own stays. Characters that cannot be printed are told by their numbers.
    """

    def decorate(main: Callable[_Arguments, int]) -> Callable[_Arguments, int]:
        @wraps(main)
        def entry(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> int:
            _print_every_character()
            logs_complain = logging.raiseExceptions
            # Some of what Hydra prints is log records, of which each would be told in many lines.
            logging.raiseExceptions = False
            try:
                code = main(*args, **kwargs)
            except SystemExit as end:  # argparse, after help and wrong arguments
                undelivered = _deliver(command)
                raise SystemExit(end.code or undelivered) from None
            except BrokenPipeError as error:
                if not unread(error):
                    raise
                code = UNREAD
            finally:
                logging.raiseExceptions = logs_complain
            undelivered = _deliver(command)
            return code or undelivered

        return entry

    return decorate


def parser_of(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of the arguments of ``command``, with ``--help`` and ``--version``."""
    parser = argparse.ArgumentParser(prog=command, description=description)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    return parser


def version_line(command: str) -> str:
    """Return what ``--version`` prints."""
    from importlib.metadata import version  # which looks through all that is installed

    return f"{command} {version('vdqn-runner')}"


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Print it and end."""
        print(version_line(parser.prog))
        parser.exit()


def unread(error: BaseException) -> bool:
    """Whether an error came of printing to a reader that has gone, not of some other pipe."""
    if not isinstance(error, BrokenPipeError) or sys.stdout is None:
        return False
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):  # standard output is replaced by something in memory
        return False
    poll = select.poll()
    poll.register(output, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _print_every_character() -> None:
    """Let no character that is printed be an error: names of files may have any."""
    for stream in (sys.stdout, sys.stderr):
        # In a notebook or a test it may be something else, which then takes them all.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _deliver(command: str) -> int:
    """Write out what is still to be printed; return the exit code if that cannot be done, else 0.

    Python would do it after the command, and then complain in several lines.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        gone = unread(error)
        _discard()
        if gone:
            return UNREAD
        print(f"{command}: standard output cannot be written: {error.strerror}", file=sys.stderr)
        return _FAILED
    return 0


def _discard() -> None:
    """Let what is still to be printed go nowhere, so that Python can end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
