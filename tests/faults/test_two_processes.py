"""Two commands for the same seeds: one trains, the other says so; sweeps share the work."""

import contextlib
import time

import pytest
from fault_runs import calls_of, error_of, overrides, results, settings, states


@pytest.fixture(scope="module")
def holding(server, tmp_path_factory):
    """A context in which another process holds the seed 0 of a run, in the middle of training."""
    out = tmp_path_factory.mktemp("calls")
    calls = calls_of(server, out, settings(out))

    @contextlib.contextmanager
    def hold(out):
        reached, go = out / "reached", out / "go"
        wait = f"touch {reached}; while [ ! -e {go} ]; do sleep 0.05; done"
        fault = {"what": "do", "at": calls.index("write checkpoint.pt.tmp") + 1, "command": wait}
        child = server.start(out, settings=settings(out), fault=fault)
        deadline = time.monotonic() + 60
        while not reached.exists():
            assert time.monotonic() < deadline, child.lines
            time.sleep(0.01)
        try:
            yield child
        finally:
            go.touch()
            child.wait()
        assert (child.code, child.lines) == (0, [])

    return hold


@pytest.mark.parametrize("workers", [1, 2])
def test_the_second_is_told_who_trains(server, tmp_path, undisturbed, holding, workers):
    with holding(tmp_path) as holder:
        child = server.run(tmp_path, settings=settings(tmp_path, n_seeds=2, workers=workers))
        told = error_of(child)
        assert told.startswith(f"seed-00000 is being trained by pid {holder.pid} on ")
        # Nothing is trained by halves: not the free seed either.
        assert states(tmp_path).get("seed-00001") in (None, "planned")
    assert results(tmp_path)["seed-00000"] == undisturbed()["seed-00000"]
    child = server.run(tmp_path, settings=settings(tmp_path, n_seeds=2))
    assert (child.code, child.lines) == (0, [])
    assert results(tmp_path) == undisturbed(n_seeds=2)


def swept(out, *sweep):
    keys = {item.partition("=")[0] for item in sweep}
    return ["-m", *sweep, *(one for one in overrides(out) if one.partition("=")[0] not in keys)]


def test_a_sweep_passes_over_what_another_one_trains(server, tmp_path, undisturbed, holding):
    line = swept(tmp_path, "seed=0,1,2")
    with holding(tmp_path) as holder:
        child = server.run(tmp_path, argv=line)
        # Not 0, by which a job that needs all of them would be started; not 1, nothing failed.
        assert child.code == 75
        first, last = child.lines
        assert first.startswith(
            f"vdqn-run: skipped seed=0: seed-00000 is being trained by pid {holder.pid} on "
        )
        assert last == (
            "vdqn-run: 1 of 3 jobs skipped, since other processes train their seeds; the same "
            "command again does what is then left"
        )
        assert states(tmp_path) == {
            "seed-00000": "running",
            "seed-00001": "done",
            "seed-00002": "done",
        }
    child = server.run(tmp_path, argv=line)
    assert (child.code, child.lines) == (0, [])
    assert results(tmp_path) == undisturbed(n_seeds=3)


def test_failures_and_skipped_jobs_are_both_told(server, tmp_path, undisturbed, holding):
    """Seed 0 is held, seed 1 is damaged, seed 2 is trained."""
    with holding(tmp_path):
        (run,) = {path.parent.parent for path in tmp_path.rglob("lock")}
        (run / "seed-00001").write_text("")
        child = server.run(tmp_path, argv=swept(tmp_path, "seed=0,1,2"))
        assert child.code == 1
        skipped, failed, row, rest = child.lines
        assert skipped.startswith("vdqn-run: skipped seed=0: ")
        assert failed == "vdqn-run: error: 1 of 3 jobs failed"
        assert row.startswith(f"  seed=1  seed 1: {run}/seed-00001/lock cannot be written: ")
        assert rest.startswith("vdqn-run: 1 of 3 jobs skipped, ")
        (run / "seed-00001").unlink()
    assert states(tmp_path) == {"seed-00000": "done", "seed-00002": "done"}
