"""One seed is sent in every order of looks, deaths and resumes: each row arrives once."""

import json
import shutil

import pytest
import small
from readers import as_float32, events, in_tensorboard, logged

from vdqn_runner.config import TensorBoardTracker
from vdqn_runner.errors import RunError
from vdqn_runner.runs.lock import SeedLock
from vdqn_runner.trackers import sender, to_tensorboard
from vdqn_runner.trackers.sender import Sender

pytest.importorskip("tensorboard")
FILE = to_tensorboard.FILE


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return small.run(tmp_path_factory.mktemp("trained") / "runs", n_seeds=1, algo="vdqn")


@pytest.fixture
def run(tmp_path, trained):
    out = trained.parents[3]
    shutil.copytree(out, tmp_path / "runs")
    return tmp_path / "runs" / trained.relative_to(out)


@pytest.fixture
def folder(run):
    return small.seed_folder(run, 0)


@pytest.fixture
def undisturbed(tmp_path, trained):
    """The event file that is written in one go."""
    out = trained.parents[3]
    shutil.copytree(out, tmp_path / "undisturbed")
    run = tmp_path / "undisturbed" / trained.relative_to(out)
    send(run)
    return content(small.seed_folder(run, 0))


def begin(run):
    return Sender(TensorBoardTracker(), run.parents[3], small.source(run, 0))


def send(run):
    """What a process does that ends then."""
    return begin(run).send(True, lambda: None)


def status(folder, **changes):
    file = folder / "status.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def content(folder):
    return (folder / "tensorboard" / FILE).read_bytes()


def test_all_rows_are_there(run, folder):
    assert send(run)
    assert in_tensorboard(folder / "tensorboard") == as_float32(logged(folder))
    steps = [step for step, _ in in_tensorboard(folder / "tensorboard")["episode/return"]]
    assert steps == [14 * (k + 1) for k in range(25)]


def test_settings_are_hyperparameters_and_seeds_are_a_group(run, folder):
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    send(run)
    found = events(folder / "tensorboard").PluginTagToContent("hparams")
    (told,) = found.values()
    start = HParamsPluginData.FromString(told).session_start_info
    assert start.group_name == f"default/chain-5/vdqn/{run.name}"
    assert start.hparams["algo.batch_size"].number_value == 8
    assert start.hparams["env.n"].number_value == 5
    assert start.hparams["algo.name"].string_value == "vdqn"
    assert start.hparams["seed"].number_value == 0


def test_what_a_crash_would_take_back_is_not_sent(run, folder, undisturbed):
    status(folder, state="running", steps=150)
    assert send(run)
    early = in_tensorboard(folder / "tensorboard")["episode/return"]
    assert [step for step, _ in early] == [14 * (k + 1) for k in range(10)]  # to 140
    status(folder, state="done", steps=350)
    assert send(run)
    assert content(folder) == undisturbed
    assert send(run)
    assert content(folder) == undisturbed


def test_a_seed_that_trains_is_looked_at_again_and_again(run, folder, undisturbed, monkeypatch):
    again = begin(run)
    for steps in (0, 50, 50, 100, 250, 300, 350):
        status(folder, state="running", steps=steps)
        assert again.send(False, lambda: None)
    assert in_tensorboard(folder / "tensorboard") == as_float32(logged(folder))
    status(folder, state="running", steps=400)
    monkeypatch.setattr(sender, "PATIENCE", 0.3)
    with pytest.raises(RunError, match="is being written by another process"):
        send(run)
    status(folder, state="done", steps=350)
    again.send(False, lambda: None)
    assert content(folder) == undisturbed
    with SeedLock(folder / "tensorboard"):
        pass  # it has been let go of


@pytest.mark.parametrize("at", [1, 2, 4, 6])
def test_a_death_between_sending_and_noting(run, folder, undisturbed, monkeypatch, at):
    monkeypatch.setattr(sender, "EPISODES_AT_ONCE", 5)
    note, count = to_tensorboard.write_sent, [0]

    def dies(*arguments):
        count[0] += 1
        if count[0] == at:
            raise KeyError("as if it had died")
        note(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(to_tensorboard, "write_sent", dies)
        with pytest.raises(KeyError):
            send(run)
    # Even the end of what was written may be torn.
    with (folder / "tensorboard" / FILE).open("ab") as file:
        file.write(b"torn")
    assert send(run)
    assert content(folder) == undisturbed
    assert in_tensorboard(folder / "tensorboard") == as_float32(logged(folder))


@pytest.mark.parametrize("damage", ["file", "note", "both"])
def test_what_somebody_removed_is_written_again(run, folder, undisturbed, damage):
    status(folder, state="running", steps=150)
    send(run)
    if damage in ("file", "both"):
        (folder / "tensorboard" / FILE).unlink()
    if damage in ("note", "both"):
        (folder / "tensorboard" / "sent.json").write_text("{")
    status(folder, state="done", steps=350)
    assert send(run)
    assert content(folder) == undisturbed


def test_a_seed_that_was_trained_anew_is_another(run, folder, undisturbed):
    send(run)
    status(folder, started="2026-01-01T00:00:00+00:00")
    assert send(run)
    assert in_tensorboard(folder / "tensorboard") == as_float32(logged(folder))
    assert events(folder / "tensorboard").FirstEventTimestamp() == 1767225600.0


def test_a_seed_without_status_waits(run, folder):
    (folder / "status.json").unlink()
    assert not send(run)
    assert not (folder / "tensorboard").exists()


def test_a_damaged_log_is_told(run, folder):
    log = folder / "updates.csv"
    log.write_text(log.read_text().replace(",", ";", 40))
    with pytest.raises(RunError, match=r"updates\.csv: is no log that can be read"):
        send(run)
    with SeedLock(folder / "tensorboard"):
        pass
