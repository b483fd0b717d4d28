"""The oldest gymnasium that pyproject allows: the same bytes as with the installed one."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import gymnasium
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import vdqn_runner

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(vdqn_runner.__file__).resolve().parents[1]

# Long enough for updates to decide what is done, and for episodes to end by themselves and by a
# limit; argv names the folder, and what is printed is which gymnasium this was.
TRAIN = """
import sys
import gymnasium
from vdqn_runner.config import build
from vdqn_runner.run import execute

ids = ["CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0", "vdqn_runner/Chain-v0"]
envs = [{"kind": "gym", "id": env_id, "max_episode_steps": 40} for env_id in ids]
for env in [*envs, {"kind": "chain", "n": 6}]:
    execute(build({
        "out": sys.argv[1], "episodes": 12, "n_seeds": 2, "workers": 1, "quiet": True, "env": env,
        "evaluate": {"every": 5, "episodes": 2},
        "algo": {"name": "vdqn", "learning_starts": 50, "network": {"hidden": [16]}},
    }))
print(gymnasium.__version__)
"""


def oldest():
    """The lower bound of pyproject's range."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = tomllib.loads(text)["project"]["dependencies"]
    (wanted,) = [one for one in map(Requirement, lines) if one.name == "gymnasium"]
    (bound,) = [part.version for part in wanted.specifier if part.operator == ">="]
    return Version(bound)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the oldest gymnasium has been installed, alone."""
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        + ["--no-deps", "--only-binary=:all:", "--target", str(target), f"gymnasium=={oldest()}"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        reason = f"gymnasium {oldest()} could not be installed: {done.stderr.strip()[-300:]}"
        # Only a developer may be without a package index.
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return target


def run_python(arguments, *before):
    """Run Python, with these folders before all others, and return what it printed."""
    path = os.pathsep.join(map(str, [*before, SOURCE]))
    environment = {**os.environ, "PYTHONPATH": path + os.pathsep + os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def trained(out):
    """By place below ``out``, the bytes of all logs; and the versions that the runs name."""
    logs = {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*.csv")
        if path.name != "timing.csv"
    }
    status = [json.loads(path.read_text()) for path in out.rglob("status.json")]
    assert {one["state"] for one in status} == {"done"}
    return logs, {one["versions"]["gymnasium"] for one in status}


def test_logs_are_the_same_bytes(folder, tmp_path):
    new = run_python(["-c", TRAIN, tmp_path / "new"]).strip()
    old = run_python(["-c", TRAIN, tmp_path / "old"], folder).strip()
    assert Version(old) == oldest() < Version(new) == Version(gymnasium.__version__)
    (logs, versions), (expected, _) = trained(tmp_path / "old"), trained(tmp_path / "new")
    assert versions == {old}
    assert len(expected) == 6 * 2 * 3
    assert logs == expected


def test_the_tests_of_environments_and_their_refusals_pass(folder):
    print_version = "import gymnasium; print(gymnasium.__version__)"
    assert Version(run_python(["-c", print_version], folder).strip()) == oldest()
    tests = ["tests/envs/test_gym_batch.py", "tests/config/test_build.py"]
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-k", "gym_batch or env.id"]
    printed = run_python(["-m", "pytest", *tests, *options], folder)
    assert "skipped" not in printed
