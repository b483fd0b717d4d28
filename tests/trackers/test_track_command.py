"""The command `vdqn-runs track`: runs that are there, and requests that make no sense."""

from pathlib import Path

import pytest
import small
from readers import as_float32, in_tensorboard, logged

from vdqn_runner.analysis.pack import pack
from vdqn_runner.manage import command
from vdqn_runner.trackers import packages

needs_tensorboard = pytest.mark.skipif(
    not packages._installed("tensorboard"), reason="needs tensorboard"
)


def told(capsys, *arguments):
    code = command.main(["track", *map(str, arguments)])
    caught = capsys.readouterr()
    return code, caught.out.splitlines(), caught.err


@needs_tensorboard
def test_runs_in_folders_and_packed_ones(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, other = (small.run("runs", algo=algo) for algo in ("dqn", "vdqn"))
    (packed,) = pack([other], Path("packed"))
    files = {path.name: path.read_bytes() for path in packed.iterdir()}
    code, lines, err = told(capsys, "tracker=tensorboard", "runs", "packed")
    assert (code, err) == (0, "")
    assert sorted(lines) == sorted(f"{run}: sent" for run in (one, other, packed))
    for run, place in ((one, one), (other, other), (other, packed / "trackers")):
        for seed in (0, 1):
            expected = as_float32(logged(small.seed_folder(run, seed)))
            assert in_tensorboard(small.seed_folder(place, seed) / "tensorboard") == expected
    # It is still a packed run.
    assert command.main(["ls", "packed"]) == 0 and "done" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in packed.iterdir() if path.is_file()} == files
    # Without paths, those below runs.
    assert told(capsys, "tracker=tensorboard") == (0, [f"{run}: sent" for run in (one, other)], "")


@needs_tensorboard
def test_a_run_that_cannot_be_sent_does_not_stop_the_others(tmp_path, capsys):
    one, other = (small.run(tmp_path, algo=algo, n_seeds=1) for algo in ("dqn", "vdqn"))
    log = small.seed_folder(one, 0) / "episodes.csv"
    log.write_text("seed,step\n0,one\n")
    code, lines, err = told(capsys, tmp_path, "tracker=tensorboard")
    assert (code, lines) == (1, [f"{other}: sent"])
    assert err.startswith(f"vdqn-runs: {one}: {log}: is no log that can be read")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{run}"], "tracker: must be given, as in tracker=tensorboard"),
        (["{run}", "tracker=none"], "tracker: must be given"),
        (["{run}", "tracker=mlfow"], "must be one of mlflow, none, tensorboard, wandb"),
        (["{run}", "tracker=mlflow", "tracker.uri=5"], "tracker.uri=5: must be a database"),
        (["{run}", "tracker=wandb,mlflow"], "several values"),
        (["nowhere", "tracker=tensorboard"], "nowhere: does not exist"),
        (["{run}", "algo=dqn", "tracker=tensorboard"], "algo=dqn: does not exist"),
    ],
)
def test_refusals(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.setattr("vdqn_runner.trackers.check_tracker", lambda tracker: None)
    run = tmp_path / "default" / "chain-5" / "dqn" / "01234567"
    (run / "seed-00000").mkdir(parents=True)
    (run / "config.yaml").write_text("algo: {name: dqn}\nenv: {kind: chain, n: 5}\nepisodes: 1\n")
    code, lines, err = told(capsys, *(item.format(run=run) for item in arguments))
    assert (code, lines) == (2, []) and words in err and err.count("\n") == 1
    assert not [*(run / "seed-00000").iterdir()]
