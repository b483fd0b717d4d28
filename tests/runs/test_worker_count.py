"""How many workers a run gets."""

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from vdqn_runner.workers import Place, place, worker_count
from vdqn_runner.workers.count import cpu_quota

EIGHT = Place(cpus=8)
SLURM, JOBLIB = "SlurmLauncher", "JoblibLauncher"


@pytest.mark.parametrize(
    ("wanted", "threads", "n_seeds", "where", "count"),
    [
        ("auto", 1, 10, EIGHT, 8),
        ("auto", 1, 5, EIGHT, 5),
        ("auto", 1, 1, EIGHT, 1),
        ("auto", 1, 0, EIGHT, 1),
        ("auto", 1, 10, Place(cpus=1), 1),
        # Threads take processors too.
        ("auto", 2, 10, EIGHT, 4),
        ("auto", 3, 10, EIGHT, 2),
        ("auto", 16, 10, EIGHT, 1),
        # A container's limit.
        ("auto", 1, 10, replace(EIGHT, quota=2.0), 2),
        ("auto", 1, 10, replace(EIGHT, quota=2.9), 2),
        ("auto", 1, 10, replace(EIGHT, quota=0.5), 1),
        ("auto", 1, 10, replace(EIGHT, quota=64.0), 8),
        # Slurm, with and without the launcher.
        ("auto", 1, 10, replace(EIGHT, slurm=3), 3),
        ("auto", 1, 10, replace(EIGHT, slurm=3, launcher=SLURM), 3),
        ("auto", 1, 10, replace(EIGHT, slurm=1, launcher=SLURM), 1),
        ("auto", 1, 10, replace(EIGHT, launcher=SLURM), 1),
        ("auto", 1, 10, replace(EIGHT, slurm=16), 8),
        # Other launchers have spread jobs over the processors, Slurm's too.
        ("auto", 1, 10, replace(EIGHT, launcher=JOBLIB), 1),
        ("auto", 1, 10, replace(EIGHT, slurm=8, launcher=JOBLIB), 1),
        # A count is a count, but no worker is without a seed.
        (3, 1, 10, Place(cpus=1), 3),
        (3, 4, 10, replace(EIGHT, launcher=JOBLIB), 3),
        (3, 1, 2, EIGHT, 2),
        (3, 1, 0, EIGHT, 1),
    ],
)
def test_count(wanted, threads, n_seeds, where, count):
    assert worker_count(wanted, threads, n_seeds, where) == count


@pytest.mark.parametrize(("text", "slurm"), [("6", 6), ("", None), ("many", None), (None, None)])
def test_slurm_says_how_many_processors_a_task_has(text, slurm):
    assert place({} if text is None else {"SLURM_CPUS_PER_TASK": text}).slurm == slurm


def test_processors_of_this_process():
    found = place({})
    assert 1 <= found.cpus <= os.cpu_count()
    assert found.launcher is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_affinity_counts():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert place({}).cpus == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("mode", "target", "launcher"),
    [
        (RunMode.MULTIRUN, "hydra._internal.core_plugins.basic_launcher.BasicLauncher", None),
        (RunMode.MULTIRUN, "hydra_plugins.hydra_joblib_launcher.joblib_launcher." + JOBLIB, JOBLIB),
        (
            RunMode.MULTIRUN,
            "hydra_plugins.hydra_submitit_launcher.submitit_launcher." + SLURM,
            SLURM,
        ),
        # Without -m the launcher has no part in it.
        (RunMode.RUN, "hydra_plugins.hydra_joblib_launcher.joblib_launcher." + JOBLIB, None),
    ],
)
def test_launcher(monkeypatch, mode, target, launcher):
    settings = SimpleNamespace(mode=mode, launcher={"_target_": target})
    monkeypatch.setattr(HydraConfig, "initialized", staticmethod(lambda: True))
    monkeypatch.setattr(HydraConfig, "get", staticmethod(lambda: settings))
    assert place({}).launcher == launcher


@pytest.mark.parametrize(
    ("limits", "quota"),
    [
        ({}, None),
        ({"": "max 100000"}, None),
        ({"": "150000 100000"}, 1.5),
        ({"a/b": "max 100000", "a": "400000 100000"}, 4.0),
        ({"a/b": "200000 50000", "a": "300000 100000", "": "max 100000"}, 3.0),
        ({"a": "nonsense"}, None),
        ({"other": "100000 100000"}, None),
    ],
)
def test_the_tightest_limit_of_the_groups_above_counts(tmp_path, limits, quota):
    cgroups, files = tmp_path / "cgroup", tmp_path / "files"
    cgroups.write_text("1:cpu:/other\n0::/a/b\n")
    for group, text in limits.items():
        (files / group).mkdir(parents=True, exist_ok=True)
        (files / group / "cpu.max").write_text(text + "\n")
    # Above the mount there is nothing to read.
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert cpu_quota(cgroups, files) == quota


@pytest.mark.parametrize("text", [None, "", "1:cpu:/a\n"])
def test_no_limit_without_second_version_groups(tmp_path, text):
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    if text is not None:
        (tmp_path / "cgroup").write_text(text)
    assert cpu_quota(tmp_path / "cgroup", tmp_path) is None
