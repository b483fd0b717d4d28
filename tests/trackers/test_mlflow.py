"""What MLflow has of runs, read back with its own client. Needs the extra mlflow."""

import json
import sqlite3

import pytest
import small
from readers import in_mlflow, logged, mlflow_runs

from vdqn_runner.config import MLflowTracker
from vdqn_runner.trackers import packages
from vdqn_runner.trackers.sender import Sender

pytestmark = [
    pytest.mark.skipif(
        not all(map(packages._installed, ("mlflow", "sqlalchemy", "alembic"))),
        reason="needs mlflow, sqlalchemy and alembic",
    ),
    # What they warn of is theirs.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A folder with two runs and their database, which takes seconds to make."""
    patch = pytest.MonkeyPatch()
    patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    out = tmp_path_factory.mktemp("mlflow") / "runs"
    for algo in ("dqn", "vdqn"):
        folder = small.run(out, algo=algo)
        for seed in (0, 1):
            assert send(folder, seed, MLflowTracker())
    yield out
    patch.undo()


def send(folder, seed, tracker):
    sender = Sender(tracker, folder.parents[3], small.source(folder, seed))
    return sender.send(True, lambda: None)


def uri(out):
    return f"sqlite:///{out / 'mlflow.db'}"


def the_run(out, algo):
    (folder,) = (out / "default" / "chain-5" / algo).iterdir()
    return folder


def ordered(points):
    return {name: sorted(series) for name, series in points.items()}


def test_every_seed_is_a_run_with_every_row_once(out):
    client, runs = mlflow_runs(uri(out))
    assert len(runs) == 4
    for algo in ("dqn", "vdqn"):
        folder = the_run(out, algo)
        for seed in (0, 1):
            run = runs[f"chain-5/{algo}/{folder.name}/seed-{seed:05d}"]
            assert ordered(in_mlflow(client, run)) == logged(small.seed_folder(folder, seed))
            assert run.info.status == "FINISHED"
            params = run.data.params
            assert (params["algo.name"], params["env.n"], params["seed"]) == (algo, "5", str(seed))
            assert params["algo.lr"] == "0.001"
            tags = run.data.tags
            assert (tags["seed"], tags["env"], tags["algo"]) == (str(seed), "chain-5", algo)


def test_times_are_those_of_training(out):
    folder = small.seed_folder(the_run(out, "dqn"), 0)
    client, runs = mlflow_runs(uri(out))
    run = runs[f"chain-5/dqn/{folder.parent.name}/seed-00000"]
    seconds = [float(row.split(",")[3]) for row in (folder / "timing.csv").read_text().split()[1:]]
    history = client.get_metric_history(run.info.run_id, "update/lr")
    passed = [metric.timestamp - run.info.start_time for metric in history]
    expected = [1000 * sum(seconds[: k + 1]) for k in range(len(seconds))]
    assert passed == pytest.approx(expected, abs=1)
    assert run.info.end_time - run.info.start_time == pytest.approx(expected[-1], abs=1)


def test_what_is_sent_twice_is_there_once(out):
    """As after a death between sending and noting."""
    folder = the_run(out, "dqn")
    note = small.seed_folder(folder, 1) / "mlflow" / "sent.json"
    told = json.loads(note.read_text())
    assert told["step"] == 350
    for change in ({"step": 100}, None):
        note.write_text("" if change is None else json.dumps(told | change))
        assert send(folder, 1, MLflowTracker())
        client, runs = mlflow_runs(uri(out))
        assert len(runs) == 4
        run = runs[f"chain-5/dqn/{folder.name}/seed-00001"]
        assert ordered(in_mlflow(client, run)) == logged(small.seed_folder(folder, 1))
        with sqlite3.connect(out / "mlflow.db") as database:
            ((count,),) = database.execute(
                "select count(*) from metrics where run_uuid = ?", [run.info.run_id]
            )
        assert count == sum(map(len, logged(small.seed_folder(folder, 1)).values()))
        assert json.loads(note.read_text()) == told


def test_a_seed_that_goes_on_is_the_same_run(out):
    folder = small.run(out, n_seeds=1, algo="noisynet")
    status = small.seed_folder(folder, 0) / "status.json"
    done = json.loads(status.read_text())
    for change, state in ({"state": "stopped", "steps": 150}, "KILLED"), ({}, "FINISHED"):
        status.write_text(json.dumps(done | change))
        assert send(folder, 0, MLflowTracker())
        client, runs = mlflow_runs(uri(out))
        run = runs[f"chain-5/noisynet/{folder.name}/seed-00000"]
        assert run.info.status == state
        steps = [step for step, _ in in_mlflow(client, run)["episode/return"]]
        assert steps == list(range(14, change.get("steps", 350) + 1, 14))
    client.delete_run(run.info.run_id)


def test_an_end_that_was_not_told_is_told(out):
    """All rows were sent, and then the process was killed."""
    folder = the_run(out, "vdqn")
    note = small.seed_folder(folder, 1) / "mlflow" / "sent.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"state": ""}))
    client, runs = mlflow_runs(uri(out))
    run = runs[f"chain-5/vdqn/{folder.name}/seed-00001"]
    client.update_run(run.info.run_id, status="RUNNING")
    assert send(folder, 1, MLflowTracker())
    again = client.get_run(run.info.run_id)
    assert (again.info.status, again.info.end_time) == ("FINISHED", run.info.end_time)


def test_another_experiment_is_another_place(out):
    folder = the_run(out, "dqn")
    assert send(folder, 0, MLflowTracker(experiment="other", uri=uri(out)))
    assert [*mlflow_runs(uri(out), "other")[1]] == [f"chain-5/dqn/{folder.name}/seed-00000"]
    assert len(mlflow_runs(uri(out))[1]) == 4


def test_it_writes_below_out_alone(out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    send(the_run(out, "dqn"), 0, MLflowTracker(experiment="third"))
    assert [*tmp_path.iterdir()] == []
    assert {path.name for path in out.iterdir()} <= {"default", "mlflow.db", "mlflow.db.lock"}


def test_all_packages_are_there():
    packages.check_tracker(MLflowTracker())
