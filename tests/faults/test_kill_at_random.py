"""`vdqn-run` killed at random instants, and started again until it is done: the same bytes."""

import contextlib
import os
import shutil
import signal
import time

import numpy as np
import pytest
from fault_runs import ALGOS, ENVS, overrides, results, settings, states

from vdqn_runner.errors import RunError
from vdqn_runner.runs.lock import SeedLock

EPISODES = {"chain": 40, "gym": 20}


def wait_for(condition, child=None):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, child and child.lines
        time.sleep(0.003)


def wait_for_training(child):
    """Wait until it has said how many seeds it trains, which it does just before."""
    wait_for(lambda: child.err.exists() and child.err.stat().st_size, child)


def nobody_trains(out):
    """Whether every seed's lock can be had: workers end soon after their parent, not with it."""
    try:
        with contextlib.ExitStack() as stack:
            for path in out.glob("*/*/*/*/seed-*"):
                stack.enter_context(SeedLock(path))
    except RunError:
        return False
    return True


def kill_until_done(server, tmp_path, kills, seed, **kwargs):
    """Kill a command ``kills`` times, in as many runs as that takes, and compare all of them."""
    straight, out = tmp_path / "straight", tmp_path / "out"
    straight.mkdir()
    begun = time.monotonic()
    child = server.run(straight, settings=settings(straight, **kwargs))
    seconds = time.monotonic() - begun
    assert child.code == 0, child.lines
    wanted = results(straight)
    rng = np.random.default_rng(seed)
    delays = []
    n_killed = 0
    while True:
        out.mkdir(exist_ok=True)
        child = server.start(out, argv=overrides(out, quiet=False, **kwargs))
        if n_killed < kills:
            wait_for_training(child)
            delays.append(rng.uniform(0, seconds))
            time.sleep(delays[-1])
            # One that has ended keeps its number until it is waited for.
            os.kill(child.pid, signal.SIGKILL)
        where = f"seed {seed}, killed after {delays} s of {seconds} s"
        if child.wait().code == -signal.SIGKILL:
            n_killed += 1
            wait_for(lambda: nobody_trains(out))
            continue
        assert child.code == 0, (where, child.lines)
        assert results(out) == wanted, where
        assert set(states(out).values()) == {"done"}, where
        if n_killed == kills:
            return
        shutil.rmtree(out)
        delays.clear()


def arguments(env):
    return {"env": env, "episodes": EPISODES[env], "n_seeds": 2, "checkpoint_every": 70}


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("algo", ALGOS)
def test_twice(server, tmp_path, algo, env):
    kill_until_done(server, tmp_path, 2, 20, algo=algo, **arguments(env))


@pytest.mark.slow
@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("algo", ALGOS)
def test_often(server, tmp_path, algo, env):
    kill_until_done(server, tmp_path, 20, 21, algo=algo, **arguments(env))


@pytest.mark.slow
def test_a_parent_of_workers_often(server, tmp_path):
    kill_until_done(server, tmp_path, 10, 22, workers=2, **arguments("gym"))
