"""SIGINT and SIGTERM: a checkpoint, a state and one line that are true, and the exit code."""

import pytest
from fault_runs import calls_of, overrides, results, settings, states, statuses

CODES = {"SIGINT": 130, "SIGTERM": 143}
GOES_ON = "; the same command goes on"


@pytest.fixture(scope="module")
def calls(server, tmp_path_factory):
    out = tmp_path_factory.mktemp("calls")
    return calls_of(server, out, settings(out))


def after(calls, name, count=1):
    """The number of the call after the ``count``-th one of this name."""
    places = [place for place, call in enumerate(calls, 1) if call == name]
    return places[count - 1] + 1


@pytest.mark.parametrize("number", CODES)
def test_while_it_trains(server, tmp_path, undisturbed, calls, number):
    fault = {"what": number, "at": after(calls, "replace checkpoint.pt.tmp")}
    child = server.run(tmp_path, argv=overrides(tmp_path), fault=fault)
    assert child.code == CODES[number]
    assert child.lines == [f"vdqn-run: error: stopped by {number}{GOES_ON}"]
    (status,) = statuses(tmp_path).values()
    assert (status["state"], status["reason"]) == ("stopped", None)
    # It came within the checkpoint of step 50, which is followed by another at once or next step.
    assert 50 <= status["steps"] <= 51
    child = server.run(tmp_path, argv=overrides(tmp_path))
    assert (child.code, child.lines) == (0, [])
    assert results(tmp_path) == undisturbed()
    assert set(states(tmp_path).values()) == {"done"}


@pytest.mark.parametrize("number", CODES)
def test_a_sweep_ends_too(server, tmp_path, undisturbed, calls, number):
    line = ["-m", "seed=0,1", *(item for item in overrides(tmp_path) if item[:5] != "seed=")]
    # Before the run's calls come those for the sweep's list of jobs: a file and its folder.
    fault = {"what": number, "at": after(calls, "replace checkpoint.pt.tmp") + 6}
    child = server.run(tmp_path, argv=line, fault=fault)
    assert child.code == CODES[number]
    assert child.lines == [f"vdqn-run: error: stopped by {number}{GOES_ON}"]
    assert states(tmp_path) == {"seed-00000": "stopped"}
    child = server.run(tmp_path, argv=line)
    assert (child.code, child.lines) == (0, [])
    assert results(tmp_path) == undisturbed(n_seeds=2)


@pytest.mark.parametrize("number", CODES)
def test_a_second_one_ends_at_once(server, tmp_path, undisturbed, calls, number):
    at = after(calls, "replace checkpoint.pt.tmp")
    fault = {"what": number, "at": at, "lasting": True}
    child = server.run(tmp_path, argv=overrides(tmp_path), fault=fault)
    assert child.code == CODES[number]
    (line,) = child.lines
    assert line.startswith("vdqn-run: error: ended at once; the same command goes on from the last")
    assert server.run(tmp_path, settings=settings(tmp_path)).code == 0
    assert results(tmp_path) == undisturbed()


@pytest.mark.parametrize("number", CODES)
def test_before_anything_trains(server, tmp_path, undisturbed, number):
    """At the first call, which makes the run's folder."""
    child = server.run(tmp_path, argv=overrides(tmp_path), fault={"what": number, "at": 1})
    assert child.code == CODES[number]
    assert child.lines == ["vdqn-run: error: interrupted while nothing trained; nothing is lost"]
    assert not list(tmp_path.rglob("checkpoint*"))
    assert server.run(tmp_path, settings=settings(tmp_path)).code == 0
    assert results(tmp_path) == undisturbed()


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 12))]
)
def test_at_any_call(server, tmp_path, undisturbed, calls, first):
    for at in range(after(calls, "mkdir seed-00000") + first, len(calls) + 1, 12):
        out = tmp_path / str(at)
        out.mkdir()
        child = server.run(out, settings=settings(out), fault={"what": "SIGTERM", "at": at})
        where = (at, calls[at - 1], child.lines)
        (status,) = statuses(out).values()
        if status["state"] == "done":  # it came within the last step or after it
            assert child.code in (0, 143), where
        else:
            assert child.code == 143 and len(child.lines) == 1, where
            assert status["state"] == ("stopped" if status["steps"] else "planned"), where
            assert bool(status["steps"]) == bool(list(out.rglob("checkpoint.pt"))), where
        assert server.run(out, settings=settings(out)).code == 0
        assert results(out) == undisturbed(), where
