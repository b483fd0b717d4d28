"""The command `vdqn-runs`: which runs there are and how far, and what is to become of them."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from vdqn_runner.analysis.answer import answer
from vdqn_runner.console import console, parser_of

_INTERRUPTED = 128


@console("vdqn-runs")
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code.

    0; 1 for runs that cannot be read or finished; 2 for a bad request; 130 and 143 after a signal.
    """
    arguments = _parser().parse_args(argv)
    from vdqn_runner.runs.interrupt import Interrupted

    try:
        return answer("vdqn-runs", lambda: _work(arguments))
    except Interrupted as stop:
        print(f"vdqn-runs: {stop}", file=sys.stderr)
        return _INTERRUPTED + stop.signal
    except KeyboardInterrupt:
        print("vdqn-runs: interrupted", file=sys.stderr)
        return _INTERRUPTED + signal.SIGINT


def _work(arguments: argparse.Namespace) -> Iterable[str]:
    match arguments.command:
        case "ls":
            from vdqn_runner.manage.show import listing

            return listing(arguments.runs)
        case "show":
            from vdqn_runner.manage.show import details

            return details(arguments.run)
        case "diff":
            from vdqn_runner.manage.show import differences

            return differences(arguments.first, arguments.second)
        case "resume":
            from vdqn_runner.manage.resume import resume

            return resume(arguments.runs, arguments.workers, arguments.quiet)
        case "track":
            from vdqn_runner.manage.track import track

            return track(arguments.items)
        case _:
            from vdqn_runner.manage.clean import CLEARED, clean

            return clean(arguments.runs, arguments.state or CLEARED, arguments.yes)


def _workers(text: str) -> str:
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}: must be auto or a whole number from 1 up")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(
        "vdqn-runs", "List, look at, finish, send on and clear away runs that are there."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help, description=help)

    def add_runs(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "runs", nargs="*", type=Path, default=[Path("runs")], metavar="RUNS",
            help="folders at or below which runs lie (default: runs)",
        )  # fmt: skip

    add_runs(add("ls", "a table of runs: state, progress, return of the last 100 episodes"))
    show = add("show", "one run: its settings, its seeds, what failed")
    show.add_argument("run", type=Path, metavar="RUN")
    diff = add("diff", "the settings in which two runs differ")
    diff.add_argument("first", type=Path, metavar="RUN")
    diff.add_argument("second", type=Path, metavar="OTHER")
    resume = add("resume", "train what is left of all seeds that have folders")
    add_runs(resume)
    resume.add_argument("--workers", type=_workers, default="auto", help="as for vdqn-run")
    resume.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    track = add("track", "send runs to a tracker: tracker=tensorboard, mlflow or wandb")
    track.add_argument(
        "items", nargs="+", metavar="RUNS... tracker=TRACKER",
        help="folders at or below which runs lie (default: runs), and the tracker with its keys "
        "as for vdqn-run, like tracker=mlflow tracker.uri=sqlite:///all.db",
    )  # fmt: skip
    clean = add("clean", "remove the seeds that are not done and not in training")
    add_runs(clean)
    clean.add_argument(
        "--state", action="append", metavar="STATE",
        help="only those in this state: stopped, 'broken off', planned, failed or unknown; "
        "may be given several times",
    )  # fmt: skip
    clean.add_argument("--yes", action="store_true", help="remove them; otherwise only list them")
    return parser


if __name__ == "__main__":
    sys.exit(main())
