"""Versions and commits, against git itself."""

import datetime
import subprocess
import sys

import pytest

from vdqn_runner.runs.provenance import commit, utc_now, versions


@pytest.fixture
def checkout(tmp_path):
    """A repository with one commit and a function that runs git in it."""

    def git(*arguments: str) -> str:
        settings = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        done = subprocess.run(
            ["git", *settings, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "code.py").write_text("1\n")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    return tmp_path, git


def test_versions_are_those_that_run():
    import gymnasium
    import numpy
    import torch

    found = versions()
    assert list(found) == ["python", "vdqn-runner", "torch", "numpy", "gymnasium"]
    assert found["python"] == sys.version.split()[0]
    assert found["numpy"] == numpy.__version__
    assert found["gymnasium"] == gymnasium.__version__
    assert found["torch"].split("+")[0] == torch.__version__.split("+")[0]


def test_asking_for_versions_imports_nothing_heavy():
    code = (
        "import sys; from vdqn_runner.runs.provenance import versions; "
        "from vdqn_runner.runs import status, folder, lock, csvlog; versions(); "
        "print({'torch', 'numpy', 'gymnasium', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_clean_and_a_changed_checkout(checkout, monkeypatch):
    folder, git = checkout
    source = folder / "package" / "code.py"
    head = git("rev-parse", "HEAD")
    assert commit(source) == head
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as inside a hook of another repository
    assert commit(source) == head
    monkeypatch.delenv("GIT_DIR")
    (folder / "notes.txt").write_text("not tracked")
    assert commit(source) == head
    source.write_text("2\n")
    assert commit(source) == head + "+dirty"


def test_a_package_inside_somebody_elses_checkout_has_no_commit(checkout):
    folder, _ = checkout
    installed = folder / ".venv" / "code.py"
    installed.parent.mkdir()
    installed.write_text("1\n")
    assert commit(installed) is None


def test_no_repository_and_no_git(tmp_path, monkeypatch, checkout):
    folder, _ = checkout
    assert commit(tmp_path / "none" / "code.py") is None
    monkeypatch.setenv("PATH", "")
    assert commit(folder / "package" / "code.py") is None


def test_the_time_is_utc():
    moment = datetime.datetime.fromisoformat(utc_now())
    assert moment.utcoffset() == datetime.timedelta(0)
    assert abs(moment.timestamp() - datetime.datetime.now().timestamp()) < 60
