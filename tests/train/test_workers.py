"""Seeds dealt to worker processes: the same bytes, and every way in which workers can end."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from running import config, logs, run
from walk_env import ID

import vdqn_runner
from vdqn_runner.errors import RunError
from vdqn_runner.runs.folder import seed_path
from vdqn_runner.runs.interrupt import Interrupted
from vdqn_runner.runs.lock import SeedLock

SOURCES = [Path(vdqn_runner.__file__).parents[1], Path(__file__).parent]
ENVIRON = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, SOURCES))}
WALK = {"kind": "gym", "id": ID}
SHORT = {"env": WALK, "algo": "dqn", "n_seeds": 3, "episodes": 20, "checkpoint_every": 41}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return logs(run(tmp_path_factory.mktemp("undisturbed"), **SHORT))


def the_run(out):
    (folder,) = {path.parent.parent for path in out.rglob("status.json")}
    return folder


def states(folder):
    """By seed, the state and the steps."""
    found = {}
    for path in folder.glob("seed-*/status.json"):
        status = json.loads(path.read_text())
        found[status["seed"]] = (status["state"], status["steps"])
    return found


def nobody_trains(folder):
    """Whether every seed's lock can be had."""
    try:
        with contextlib.ExitStack() as stack:
            for path in folder.glob("seed-*"):
                stack.enter_context(SeedLock(path))
    except RunError:
        return False
    return True


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("algo", ["vdqn", "dqn", "noisynet"])
def test_bytes_do_not_depend_on_the_number_of_workers(tmp_path, algo):
    kwargs = {"env": {"kind": "chain", "n": 5}, "algo": algo, "n_seeds": 3, "episodes": 20}
    wanted = logs(run(tmp_path / "1", **kwargs))
    assert b"nan" not in wanted[0][1].splitlines()[-1]
    for workers in (2, 3):
        folder = run(tmp_path / str(workers), workers=workers, **kwargs)
        assert logs(folder) == wanted
        assert states(folder) == dict.fromkeys(range(3), ("done", 20 * 14))
        # Each worker had its own seeds: locks are emptied when they are released.
        assert nobody_trains(folder)


def test_new_interpreters_where_forks_are_not_safe(tmp_path, monkeypatch, undisturbed):
    monkeypatch.setattr("vdqn_runner.workers.processes.sys", SimpleNamespace(platform="darwin"))
    assert logs(run(tmp_path, **SHORT | {"workers": 2})) == undisturbed


def test_a_seed_goes_to_the_worker_of_its_place(tmp_path, monkeypatch):
    """Seeds 0 and 2 end with the worker that dies, seeds 1 and 3 do not."""
    monkeypatch.setenv("WALK", "die 2 3")
    with pytest.raises(RunError, match=r"^seeds 0, 2: "):
        run(tmp_path, **SHORT | {"n_seeds": 4, "workers": 2})
    found = states(the_run(tmp_path))
    assert {seed for seed, (state, _) in found.items() if state == "done"} == {1, 3}


def test_a_killed_worker_leaves_the_others_to_finish_and_the_command_goes_on_later(
    tmp_path, monkeypatch, undisturbed, caplog
):
    monkeypatch.setenv("WALK", "die 0 10")
    with pytest.raises(RunError) as caught:
        run(tmp_path, **SHORT | {"workers": 2})
    assert str(caught.value).startswith("seeds 0, 2: their process was killed by SIGKILL")
    found = states(the_run(tmp_path))
    assert found[1] == ("done", 200)
    assert found[0][0] == found[2][0] == "running" and 0 < found[0][1] < 200
    assert nobody_trains(the_run(tmp_path))
    monkeypatch.delenv("WALK")
    assert logs(run(tmp_path, **SHORT | {"workers": 2})) == undisturbed


def test_an_error_marks_the_seeds_of_its_worker(tmp_path, monkeypatch, undisturbed, capsys):
    monkeypatch.setenv("WALK", "fail 1 12")
    with pytest.raises(RunError) as caught:
        run(tmp_path, **SHORT | {"workers": 2})
    assert str(caught.value) == (
        "seed 1: internal error, see the traceback: ArithmeticError: the walker stumbled"
    )
    err = capsys.readouterr().err
    assert err.count("Traceback (most recent call last)") == 1 and "in fail" in err
    found = states(the_run(tmp_path))
    assert {seed: state for seed, (state, _) in found.items()} == {
        0: "done",
        1: "failed",
        2: "done",
    }
    reason = json.loads((seed_path(the_run(tmp_path), 1) / "status.json").read_text())["reason"]
    assert "stumbled" in reason
    monkeypatch.delenv("WALK")
    assert logs(run(tmp_path, **SHORT)) == undisturbed


