"""Whole runs with a tracker: same bytes, each row once, and nothing that it does hurts them."""

import os
import signal
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import small
from readers import as_float32, in_tensorboard, logged

import vdqn_runner
from vdqn_runner.analysis.pack import pack
from vdqn_runner.cli import main
from vdqn_runner.config import MLflowTracker, WandbTracker
from vdqn_runner.errors import ConfigError
from vdqn_runner.manage import command
from vdqn_runner.run import execute
from vdqn_runner.trackers import packages, parent

needs_tensorboard = pytest.mark.skipif(
    not packages._installed("tensorboard"), reason="needs tensorboard"
)

SOURCES = [Path(vdqn_runner.__file__).parents[1], Path(__file__).parent]


def check_all_there(folder):
    """Each seed's event file has each row once, in order."""
    seeds = sorted(folder.glob("seed-*"))
    for seed in seeds:
        assert in_tensorboard(seed / "tensorboard") == as_float32(logged(seed))
    return len(seeds)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Without a tracker; on CartPole, seeds end one after the other."""
    return small.run(tmp_path_factory.mktemp("plain"), env=small.CARTPOLE, n_seeds=3)


@needs_tensorboard
def test_a_tracker_changes_no_byte(tmp_path, caplog, plain):
    more = {"env": small.CARTPOLE, "n_seeds": 3, "workers": 2}
    tracked = small.run(tmp_path / "tracked", "tensorboard", **more)
    assert tracked.name == plain.name
    assert (tracked / "config.yaml").read_bytes() == (plain / "config.yaml").read_bytes()
    assert small.logs(tracked) == small.logs(plain)
    assert check_all_there(tracked) == 3
    assert not caplog.records
    # Other commands take a seed's folder as it is.
    assert command.main(["ls", str(tracked)]) == 0
    assert command.main(["clean", str(tracked), "--yes"]) == 0
    packed = [*pack([tracked], tmp_path / "packed")], [*pack([plain], tmp_path / "other")]
    assert [p.name for p in packed[0][0].iterdir()] == [p.name for p in packed[1][0].iterdir()]


@needs_tensorboard
def test_the_same_command_sends_what_is_not_there(tmp_path, caplog, monkeypatch):
    plain = small.run(tmp_path, n_seeds=1)
    assert small.run(tmp_path, "tensorboard") == plain
    assert check_all_there(plain) == 2
    # And where all is there, it does not even start a process.
    monkeypatch.setattr(parent, "Process", None)
    small.run(tmp_path, "tensorboard")
    assert not caplog.records


KILLED = """
import os, signal, sys
from pathlib import Path
import small
from vdqn_runner.run import execute
from vdqn_runner.train import Lockstep

learn, at = Lockstep.learn, int(sys.argv[2])

def dies(self):
    learn(self)
    if self.step == at:
        os.kill(os.getpid(), int(sys.argv[3]))

