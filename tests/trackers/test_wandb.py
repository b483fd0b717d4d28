"""What Weights & Biases writes offline, read record by record. Needs the extra wandb."""

import json

import pytest
import small
from readers import in_wandb, logged, wandb_records

from vdqn_runner.manage import command
from vdqn_runner.trackers import packages

pytestmark = pytest.mark.skipif(not packages._installed("wandb"), reason="needs wandb")


def records(folder):
    """Of the one offline run in a folder."""
    (run,) = folder.glob("wandb/offline-run-*")
    (file,) = run.glob("*.wandb")
    return wandb_records(file)


def told(found):
    """The record of the run itself."""
    (record,) = [one for one in found if one.WhichOneof("record_type") == "run"]
    return record.run


def test_every_seed_is_a_run_with_every_row_once(tmp_path, monkeypatch, caplog, capfd):
    monkeypatch.chdir(tmp_path)
    folder = small.run("runs", "wandb", workers=2, algo="vdqn")
    assert not caplog.records and capfd.readouterr() == ("", "")
    assert small.logs(folder) == small.logs(small.run(tmp_path / "plain", algo="vdqn"))
    for seed in (0, 1):
        found = records(small.seed_folder(folder, seed))
        assert in_wandb(found) == logged(small.seed_folder(folder, seed))
        run = told(found)
        config = {item.key: json.loads(item.value_json) for item in run.config.update}
        assert config["algo"]["name"] == "vdqn" and config["env"]["n"] == 5
        assert config["seed"] == seed
        assert run.project == "vdqn-runner"
        assert run.display_name == f"chain-5/vdqn/{folder.name}/seed-{seed:05d}"
        assert run.run_group == f"default/chain-5/vdqn/{folder.name}"
        assert {f"seed={seed}", "env=chain-5", "algo=vdqn"} <= set(run.tags)
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "plain"}


def test_a_seed_that_goes_on_has_one_file_with_all_of_it(tmp_path, capsys):
    folder = small.run(tmp_path, n_seeds=1)
    seed = small.seed_folder(folder, 0)
    status = seed / "status.json"
    done = json.loads(status.read_text())
    names = []
    for change, steps in ({"state": "stopped", "steps": 150}, 140), ({}, 350):
        status.write_text(json.dumps(done | change))
        assert command.main(["track", str(tmp_path), "tracker=wandb"]) == 0
        assert capsys.readouterr().out == f"{folder}: sent\n"
        found = records(seed)
        names.append(told(found).run_id)
        assert [step for step, _ in in_wandb(found)["episode/return"]] == [
            *range(14, steps + 1, 14)
        ]
    assert in_wandb(found) == logged(seed)
    assert names[0] == names[1]


def test_without_a_server_a_run_is_as_ever(tmp_path, monkeypatch, caplog):
    """Online is asked for, and nobody is logged in."""
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    folder = small.run(tmp_path / "runs", {"kind": "wandb", "mode": "online"}, n_seeds=1)
    (record,) = caplog.records
    assert "tracker=wandb: seed 0 of" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert small.logs(folder) == small.logs(small.run(tmp_path / "plain", n_seeds=1))
