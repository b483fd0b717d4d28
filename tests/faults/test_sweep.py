"""Sweeps in which jobs fail for real: none hides another, and the list at the end is complete."""

import shutil

import yaml
from fault_runs import calls_of, results, settings, states
from test_two_processes import swept


def spoil(run):
    """Take away what a run has trained and change its settings file; return how it was."""
    for seed in run.glob("seed-*"):
        shutil.rmtree(seed)
    before = (run / "config.yaml").read_bytes()
    (run / "config.yaml").write_bytes(before + b"more: 1\n")
    return before


def test_every_failure_is_listed_and_the_rest_is_trained(server, tmp_path, undisturbed):
    line = swept(tmp_path, "env.n=3,4,5", "algo=dqn")
    assert server.run(tmp_path, argv=line).code == 0
    runs = {n: next(tmp_path.glob(f"default/chain-{n}/dqn/*")) for n in (3, 4, 5)}
    before = {n: spoil(runs[n]) for n in (4, 5)}
    shutil.rmtree(runs[3])
    child = server.run(tmp_path, argv=line)
    assert child.code == 1
    first, *rows = child.lines
    assert first == "vdqn-run: error: 2 of 3 jobs failed"
    assert [row.split()[0] for row in rows] == ["env.n=4", "env.n=5"]
    assert all("config.yaml was changed" in row for row in rows)
    assert len(list(tmp_path.rglob("dqn/*/*/policy.pt"))) == 1
    for n, content in before.items():
        (runs[n] / "config.yaml").write_bytes(content)
    child = server.run(tmp_path, argv=line)
    assert (child.code, child.lines) == (0, [])
    assert len(list(tmp_path.rglob("dqn/*/*/policy.pt"))) == 3


def test_a_disk_that_is_full_from_the_second_job_on(server, tmp_path, undisturbed):
    """Then the word about the failure cannot be written either."""
    out = tmp_path / "out"
    n_calls = len(calls_of(server, tmp_path / "calls", settings(tmp_path / "calls")))
    line = swept(out, "seed=0,1")
    out.mkdir()
    fault = {"what": "ENOSPC", "at": int(1.2 * n_calls), "lasting": True}
    child = server.run(tmp_path, argv=line, fault=fault)
    assert child.code == 1
    told, first, row = child.lines
    assert told.startswith("vdqn-run: error: seed=1: ") and "No space left on device" in told
    assert first == "vdqn-run: error: 1 of 2 jobs failed"
    assert row == "  seed=1  did not run, or its process was killed"
    child = server.run(tmp_path, argv=line)
    assert (child.code, child.lines) == (0, [])
    assert results(out) == undisturbed(n_seeds=2)


def test_old_failures_are_not_told_again(server, tmp_path):
    """Where the sweep's folder is always the same."""
    line = [*swept(tmp_path, "seed=0,1"), f"hydra.sweep.dir={tmp_path}/.sweeps/mine"]
    assert server.run(tmp_path, argv=line).code == 0
    (run,) = tmp_path.glob("default/*/*/*")
    before = spoil(run)
    child = server.run(tmp_path, argv=line)
    assert child.code == 1 and len(child.lines) == 3
    (run / "config.yaml").write_bytes(before)
    child = server.run(tmp_path, argv=line)
    assert (child.code, child.lines) == (0, [])


def test_jobs_in_processes_of_their_own(server, tmp_path, undisturbed):
    """One is killed: it leaves no word, and is told as failed."""
    out = tmp_path / "out"
    child = server.run(tmp_path, argv=[*swept(out, "seed=0,1,2"), "hydra/launcher=forks"])
    assert (child.code, child.lines) == (1, [
        "vdqn-run: error: 1 of 3 jobs failed",
        "  seed=1  did not run, or its process was killed",
    ])  # fmt: skip
    assert states(out) == {"seed-00000": "done", "seed-00002": "done"}


def test_settings_that_are_spoilt_meanwhile(server, tmp_path, undisturbed):
    """A job that Hydra cannot compose any more does not run, and the end says so."""
    out = tmp_path / "out"
    out.mkdir()
    mine = tmp_path / "mine" / "algo" / "mine.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text(yaml.safe_dump(settings(out, algo="dqn")["algo"]))
    line = [one for one in swept(out, "seed=0,1,2") if not one.startswith("algo")]
    fault = {"what": "do", "at": 60, "command": f"echo ']' > {mine}"}
    child = server.run(tmp_path, argv=["-cd", "mine", *line, "algo=mine"], fault=fault)
    assert child.code == 1
    first, *table = child.lines
    assert first.startswith("vdqn-run: error: ") and "mine.yaml" in first
    assert table == [
        "vdqn-run: error: 2 of 3 jobs failed",
        "  seed=1  did not run, or its process was killed",
        "  seed=2  did not run, or its process was killed",
    ]
    assert states(out) == {"seed-00000": "done"}


def test_settings_that_are_edited_meanwhile_stay_as_they_were(server, tmp_path, undisturbed):
    """By the first job, in a launcher's process, and the others keep to the plan."""
    out = tmp_path / "out"
    mine = tmp_path / "mine" / "algo" / "mine.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text(yaml.safe_dump(settings(out, algo="dqn")["algo"]))
    line = [one for one in swept(out, "seed=0,2") if not one.startswith("algo")]
    line += ["algo=mine", "hydra/launcher=edits"]
    child = server.run(tmp_path, argv=["-cd", "mine", *line])
    assert child.code == 0, child.lines
    (note,) = child.lines
    assert note.startswith("vdqn-run: note: seed=2: settings files were changed ")
    assert yaml.safe_load(mine.read_text())["lr"] == 0.5
    assert results(out) == {
        seed: files
        for seed, files in undisturbed(algo="dqn", n_seeds=3).items()
        if seed != "seed-00001"
    }
