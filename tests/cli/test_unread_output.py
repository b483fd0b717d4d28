"""Every console command, when the reader of what it prints has gone or there is no room for it."""

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from processes import SOURCE

from vdqn_runner.console import UNREAD, console

ROOT = Path(__file__).parents[2]
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
# Standard output is a pipe or a file here, so that Python keeps what is printed for later.
BUFFERED = {"PYTHONUNBUFFERED": ""}
PROGRAM = "import sys; from {} import {} as main; sys.exit(main(sys.argv[1:]))"
RUNS = str(ROOT / "results" / "runs")
RUN = str(ROOT / "results" / "runs" / "paper" / "chain-5" / "dqn")

LINES = [
    *(f"{script} --help" for script in SCRIPTS),
    "vdqn-run --version",
    "vdqn-run --cfg all",
    "vdqn-run --info all",
    "vdqn-run --hydra-help",
    "vdqn-run --dry-run",
    f"vdqn-runs ls {RUNS}",
    f"vdqn-runs show {RUN}",
    f"vdqn-runs diff {RUN} {RUN}",
    f"vdqn-runs clean {RUN}",
    f"vdqn-summary {RUN}",
]


def printing_to(place: int, line: str, **environment: str) -> tuple[int, str]:
    """Run a command that prints to a file descriptor; return its exit code and its complaints."""
    script, *arguments = line.split()
    program = PROGRAM.format(*SCRIPTS[script].split(":"))
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        stdout=place,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **BUFFERED, **environment},
    )
    return done.returncode, done.stderr


def pipe_without_reader() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("line", LINES)
def test_a_reader_that_has_gone_is_not_complained_of(line: str, empty: Path) -> None:
    writer = pipe_without_reader()
    try:
        assert printing_to(writer, line) == (UNREAD, "")
    finally:
        os.close(writer)
    assert list(empty.iterdir()) == []


# argparse and logging ignore by themselves that a line could not be printed.
@pytest.mark.parametrize(
    "line", ["vdqn-runs --help", "vdqn-run --info all", f"vdqn-runs ls {RUNS}"]
)
def test_a_reader_that_goes_while_lines_are_printed(line: str, empty: Path) -> None:
    writer = pipe_without_reader()
    try:
        code, complaints = printing_to(writer, line, PYTHONUNBUFFERED="1")
    finally:
        os.close(writer)
    assert code in (0, UNREAD) and complaints == ""


def test_no_room_is_told_in_one_line(empty: Path) -> None:
    with open("/dev/full", "w") as full:
        code, complaints = printing_to(full.fileno(), "vdqn-run --version")
    assert code == 1
    assert complaints == ("vdqn-run: standard output cannot be written: No space left on device\n")


def test_every_command_is_one_of_these() -> None:
    for place in SCRIPTS.values():
        module, _, function = place.partition(":")
        main = getattr(importlib.import_module(module), function)
        assert main.__wrapped__.__module__ == module


def test_another_pipe_that_breaks_is_an_error() -> None:
    @console("vdqn-test")
    def main() -> int:
        writer = pipe_without_reader()
        try:
            os.write(writer, b"to a tracker, say")
        finally:
            os.close(writer)
        return 0

    with pytest.raises(BrokenPipeError):
        main()


def test_a_worse_exit_code_stays() -> None:
    program = (
        "import sys; from vdqn_runner.console import console\n"
        "@console('vdqn-test')\n"
        "def main():\n"
        "    print('one of two runs is done')\n"
        "    return 7\n"
        "sys.exit(main())"
    )
    writer = pipe_without_reader()
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONPATH": str(SOURCE), **BUFFERED},
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (7, b"")
