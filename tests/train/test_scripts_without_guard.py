"""Scripts and notebooks that train in workers need no ``if __name__ == "__main__":``."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import vdqn_runner
from vdqn_runner.envs.registered import registration

SOURCES = Path(vdqn_runner.__file__).parents[1]

# What a worker that imported the script would say, or do once more.
PRINTS = "print('the script runs')\n"
NEW_INTERPRETERS = """
from types import SimpleNamespace
from vdqn_runner.workers import processes
processes.sys = SimpleNamespace(platform="darwin")
"""
TRAIN = """
from vdqn_runner.api import train
small = ["algo.network.hidden=[8]", "algo.learning_starts=30", "algo.batch_size=4"]
for workers in (1, {workers!r}):
    found = train(
        "algo=vdqn", {env}, *small, n_seeds=2, episodes=12, workers=workers, out=f"runs-{{workers}}"
    )
    print(len(found))
"""
# Found in a worker by nobody who does not import this, or is told.
MODULE = """
import gymnasium
import numpy as np

class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-5, 5, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.where = 0.0
        return np.array([self.where], np.float32), {}

    def step(self, action):
        self.where += 0.1 * (2 * float(action) - 1)
        return np.array([self.where], np.float32), self.where, False, False, {}
"""
REGISTER = "\ngymnasium.register('Trip-v0', entry_point={}, max_episode_steps=9)\n"
TRIP = "'env=gym', 'env.id=Trip-v0'"


def carry_out(folder, script, how):
    """Run a script in a folder; return what it printed to both streams."""
    path = folder / "nb.py"
    path.write_text(script)
    command = {"file": [str(path)], "stdin": [], "-c": ["-c", script], "-m": ["-m", "nb"]}[how]
    given = script if how == "stdin" else ""
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(SOURCES), str(folder)])}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        input=given,
    )


def logs(out):
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*.csv"))
        if path.name != "timing.csv"
    }


def check(folder, done, printed=None, workers=2):
    """One process ran the script, and what workers trained is what one process does."""
    wanted = ["the script runs\n", "24\n", "24\n"]
    assert (done.returncode, printed or done.stdout.splitlines(keepends=True)) == (0, wanted), done
    assert "Traceback" not in done.stderr
    wanted = logs(folder / "runs-1")
    assert len(wanted) == 6 and logs(folder / f"runs-{workers}") == wanted


@pytest.mark.parametrize(
    ("how", "start"),
    [
        ("file", ""),
        ("stdin", ""),
        ("-m", ""),
        ("file", NEW_INTERPRETERS),
        ("stdin", NEW_INTERPRETERS),
    ],
    ids=["file", "stdin", "module", "file-spawn", "stdin-spawn"],
)
def test_workers_do_not_import_the_script(tmp_path, how, start):
    done = carry_out(tmp_path, PRINTS + start + TRAIN.format(workers=2, env="'env.n=5'"), how)
    check(tmp_path, done)
    assert "2 of 2 seeds to train in 2 processes" in done.stderr


@pytest.mark.parametrize("entry", ["'walks:Walk'", "walks.Walk"])
def test_a_module_that_the_script_registers_an_environment_of(tmp_path, entry):
    (tmp_path / "walks.py").write_text(MODULE)
    script = PRINTS + "import gymnasium, walks\n" + REGISTER.format(entry)
    done = carry_out(tmp_path, script + TRAIN.format(workers=2, env=TRIP), "file")
    check(tmp_path, done)
    assert "in 2 processes" in done.stderr


@pytest.mark.parametrize("entry", ["'__main__:Walk'", "Walk"])
def test_an_environment_of_the_script_itself_is_for_one_process(tmp_path, entry):
    script = PRINTS + MODULE + REGISTER.format(entry)
    refused = "try: train(env='gym', **{'env.id': 'Trip-v0'}, n_seeds=2, workers=2)\n"
    refused += "except Exception as error: print(error)"
    script += TRAIN.format(workers="auto", env=TRIP) + refused
    done = carry_out(tmp_path, script, "file")
    *before, last = done.stdout.splitlines(keepends=True)
    check(tmp_path, done, before, "auto")
    assert last == (
        "workers=2: Trip-v0 is registered in a script or a notebook, which workers do "
        "not import; must be 1 or auto, or write the environment in a module and give "
        "env.id=<module>:Trip-v0\n"
    )


def test_nothing_but_a_module_makes_an_environment_known_elsewhere():
    gymnasium.register("Nowhere-v0", entry_point=lambda: None)
    gymnasium.register("Here-v0", entry_point="walks:Walk")
    try:
        assert registration("Nowhere-v0") is None
        assert pickle.loads(registration("Here-v0")).entry_point == "walks:Walk"
        assert registration("walks:Unseen-v0") == b""
    finally:
        del gymnasium.registry["Nowhere-v0"], gymnasium.registry["Here-v0"]


def test_processes_of_the_script_itself_are_as_ever(tmp_path):
    """They have its main module, and signals end them, which a pool's end waits for."""
    script = """
import multiprocessing, signal
def double(number):
    return 2 * number, signal.pthread_sigmask(signal.SIG_BLOCK, [])
if __name__ == "__main__":
    from vdqn_runner.api import train
    for episodes in (2, 4):
        train("env.n=5", "algo=dqn", n_seeds=2, episodes=episodes, workers=2, quiet=True)
        for method in ("spawn", "forkserver"):
            for number in range(3):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    assert pool.map(double, [number]) == [(2 * number, set())]
    print("fine")
"""
    done = carry_out(tmp_path, script, "file")
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
