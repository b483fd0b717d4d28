"""Which jobs a command line runs, and what happens when some of them fail."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from vdqn_runner import sweep
from vdqn_runner.cli import main
from vdqn_runner.config import RunConfig
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.runs.interrupt import Interrupted

Replace = Callable[[Callable[..., object]], None]


def test_plain_command_runs_the_default_once_and_makes_no_folder(
    empty: Path, trained: list[RunConfig], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 0
    (config,) = trained
    assert (config.env.kind, config.algo.name, config.episodes) == ("chain", "vdqn", 2000)
    assert capsys.readouterr() == ("", "")
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("flag", ["-q", "--quiet", "quiet=true"])
def test_quiet(flag: str, empty: Path, trained: list[RunConfig]) -> None:
    assert main([flag, "seed=3"]) == 0
    assert [(config.quiet, config.seed) for config in trained] == [(True, 3)]


@pytest.mark.parametrize(
    "line",
    [
        "-m algo=vdqn,dqn env.n=5,6",
        "algo=vdqn,dqn -m env.n=5,6",
        "algo=vdqn,dqn env.n=5,6 --multirun",
        "'algo=choice(vdqn,dqn)' 'env.n=range(5,7)' hydra.mode=MULTIRUN",
    ],
)
def test_a_sweep_is_the_product_of_its_values(
    line: str, empty: Path, trained: list[RunConfig]
) -> None:
    assert main(shlex.split(line)) == 0
    got = [(config.algo.name, getattr(config.env, "n", None)) for config in trained]
    assert got == list(product(["vdqn", "dqn"], [5, 6]))


def test_swept_numbers_and_schedules_keep_their_types(
    empty: Path, trained: list[RunConfig]
) -> None:
    assert main(["-m", "algo.lr=1e-3,{kind:linear,start:1.0,end:0.1,duration:5}", "seed=0,1"]) == 0
    assert [config.algo.lr.kind for config in trained] == ["constant"] * 2 + ["linear"] * 2
    assert [config.seed for config in trained] == [0, 1, 0, 1]


def test_experiment_file_brings_its_own_sweep_and_yields_to_the_command(
    empty: Path, trained: list[RunConfig]
) -> None:
    assert main(["experiment=fig5", "algo=dqn,vdqn", "n_seeds=2"]) == 0
    got = [(getattr(config.env, "n", None), config.algo.name) for config in trained]
    assert got == list(product([8, 32, 128], ["dqn", "vdqn"]))
    assert {(config.name, config.n_seeds, config.episodes) for config in trained} == {
        ("paper", 2, 2000)
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "-m env=cartpole_v1,acrobot env.max_episode_steps=50",
            [("CartPole-v1", 50), ("Acrobot-v1", 50)],
        ),
        (
            "env.max_episode_steps=null env.gamma=0.5 'env=choice(acrobot)' hydra.mode=MULTIRUN",
            [("Acrobot-v1", None)],
        ),
        (
            "-m env=gym 'env.id=\"CartPole-v1\"' env.max_episode_steps=5,6",
            [("CartPole-v1", 5), ("CartPole-v1", 6)],
        ),
        (
            "-m env=gym,gym 'env.id=\"CartPole-v1\"' env.max_episode_steps=5",
            None,
        ),
    ],
)
def test_keys_that_only_the_swept_options_have(
    line: str, expected: list[object], empty: Path, trained: list[RunConfig]
) -> None:
    assert main(shlex.split(line)) == (0 if expected else 2)
    got = [(config.env.id, config.env.max_episode_steps) for config in trained]  # type: ignore[union-attr]
    assert got == (expected or [])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("0.1", "constant"),
        ("${env.gamma}", "constant"),
        ("{kind: linear, start: 1.0, end: 0.1, duration: 5}", "linear"),
    ],
)
def test_keys_that_only_the_swept_algorithm_has(
    value: str, kind: str, empty: Path, trained: list[RunConfig]
) -> None:
    (empty / "mine" / "experiment").mkdir(parents=True)
    (empty / "mine" / "experiment" / "two.yaml").write_text(
        "# @package _global_\n"
        "hydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n"
        "      algo: dqn\n      env.n: 5,6\n"
    )
    assert main(["-cd", "mine", "experiment=two", f"algo.epsilon={value}", "episodes=7"]) == 0
    assert [config.algo.epsilon.kind for config in trained] == [kind] * 2  # type: ignore[union-attr]
    assert [(config.env.n, config.episodes) for config in trained] == [(5, 7), (6, 7)]  # type: ignore[union-attr]


def test_sweep_writes_only_to_a_hidden_folder_of_the_results(
    empty: Path, trained: list[RunConfig]
) -> None:
    assert main(["-m", "seed=0,1", 'out="it\'s here"']) == 0
    assert [path.name for path in empty.iterdir()] == ["it's here"]
    assert [path.name for path in (empty / "it's here").iterdir()] == [".sweeps"]
    (sweep,) = (empty / "it's here" / ".sweeps").iterdir()
    assert {path.name for path in sweep.iterdir()} == {
        "multirun.yaml",
        "jobs.json",
        "done-00000.json",
        "done-00001.json",
    }


def test_each_job_reads_once_what_was_planned(
    empty: Path, trained: list[RunConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(folder: Path, job: int) -> sweep.Planned | None:
        read.append(job)
        return planned(folder, job)

    planned = sweep.planned
    monkeypatch.setattr(sweep, "planned", counted)
    assert main(["-m", "seed=0,1,2"]) == 0
    assert read == [0, 1, 2]


def test_conf_folder_where_the_command_runs_is_not_read(
    empty: Path, trained: list[RunConfig]
) -> None:
    (empty / "conf").mkdir()
    (empty / "conf" / "config.yaml").write_text("nonsense: true\n")
    assert main([]) == 0
    assert len(trained) == 1


def test_config_dir_adds_options(empty: Path, trained: list[RunConfig]) -> None:
    (empty / "mine" / "algo").mkdir(parents=True)
    (empty / "mine" / "algo" / "slow.yaml").write_text("name: dqn\nlr: 0.5\n")
    assert main(["-cd", "mine", "algo=slow"]) == 0
    assert [config.algo.lr.value for config in trained] == [0.5]  # type: ignore[union-attr]
    assert main(["-cd", "mine", "algo=slwo"]) == 2


def test_failing_jobs_do_not_stop_a_sweep_and_are_all_listed(
    empty: Path, replace_training: Replace, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[int] = []

    def fail_on_odd(config: RunConfig) -> None:
        ran.append(config.seed)
        if config.seed == 1:
            raise RunError("the disk is full")
        if config.seed == 3:
            raise ZeroDivisionError("by zero")

    replace_training(fail_on_odd)
    assert main(["-m", "seed=0,1,2,3,4"]) == 1
    assert ran == [0, 1, 2, 3, 4]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"  # of the internal error only
    assert lines[-3] == "vdqn-run: error: 2 of 5 jobs failed"
    assert lines[-2].split() == ["seed=1", "the", "disk", "is", "full"]
    assert lines[-1].startswith("  seed=3  internal error")
    records = sorted((empty / "runs" / ".sweeps").glob("*/failed-*.json"))
    assert [json.loads(path.read_text())["overrides"] for path in records] == [
        ["seed=1"],
        ["seed=3"],
    ]


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (RunError("the disk\nis full"), 1, "vdqn-run: error: the disk is full"),
        (ConfigError("device=cuda: no GPU"), 2, "vdqn-run: error: device=cuda: no GPU"),
        (Interrupted(signal.SIGINT), 130, "vdqn-run: error: stopped by SIGINT"),
        (Interrupted(signal.SIGTERM), 143, "vdqn-run: error: stopped by SIGTERM"),
        (KeyboardInterrupt(), 130, "vdqn-run: error: interrupted"),
    ],
    ids=["run", "config", "sigint", "sigterm", "keyboard"],
)
def test_failure_of_a_single_run(
    error: BaseException,
    code: int,
    line: str,
    empty: Path,
    replace_training: Replace,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(config: RunConfig) -> None:
        raise error

    replace_training(fail)
    assert main([]) == code
    (printed,) = capsys.readouterr().err.strip().splitlines()
    assert printed.startswith(line)


def test_internal_error_shows_its_traceback(
    empty: Path, replace_training: Replace, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(config: RunConfig) -> None:
        raise ZeroDivisionError("by zero")

    replace_training(fail)
    assert main([]) == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert "in fail" in err
    assert err.splitlines()[-1].startswith("vdqn-run: error: internal error")


def test_signal_stops_the_whole_sweep_and_earlier_failures_are_listed(
    empty: Path, replace_training: Replace, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[int] = []

    def stop_at_one(config: RunConfig) -> None:
        ran.append(config.seed)
        raise RunError("full") if config.seed == 0 else Interrupted(signal.SIGINT)

    replace_training(stop_at_one)
    assert main(["-m", "seed=0,1,2"]) == 130
    assert ran == [0, 1]
    assert "seed=0  full" in capsys.readouterr().err


def test_warnings_reach_the_user(tmp_path):
    """Hydra's logging must not swallow them: here, that there is no compiler."""
    command = [sys.executable, "-m", "vdqn_runner.cli", "-q", "env.n=3", "episodes=1", "n_seeds=1"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"CC": "false"}, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "training is slower" in done.stderr


def test_a_sweep_into_a_place_that_cannot_be_written_ends_with_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["-m", f"out={tmp_path}/file", "env.n=3,4"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{tmp_path}/file is in the way" in line
