"""Every console command prints what it has to say where only ASCII can be printed."""

import os
import shutil
import subprocess
import sys

import pytest
from processes import SOURCE
from test_unread_output import PROGRAM, ROOT, SCRIPTS

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}
NAME = "ünï"
PACKED = ROOT / "results" / "runs" / "paper" / "chain-5" / "dqn"


def printed(line, folder):
    """The exit code and both streams of a command in a folder."""
    script, *arguments = line.split()
    program = PROGRAM.format(*SCRIPTS[script].split(":"))
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **ASCII},
    )
    return done.returncode, done.stdout.decode("ascii"), done.stderr.decode("ascii")


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_and_names_that_are_not_there(tmp_path, script):
    code, out, err = printed(f"{script} --help", tmp_path)
    assert code == 0 and err == "" and script in out
    arguments = {
        "vdqn-run": f"out={NAME} episodes=0",
        "vdqn-runs": f"ls {NAME}",
        "vdqn-pack": f"{NAME} -o packed",
    }
    code, out, err = printed(f"{script} {arguments.get(script, NAME)}", tmp_path)
    assert (code, out, err.count("\n")) == (2, "", 1), err


@pytest.mark.parametrize("command", ["vdqn-runs ls", "vdqn-runs show", "vdqn-summary", "vdqn-plot"])
def test_names_that_are_there(tmp_path, command):
    run = tmp_path / NAME / "paper" / "chain-5" / "dqn"
    shutil.copytree(PACKED, run)
    code, out, err = printed(f"{command} {NAME}", tmp_path)
    assert (code, err) == (0, "") and out


def test_what_summaries_show_that_is_no_letter(tmp_path):
    """The dash of what is missing."""
    folders = [ROOT / "results" / "runs" / "paper" / one for one in ("chain-5", "CartPole-v0")]
    code, out, err = printed(f"vdqn-summary {folders[0]} {folders[1]}", tmp_path)
    assert (code, err) == (0, "") and "\\u2013" in out
