"""Folders that are gone, or that nothing can be made in: one line that says which."""

import errno
import os
import subprocess
import sys

import pytest
from processes import SOURCE
from test_unread_output import PROGRAM, ROOT, SCRIPTS

from vdqn_runner.analysis import pack
from vdqn_runner.cli import main
from vdqn_runner.errors import NOWHERE, os_error_line

RUN = str(ROOT / "results" / "runs" / "paper" / "chain-5" / "dqn")
SMALL = ["-q", "env.n=3", "episodes=1", "n_seeds=1", "algo.network.hidden=[4]"]
# A file system in which not even root makes folders.
CLOSED = "/proc"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("vdqn-run n_seeds=1", 2, f"vdqn-run: error: {NOWHERE}\n"),
        ("vdqn-run -m seed=0,1", 2, f"vdqn-run: error: {NOWHERE}\n"),
        (f"vdqn-pack {RUN} -o packed", 1, f"vdqn-pack: {NOWHERE}\n"),
        ("vdqn-runs ls", 2, "vdqn-runs: runs: does not exist\n"),
        ("vdqn-run --version", 0, ""),
        (f"vdqn-runs ls {RUN}", 0, ""),
    ],
)
def test_a_working_folder_that_was_deleted(tmp_path, line, code, words):
    script, *arguments = line.split()
    there = tmp_path / "there"
    there.mkdir()
    program = f"import os; os.chdir({str(there)!r}); os.rmdir({str(there)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", program + PROGRAM.format(*SCRIPTS[script].split(":")), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert (done.returncode, done.stderr) == (code, words)


@pytest.mark.skipif(not os.path.isdir(CLOSED), reason="no such file system here")
@pytest.mark.parametrize("sweep", [[], ["-m", "seed=0,1"]])
def test_results_where_no_folder_can_be_made(empty, capsys, sweep):
    assert main([*sweep, *SMALL, f"out={CLOSED}/x"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"vdqn-run: error: {CLOSED}/x/")
    assert line.endswith(f" cannot be made: {CLOSED} takes no folders; choose another")


@pytest.mark.skipif(not os.path.isdir(CLOSED), reason="no such file system here")
def test_packed_runs_where_nothing_can_be_written(tmp_path, capsys, monkeypatch):
    assert pack.main([RUN, "-o", f"{CLOSED}/x"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"vdqn-pack: {CLOSED}/x/")
    assert line.endswith(f" cannot be made: {CLOSED} takes no folders; choose another")

    def read_only(path, *arguments, **keywords):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr("pathlib.Path.mkdir", read_only)
    assert pack.main([RUN, "-o", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"vdqn-pack: {tmp_path}/") and " cannot be written: Read-only" in line
    assert line.endswith("; make it writable or choose another folder")


def test_what_the_system_says_names_its_file():
    assert os_error_line(OSError(30, "Read-only file system", "/x/y")) == (
        "/x/y: Read-only file system"
    )
    assert os_error_line(OSError(5, "Input/output error")) == "[Errno 5] Input/output error"
