"""Logs that somebody removes or changes while they are written."""

import shutil

import pytest
from fault_runs import calls_of, error_of, results, settings, the_run


@pytest.fixture(scope="module")
def calls(server, tmp_path_factory):
    out = tmp_path_factory.mktemp("calls")
    return calls_of(server, out, settings(out))


@pytest.mark.parametrize("name", ["episodes.csv", "updates.csv", "evaluations.csv"])
@pytest.mark.parametrize("when", ["write checkpoint.pt.tmp", "write policy.pt.tmp"])
def test_a_log_that_is_removed(server, tmp_path, undisturbed, calls, name, when):
    """A run that went on would lose its rows without a word."""
    at = calls.index(when) + 1 - 12 * when.startswith("write policy")
    fault = {"what": "do", "at": at, "command": f"rm {tmp_path}/*/*/*/*/seed-00000/{name}"}
    child = server.run(tmp_path, settings=settings(tmp_path), fault=fault)
    folder = the_run(tmp_path) / "seed-00000"
    assert f"{folder}/{name} cannot be written: No such file" in error_of(child)
    child = server.run(tmp_path, settings=settings(tmp_path))
    assert f"{folder}/{name} has 0 bytes but its checkpoint was taken" in error_of(child)
    shutil.rmtree(folder)
    assert server.run(tmp_path, settings=settings(tmp_path)).code == 0
    assert results(tmp_path) == undisturbed()


@pytest.mark.parametrize("command", ["echo 1,2,3 >>", "truncate -s 30", "cp /dev/null"])
def test_a_log_that_is_changed(server, tmp_path, undisturbed, calls, command):
    at = calls.index("write checkpoint.pt.tmp") + 1
    log = f"{tmp_path}/*/*/*/*/seed-00000/episodes.csv"
    fault = {"what": "do", "at": at, "command": f"{command} $(echo {log})"}
    child = server.run(tmp_path, settings=settings(tmp_path), fault=fault)
    told = error_of(child)
    assert "episodes.csv has " in told and "another program changed it" in told
    child = server.run(tmp_path, settings=settings(tmp_path))
    if child.code:  # what the checkpoint counts on is gone
        assert "; delete the seed's folder to train it again" in error_of(child)
        shutil.rmtree(the_run(tmp_path) / "seed-00000")
        assert server.run(tmp_path, settings=settings(tmp_path)).code == 0
    assert results(tmp_path) == undisturbed()
