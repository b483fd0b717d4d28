"""A sweep gives the same bytes, whatever runs its jobs: this process, others, Slurm's way, Ray.

Ray is not among the development tools, because it is large: pip install -e '.[ray]' for its test.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

import vdqn_runner

SOURCE = Path(vdqn_runner.__file__).parents[1]
COMMAND = [
    sys.executable,
    "-c",
    "from vdqn_runner.cli import main; raise SystemExit(main())",
]
SMALL = [
    "algo=dqn",
    "algo.network.hidden=[8]",
    "algo.learning_starts=30",
    "n_seeds=2",
    "episodes=15",
    "-q",
]
FILES = ("episodes.csv", "updates.csv", "evaluations.csv", "policy.pt")


def needs(package):
    # Without any plugin there is no hydra_plugins to look into, which find_spec would raise.
    there = find_spec(package.partition(".")[0]) is not None and find_spec(package) is not None
    return pytest.mark.skipif(not there, reason=f"needs {package}")


def sweep(out, *arguments, environ=None):
    """Carry out a sweep in a process of its own; return the process."""
    return subprocess.run(
        [*COMMAND, "-m", f"out={out}", *SMALL, *arguments],
        env=os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"} | (environ or {}),
        cwd=out.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )


def files(out):
    return {
        str(path.relative_to(out)): path.read_bytes()
        for name in FILES
        for path in sorted(out.glob(f"default/*/*/*/*/{name}"))
    }


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    out = tmp_path_factory.mktemp("basic") / "runs"
    done = sweep(out, "env.n=5,6")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(files(out)) == 2 * 2 * len(FILES)
    return files(out)


LAUNCHERS = [
    pytest.param(["hydra/launcher=joblib"], marks=needs("hydra_plugins.hydra_joblib_launcher")),
    pytest.param(
        ["hydra/launcher=submitit_local"], marks=needs("hydra_plugins.hydra_submitit_launcher")
    ),
]


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda value: value[0])
def test_jobs_in_other_processes(expected, tmp_path, launcher):
    out = tmp_path / "runs"
    done = sweep(out, "env.n=5,6", *launcher)
    assert done.returncode == 0, done.stderr
    assert files(out) == expected
    # Nothing lies outside the results, and the same command again has nothing to do.
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert sweep(out, "env.n=5,6", *launcher).returncode == 0
    assert files(out) == expected


@needs("hydra_plugins.hydra_ray_launcher")
def test_jobs_on_a_ray_cluster_of_two_workers(expected, tmp_path):
    import ray

    out = tmp_path / "runs"
    environ = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    start = ["start", "--head", "--num-cpus=2", "--port=0", "--include-dashboard=false"]
    command = [sys.executable, "-m", "ray.scripts.scripts"]
    cluster = os.environ | environ | {"PYTHONPATH": str(SOURCE)}
    assert ray.__version__
    head = subprocess.run(
        [*command, *start, f"--temp-dir={short_folder()}"],
        env=cluster, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert head.returncode == 0, head.stdout + head.stderr
    try:
        done = sweep(
            out, "env.n=5,6", "hydra/launcher=ray_cluster",
            environ=environ,
        )  # fmt: skip
    finally:
        subprocess.run([*command, "stop", "--force"], env=cluster, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert files(out) == expected


def short_folder():
    """A folder whose path leaves room for the names of Ray's sockets, which must be short."""
    import tempfile

    return tempfile.mkdtemp(prefix="ray-", dir="/tmp")


OPTUNA = [
    "hydra/sweeper=optuna",
    "hydra.sweeper.n_jobs=1",
    "hydra.sweeper.n_trials=3",
    "hydra.sweeper.direction=maximize",
    "hydra.sweeper.sampler.seed=3",
    "env.n=5",
]


@needs("hydra_plugins.hydra_optuna_sweeper")
def test_optuna_finds_the_best_of_its_trials(tmp_path):
    out = tmp_path / "runs"
    done = sweep(out, *OPTUNA, "algo.lr=tag(log,interval(1e-4,1e-1))")
    assert done.returncode == 0, done.stderr
    (file,) = out.glob(".sweeps/*/optimization_results.yaml")
    best = yaml.safe_load(file.read_text())
    means = {}
    for run in out.glob("default/chain-5/dqn/*"):
        rows = [
            line.split(",")
            for log in run.glob("seed-*/episodes.csv")
            for line in log.read_text().splitlines()[1:]
        ]
        lr = yaml.safe_load((run / "config.yaml").read_text())["algo"]["lr"]["value"]
        means[lr] = sum(float(row[4]) for row in rows) / len(rows)
    assert len(means) == 3
    assert best["best_value"] == pytest.approx(max(means.values()))
    assert means[best["best_params"]["algo.lr"]] == max(means.values())


@needs("hydra_plugins.hydra_optuna_sweeper")
def test_a_trial_that_is_refused_is_told_and_counts_as_a_failure(tmp_path):
    done = sweep(tmp_path / "runs", *OPTUNA, "algo.lr=interval(-2,-1)")
    assert done.returncode == 1
    assert "3 of 3 jobs failed" in done.stderr
    assert done.stderr.count("must be a number from 0") >= 3


@needs("hydra_plugins.hydra_optuna_sweeper")
def test_what_a_sweeper_decides_as_it_goes_cannot_be_listed(tmp_path):
    done = sweep(tmp_path / "runs", *OPTUNA, "algo.lr=interval(0.001,0.01)", "--dry-run")
    assert done.returncode == 2
    assert "this sweeper decides its jobs as it goes" in done.stderr
    assert not (tmp_path / "runs").exists()


@needs("hydra_plugins.hydra_optuna_sweeper")
def test_the_study_of_the_chain_composes(tmp_path):
    out = tmp_path / "runs"
    done = subprocess.run(
        [
            *COMMAND, "-m", "experiment=optuna_chain", f"out={out}", "hydra.sweeper.n_trials=1",
            "env.n=5", "episodes=10", "n_seeds=1", "-q",
        ],
        env=os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = out.glob("optuna/chain-5/vdqn/*")
    settings = yaml.safe_load((run / "config.yaml").read_text())["algo"]
    assert 0.0002 <= settings["lam"]["value"] <= 2 and 0.0003 <= settings["lr"]["value"] <= 0.03
