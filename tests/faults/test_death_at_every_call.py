"""Killed at each system call of a whole run; the same command then leaves the undisturbed bytes."""

import shutil

import pytest
from fault_runs import ALGOS, calls_of, results, settings, states


def die_at_every_call(server, tmp_path, undisturbed, **kwargs):
    out = tmp_path / "out"
    wanted = settings(out, **kwargs)
    calls = calls_of(server, out, wanted)
    assert results(out) == undisturbed
    for at in range(1, len(calls) + 1):
        shutil.rmtree(out)
        out.mkdir()
        died = server.run(out, settings=wanted, fault={"what": "kill", "at": at})
        where = f"killed at call {at} of {len(calls)}, {calls[at - 1]}"
        assert died.code == -9, where
        child = server.run(out, settings=wanted)
        assert child.code == 0, (where, child.lines)
        assert results(out) == undisturbed, where
        assert set(states(out).values()) == {"done"}, where
        left = {path.name for folder in out.rglob("seed-*") for path in folder.iterdir()}
        assert not {name for name in left if "checkpoint" in name}, where
    return calls


def test_one_seed(server, tmp_path, undisturbed):
    calls = die_at_every_call(server, tmp_path, undisturbed())
    # All that a run does to its files is among them.
    for call in (
        "mkdir seed-00000",
        "create episodes.csv",
        "write evaluations.csv",
        "write checkpoint.pt.tmp",
        "replace checkpoint.pt",
        "replace checkpoint.pt.tmp",
        "write status.json.tmp",
        "replace status.json.tmp",
        "write policy.pt.tmp",
        "replace policy.pt.tmp",
        "unlink checkpoint.pt",
        "unlink checkpoint.prev.pt",
    ):
        assert call in calls
    assert {name.split()[0] for name in calls} == {
        "create", "write", "fsync", "replace", "unlink", "mkdir", "ftruncate"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("first", "step"), [(1, 6), *(pytest.param(k, 6, marks=pytest.mark.slow) for k in range(2, 7))]
)
def test_a_second_death_in_the_resumed_run(server, tmp_path, undisturbed, first, step):
    """The logs are cut back only there."""
    out, kept = tmp_path / "out", tmp_path / "kept"
    wanted = settings(out)
    calls = calls_of(server, out, wanted)
    at = calls.index("replace checkpoint.pt.tmp") + len(calls) // 3
    shutil.rmtree(out)
    out.mkdir()
    assert server.run(out, settings=wanted, fault={"what": "kill", "at": at}).code == -9
    out.rename(kept)
    shutil.copytree(kept / "default", out / "default")
    calls = calls_of(server, out, wanted)
    assert "truncate episodes.csv" in calls
    for at in range(first, len(calls) + 1, step):
        shutil.rmtree(out)
        shutil.copytree(kept, out)
        died = server.run(out, settings=wanted, fault={"what": "kill", "at": at})
        assert died.code == -9
        child = server.run(out, settings=wanted)
        assert child.code == 0, (at, calls[at - 1], child.lines)
        assert results(out) == undisturbed(), (at, calls[at - 1])


@pytest.mark.slow
@pytest.mark.parametrize("env", ["chain", "gym"])
@pytest.mark.parametrize("algo", ALGOS)
def test_two_seeds(server, tmp_path, undisturbed, algo, env):
    kwargs = {"algo": algo, "env": env, "n_seeds": 2}
    die_at_every_call(server, tmp_path, undisturbed(**kwargs), **kwargs)
