"""status.json: written whole, read with tolerance."""

import dataclasses
import json

import pytest

from vdqn_runner.errors import RunError
from vdqn_runner.runs.status import Status, read_status, write_status

STATUS = Status(
    seed=3,
    state="failed",
    reason="loss is nan — at step 7",
    episodes=2000,
    episodes_done=12,
    steps=1308,
    updates=808,
    versions={"python": "3.11.7"},
    commit=None,
    command="vdqn-run env=chain env.n=100",
    started="2017-11-30T12:00:00+00:00",
    updated="2017-11-30T12:01:00+00:00",
)


def test_it_comes_back_and_leaves_no_other_file(tmp_path):
    assert read_status(tmp_path) is None
    write_status(tmp_path, dataclasses.replace(STATUS, state="running", reason=None))
    write_status(tmp_path, STATUS)
    assert read_status(tmp_path) == STATUS
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]
    assert json.loads((tmp_path / "status.json").read_text()) == dataclasses.asdict(STATUS)


def test_a_torn_file_of_any_length_is_none(tmp_path):
    write_status(tmp_path, STATUS)
    path = tmp_path / "status.json"
    whole = path.read_bytes()
    for kept in range(len(whole.rstrip())):
        path.write_bytes(whole[:kept])
        assert read_status(tmp_path) is None


@pytest.mark.parametrize("key", [field.name for field in dataclasses.fields(Status)])
def test_a_missing_or_mistyped_key_is_none(tmp_path, key):
    found = dataclasses.asdict(STATUS)
    for broken in ({**found, key: [1]}, {name: found[name] for name in found if name != key}):
        (tmp_path / "status.json").write_text(json.dumps(broken))
        assert read_status(tmp_path) is None


@pytest.mark.parametrize("text", ["[]", "null", "3", '{"state": "resting"}', "\x00", "nan"])
def test_json_that_is_no_status_is_none(tmp_path, text):
    (tmp_path / "status.json").write_text(text)
    assert read_status(tmp_path) is None


def test_keys_of_later_versions_are_left_out(tmp_path):
    found = {**dataclasses.asdict(STATUS), "more": 1}
    (tmp_path / "status.json").write_text(json.dumps(found))
    assert read_status(tmp_path) == STATUS


def test_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(RunError, match="cannot be written: No such file"):
        write_status(tmp_path / "none", STATUS)