Lockstep.learn = dies
execute(small.config(Path(sys.argv[1]), "tensorboard", n_seeds=3, env=small.CARTPOLE))
"""


@needs_tensorboard
def test_a_killed_run_that_goes_on_has_each_row_once(tmp_path, plain):
    path = [*map(str, SOURCES), os.environ.get("PYTHONPATH", "")]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
    for at, number in ((120, signal.SIGKILL), (190, signal.SIGTERM)):
        script = [sys.executable, "-c", KILLED, str(tmp_path / "killed"), str(at), str(int(number))]
        done = subprocess.run(script, env=environ, capture_output=True, text=True)
        assert done.returncode == -number or "stopped by SIGTERM" in done.stderr
    folder = small.run(tmp_path / "killed", "tensorboard", env=small.CARTPOLE, n_seeds=3)
    assert small.logs(folder) == small.logs(plain)
    assert check_all_there(folder) == 3


@needs_tensorboard
def test_a_seed_that_cannot_be_sent_does_not_hurt_the_run(tmp_path, caplog):
    folder = small.run(tmp_path, n_seeds=1)
    (small.seed_folder(folder, 0) / "tensorboard").write_text("in the way")
    small.run(tmp_path, "tensorboard")
    (record,) = caplog.records
    told = record.getMessage()
    assert told.startswith(f"tracker=tensorboard: seed 0 of {folder} not sent in full: ")
    assert "tensorboard" in told and "File exists" in told and "\n" not in told
    assert f"vdqn-runs track {folder} tracker=tensorboard" in told
    one = small.seed_folder(folder, 1)
    assert in_tensorboard(one / "tensorboard") == as_float32(logged(one))
    (small.seed_folder(folder, 0) / "tensorboard").unlink()
    small.run(tmp_path, "tensorboard")
    assert check_all_there(folder) == 2


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("#!/bin/sh\necho it went wrong >&2; exit 3\n", "ended with exit code 3 (it went wrong)"),
        ("#!/bin/sh\nkill -9 $$\n", "ended with exit code -9 (nothing said)"),
        ("#!/bin/sh\nexec sleep 100\n", "it gave no sign of life for 0.2 seconds"),
        (None, "cannot be started (No such file or directory)"),
    ],
    ids=["fails", "dies", "hangs", "none"],
)
def test_whatever_becomes_of_its_process(tmp_path, caplog, monkeypatch, plain, program, reason):
    file = tmp_path / "python"
    if program is not None:
        file.write_text(program)
        file.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(file))
    monkeypatch.setattr(parent, "SILENCE", 0.2)
    monkeypatch.setattr("vdqn_runner.prepare.check_tracker", lambda tracker: None)
    folder = small.run(tmp_path / "runs", "tensorboard", env=small.CARTPOLE, n_seeds=3)
    (record,) = caplog.records
    assert record.levelname == "WARNING" and reason in record.getMessage()
    assert "seeds 0, 1, 2 of" in record.getMessage() and "\n" not in record.getMessage()
    assert small.logs(folder) == small.logs(plain)


def test_a_run_that_fails_fails_as_ever(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("vdqn_runner.prepare.check_tracker", lambda tracker: None)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    config = small.config(tmp_path, "tensorboard", algo="dqn")

    def breaks(*_):
        raise ArithmeticError("as it does")

    monkeypatch.setattr("vdqn_runner.train.Lockstep.learn", breaks)
    with pytest.raises(ArithmeticError, match="as it does"):
        execute(config)
    assert not caplog.records  # no row was there to be sent


@pytest.mark.parametrize("kind", ["tensorboard", "mlflow", "wandb"])
def test_a_package_that_is_not_there_is_told_before_anything_is_made(
    tmp_path, monkeypatch, capsys, kind
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    for flags in ([], ["--dry-run"], ["-m", "seed=0,5"]):
        assert main([f"tracker={kind}", "episodes=1", "-q", *flags]) == 2
        err = capsys.readouterr().err
        assert err.startswith(
            f"vdqn-run: error: tracker={kind}: needs {kind}, which is not there: "
        )
        assert f"pip install 'vdqn-runner[{kind}]'" in err and err.count("\n") == 1
    assert [*tmp_path.iterdir()] == []


def test_the_folder_of_a_tracker_is_no_package(monkeypatch):
    monkeypatch.setattr(packages, "find_spec", lambda name: ModuleSpec(name, None))
    with pytest.raises(ConfigError, match="needs wandb"):
        packages.check_tracker(WandbTracker())


def test_a_database_needs_more_than_a_server(monkeypatch):
    only = ModuleSpec("mlflow", None, origin="there")
    monkeypatch.setattr(packages, "find_spec", lambda name: only if name == "mlflow" else None)
    packages.check_tracker(MLflowTracker(uri="http://localhost:5000"))
    for uri in (None, "sqlite:///all.db"):
        with pytest.raises(ConfigError, match=r"needs sqlalchemy.*vdqn-runner\[mlflow\]"):
            packages.check_tracker(MLflowTracker(uri=uri))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tracker=tensorbord", "tracker='tensorbord': must be one of"),
        ("tracker=mlflow tracker.uri=mlruns", "tracker.uri='mlruns': must be a database or server"),
        ("tracker=wandb tracker.mode=ofline", "did you mean offline?"),
        ("tracker=wandb tracker.uri=http://x", "belongs to tracker.kind=mlflow"),
        ("tracker.mode=offline", "belongs to tracker.kind=wandb"),
    ],
)
def test_wrong_requests(tmp_path, monkeypatch, capsys, line, words):
    monkeypatch.chdir(tmp_path)
    assert main([*line.split(), "-q"]) == 2
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1
    assert [*tmp_path.iterdir()] == []