def test_a_lock_of_another_process_is_told_before_anything_trains(tmp_path):
    folder = run(tmp_path, **SHORT | {"n_seeds": 1, "episodes": 1})
    assert folder == run(tmp_path, **SHORT | {"n_seeds": 1, "episodes": 1})
    hold = (
        "import sys; from pathlib import Path; from vdqn_runner.runs.lock import SeedLock\n"
        "with SeedLock(Path(sys.argv[1])): print('held', flush=True); input()"
    )
    command = [sys.executable, "-c", hold, str(seed_path(folder, 2))]
    with subprocess.Popen(
        command, env=ENVIRON, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(RunError, match=f"^seed-00002 is being trained by pid {holder.pid} on"):
            run(tmp_path, **SHORT | {"episodes": 1, "workers": 2})
        assert sorted(states(folder)) == [0]
        holder.communicate(b"\n")
    run(tmp_path, **SHORT | {"episodes": 1, "workers": 2})
    assert states(folder) == dict.fromkeys(range(3), ("done", 10))


def test_what_workers_log_and_warn_of_is_shown_as_if_by_one(tmp_path, monkeypatch, caplog):
    """Each speaks at each episode; Python shows a warning of one line of code once."""
    monkeypatch.setenv("WALK", "speak")
    with pytest.warns(UserWarning, match="the path is wet") as warned:
        run(tmp_path, **SHORT | {"workers": 2, "n_seeds": 2, "evaluate": {"every": 0}})
    assert len(warned) == 1
    assert [record.getMessage() for record in caplog.records] == ["the walker is tired"] * 20
    assert {(record.name, record.levelname) for record in caplog.records} == {("walk", "WARNING")}


@pytest.fixture
def interruptible():
    """Ctrl-C as in a foreground process: one in the background of a script ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_parent_makes_workers_checkpoint(
    tmp_path, monkeypatch, undisturbed, number
):
    monkeypatch.setenv("WALK", f"signal_parent 1 5 {int(number)} {os.getpid()}")
    with pytest.raises(Interrupted) as caught:
        run(tmp_path, **SHORT | {"workers": 2, "checkpoint_every": 10_000})
    assert caught.value.signal == number
    # It came before the first step of episode 5, and that step was taken.
    assert states(the_run(tmp_path))[1] == ("stopped", 51)
    assert nobody_trains(the_run(tmp_path))
    monkeypatch.delenv("WALK")
    assert logs(run(tmp_path, **SHORT | {"workers": 3})) == undisturbed


@pytest.mark.usefixtures("interruptible")
def test_a_second_signal_ends_everything_at_once(tmp_path, monkeypatch):
    """The worker never comes to the end of its step."""
    monkeypatch.setenv("WALK", f"hang_and_signal_parent 1 5 {int(signal.SIGINT)} {os.getpid()}")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, **SHORT | {"workers": 2})
    assert nobody_trains(the_run(tmp_path))


@contextlib.contextmanager
def command_under_way(out):
    """The command in a process group of its own, all of whose seeds have checkpoints."""
    settings = config(out, **SHORT).model_dump(mode="json")
    algo = {
        key: settings["algo"][key] for key in ("batch_size", "learning_starts", "target_period")
    }
    overrides = [f"algo.{key}={value}" for key, value in algo.items()]
    overrides += ["algo=dqn", "algo.network.hidden=[18,11]", "algo.lr=0.005", f"out={out}"]
    overrides += ["env=gym", f"env.id={ID}", "n_seeds=3", "episodes=20", "checkpoint_every=41"]
    with subprocess.Popen(
        [sys.executable, "-m", "vdqn_runner.cli", "-q", "workers=2", *overrides],
        env=ENVIRON | {"WALK": "slowly"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            wait_for(lambda: len(list(out.rglob("checkpoint.pt"))) == 3)
            assert process.poll() is None
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_ctrl_c_reaches_the_whole_group_and_costs_nothing(tmp_path, undisturbed):
    with command_under_way(tmp_path) as process:
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert err == "vdqn-run: error: stopped by SIGINT; the same command goes on\n"
        folder = the_run(tmp_path)
        assert nobody_trains(folder)
    found = states(folder)
    assert all(state == "stopped" and 0 < steps < 200 for state, steps in found.values())
    # Each log is as long as its status says: the signal, not the last checkpoint before, cut it.
    for seed, (episodes, *_) in logs(folder).items():
        assert len(episodes.splitlines()) == 1 + found[seed][1] // 10
    assert logs(run(tmp_path, **SHORT)) == undisturbed


def test_workers_stop_soon_after_their_parent_is_killed(tmp_path, undisturbed):
    with command_under_way(tmp_path) as process:
        process.kill()
        process.wait()
        folder = the_run(tmp_path)
        wait_for(lambda: nobody_trains(folder))
        found = states(folder)
        assert all(state == "stopped" and 0 < steps < 200 for state, steps in found.values())
    assert logs(run(tmp_path, **SHORT | {"workers": 2})) == undisturbed


def test_one_line_of_progress_for_all_workers(tmp_path, capsys):
    run(tmp_path, **SHORT | {"workers": 3, "quiet": False})
    first, *others = capsys.readouterr().err.splitlines()
    assert first.endswith(": 3 of 3 seeds to train in 3 processes")
    assert others and all(line.startswith("dqn on walk_env-Walk-v0: ") for line in others)
    assert re.search(r": 60/60 episodes, return \S+, [\d,]+ steps/s, 00:00 left$", others[-1])


def test_progress_goes_on_where_an_earlier_command_ended(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WALK", "fail 1 12")
    with pytest.raises(RunError):
        run(tmp_path, **SHORT | {"workers": 2})
    monkeypatch.delenv("WALK")
    capsys.readouterr()
    run(tmp_path, **SHORT | {"workers": 2, "n_seeds": 2, "quiet": False})
    first, *others = capsys.readouterr().err.splitlines()
    # One seed is left, so there is no need of a second process.
    assert first.endswith(": 1 of 2 seeds to train")
    assert re.search(r": 20/20 episodes, return ", others[-1])


def test_the_parent_of_workers_needs_no_torch():
    """Its import takes longer than all else that the parent does."""
    program = "import sys; import vdqn_runner.run; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRON, capture_output=True)
    assert done.stdout == b"False\n"
