"""Checkpoints: at no instant is there none, and nothing but a whole one is ever loaded."""

import io
import logging
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vdqn_runner.errors import RunError
from vdqn_runner.runs import checkpoint
from vdqn_runner.runs.checkpoint import load_checkpoint, save_checkpoint, save_policy
from vdqn_runner.runs.csvlog import CsvLog

NEWEST, PREVIOUS, POLICY = "checkpoint.pt", "checkpoint.prev.pt", "policy.pt"
HEADER_BYTES = 8 + 4 + 8 + 32


def _payload(number: int) -> dict:
    return {
        "number": number,
        "weights": torch.arange(6, dtype=torch.float32).reshape(2, 3) * number,
        "nested": {"list": [1, 2.5, "x", None, True, b"y"], 7: ("a", torch.tensor(number))},
    }


def _number(folder: Path) -> int | None:
    found = load_checkpoint(folder)
    return None if found is None else found["number"]


def _craft(body: bytes, version: int = checkpoint.FORMAT_VERSION) -> bytes:
    """A file whose checksum is right, whatever its body is."""
    fields = checkpoint._FIELDS.pack(b"VDQN-CKP", version, len(body))
    return fields + checkpoint._digest(fields, body) + body


def _pickled(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def test_everything_comes_back(tmp_path):
    assert load_checkpoint(tmp_path) is None
    values = {
        "floats": [0.1, -0.0, math.inf, 5e-324],
        "big": 2**200,
        "dtypes": [torch.arange(3).to(kind) for kind in (torch.uint8, torch.int64, torch.float64)],
        "bool": torch.tensor([True, False]),
        "uint16": torch.tensor([1, 2], dtype=torch.uint16),
        "empty": torch.empty(0, 4),
        "nested": _payload(3)["nested"],
    }
    save_checkpoint(tmp_path, values)
    found = load_checkpoint(tmp_path)
    assert found.keys() == values.keys()
    assert list(map(repr, found["floats"])) == list(map(repr, values["floats"]))
    assert found["big"] == values["big"]
    for one, other in zip(found["dtypes"], values["dtypes"], strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)
    for key in ("bool", "uint16", "empty"):
        assert found[key].dtype == values[key].dtype and torch.equal(found[key], values[key])
    assert found["nested"] == values["nested"]


def test_same_values_give_the_same_bytes_also_after_a_load(tmp_path):
    text = "name"
    copy = "".join(["na", "me"])
    save_checkpoint(tmp_path, _payload(1) | {"a": text, "b": text})
    first = (tmp_path / NEWEST).read_bytes()
    save_checkpoint(tmp_path, _payload(1) | {"a": text, "b": copy})
    assert (tmp_path / NEWEST).read_bytes() == first
    save_checkpoint(tmp_path, load_checkpoint(tmp_path))
    assert (tmp_path / NEWEST).read_bytes() == first


def test_a_row_of_a_batch_does_not_carry_the_other_rows(tmp_path):
    batch = torch.randn(64, 10_000)
    save_checkpoint(tmp_path, {"row": batch[3], "column": batch[:, 5]})
    assert (tmp_path / NEWEST).stat().st_size < 60_000
    found = load_checkpoint(tmp_path)
    assert torch.equal(found["row"], batch[3]) and torch.equal(found["column"], batch[:, 5])


def test_the_one_before_is_kept_and_no_other_file(tmp_path):
    for number in range(4):
        save_checkpoint(tmp_path, _payload(number))
        assert _number(tmp_path) == number
    assert {path.name for path in tmp_path.iterdir()} == {NEWEST, PREVIOUS}
    (tmp_path / NEWEST).unlink()
    assert _number(tmp_path) == 2


class Killed(BaseException):
    """Stands for a process that ends here: nothing after it runs, not even cleaning up."""


def _die_at(monkeypatch, call: int, after: bool) -> list[str]:
    """Kill the process at the nth system call of a save, before or after it takes effect."""
    made: list[str] = []

    def wrap(name, function):
        def stub(*args, **kwargs):
            made.append(name)
            if len(made) == call and not after:
                raise Killed
            result = function(*args, **kwargs)
            if len(made) == call:
                raise Killed
            return result

        return stub

    for name in ("replace", "fsync", "open", "close"):
        monkeypatch.setattr(os, name, wrap(name, getattr(os, name)))
    return made


@pytest.mark.parametrize("existing", [0, 1, 2])
@pytest.mark.parametrize("after", [False, True])
def test_a_kill_at_any_call_leaves_the_old_or_the_new(tmp_path, monkeypatch, existing, after):
    for call in range(1, 100):
        folder = tmp_path / str(call)
        folder.mkdir()
        for number in range(1, existing + 1):
            save_checkpoint(folder, _payload(number))
        with monkeypatch.context() as patch:
            made = _die_at(patch, call, after)
            try:
                save_checkpoint(folder, _payload(9))
            except Killed:
                killed = True
            else:
                killed = False
        if not killed:
            break
        assert _number(folder) in ({9, existing} if existing else {9, None})
        # The next save and load work as if nothing had been.
        save_checkpoint(folder, _payload(10))
        assert _number(folder) == 10
    assert made == ["fsync", *["replace"] * (2 if existing else 1), "open", "fsync", "close"]
    assert call == len(made) + 1


@pytest.mark.parametrize("written", [0, 1, 30, 52, 400, 10_000])
def test_a_kill_in_the_middle_of_writing_leaves_the_old(tmp_path, caplog, written):
    save_checkpoint(tmp_path, _payload(1))
    save_checkpoint(tmp_path, _payload(2))
    whole = (tmp_path / NEWEST).read_bytes()
    (tmp_path / (NEWEST + ".tmp")).write_bytes(whole[: min(written, len(whole) - 1)])
    assert _number(tmp_path) == 2
    assert not caplog.records
    for name in (NEWEST, PREVIOUS):
        (tmp_path / name).unlink()
    assert _number(tmp_path) is None  # killed in its first save: begin anew


SAVE_FOREVER = """
import sys
from itertools import count
from pathlib import Path
import torch
from vdqn_runner.runs.checkpoint import save_checkpoint
from vdqn_runner.runs.csvlog import CsvLog
folder = Path(sys.argv[1])
log = CsvLog(folder / "log.csv", ("number",), 0)
for number in count(1):
    log.write((number,))
    log.flush(sync=True)
    weights = torch.full((50_000,), float(number))
    save_checkpoint(folder, {"number": number, "offset": log.offset(), "weights": weights})
    log.write((-1,))  # rows after a checkpoint, which a resume drops
    log.flush()
    print(number, flush=True)
"""


@pytest.mark.parametrize("saves", [1, 7, 30])
def test_sigkill_loses_at_most_what_came_after_the_last_checkpoint(tmp_path, saves):
    process = subprocess.Popen(
        [sys.executable, "-c", SAVE_FOREVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    for _ in range(saves):
        process.stdout.readline()
    process.kill()
    rest = process.communicate()[0].splitlines()
    found = load_checkpoint(tmp_path)
    acknowledged = int(rest[-1]) if rest else saves
    assert found["number"] in (acknowledged, acknowledged + 1)
    assert torch.equal(found["weights"], torch.full((50_000,), float(found["number"])))
    CsvLog(tmp_path / "log.csv", ("number",), found["offset"]).close()
    rows = (tmp_path / "log.csv").read_text().split()
    assert rows[0] == "number" and rows[-1] == str(found["number"])


def test_a_damaged_newest_does_not_push_out_the_good_one(tmp_path, monkeypatch):
    save_checkpoint(tmp_path, _payload(1))
    save_checkpoint(tmp_path, _payload(2))
    (tmp_path / NEWEST).write_bytes(b"damaged")
    # After the fall back to 1, the next save renames the damaged file over 1 and dies.
    with monkeypatch.context() as patch:
        _die_at(patch, 2, after=True)
        with pytest.raises(Killed):
            save_checkpoint(tmp_path, _payload(3))
    assert not (tmp_path / NEWEST).exists()
    assert _number(tmp_path) == 3


def test_a_refused_write_is_one_line_and_leaves_the_old(tmp_path, monkeypatch):
    save_checkpoint(tmp_path, _payload(1))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RunError, match="cannot be written: No space left on device"):
            save_checkpoint(tmp_path, _payload(2))
        with pytest.raises(RunError, match="cannot be written: No space left on device"):
            save_policy(tmp_path / POLICY, _payload(2))
    assert _number(tmp_path) == 1
    assert not (tmp_path / POLICY).exists()


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    save_checkpoint(folder, _payload(1))
    save_checkpoint(folder, _payload(2))
    return folder


def _damage(pair: Path, tmp_path_factory, data: bytes) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    (folder / PREVIOUS).write_bytes((pair / PREVIOUS).read_bytes())
    (folder / NEWEST).write_bytes(data)
    return folder


@settings(max_examples=60, deadline=None)
@given(
    kept=st.one_of(
        st.integers(0, HEADER_BYTES + 1), st.floats(0, 1, exclude_max=True), st.integers(-60, -1)
    )
)
def test_a_truncated_newest_falls_back(pair, tmp_path_factory, kept):
    whole = (pair / NEWEST).read_bytes()
    kept = int(kept * len(whole)) if isinstance(kept, float) else kept
    assert _number(_damage(pair, tmp_path_factory, whole[:kept])) == 1


@settings(max_examples=150, deadline=None)
@given(place=st.one_of(st.integers(0, HEADER_BYTES), st.floats(0, 1, exclude_max=True)),
       bit=st.integers(0, 7))  # fmt: skip
def test_a_flipped_bit_falls_back(pair, tmp_path_factory, place, bit):
    data = bytearray((pair / NEWEST).read_bytes())
    data[int(place * len(data)) if isinstance(place, float) else place] ^= 1 << bit
    assert _number(_damage(pair, tmp_path_factory, bytes(data))) == 1


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=300))
def test_foreign_bytes_fall_back(pair, tmp_path_factory, data):
    assert _number(_damage(pair, tmp_path_factory, data)) == 1
    assert _number(_damage(pair, tmp_path_factory, _craft(data))) == 1


def test_bytes_at_the_end_fall_back(pair, tmp_path_factory):
    whole = (pair / NEWEST).read_bytes()
    assert _number(_damage(pair, tmp_path_factory, whole + b"\0")) == 1


def test_the_fall_back_is_told_in_one_line(pair, tmp_path_factory, caplog):
    folder = _damage(pair, tmp_path_factory, b"x" * 100)
    with caplog.at_level(logging.WARNING):
        assert _number(folder) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"{folder / NEWEST} is not a checkpoint; going on from {PREVIOUS}"
    ]


def test_two_unreadable_ones_are_an_error_that_names_both(tmp_path):
    (tmp_path / NEWEST).write_bytes(b"")
    (tmp_path / PREVIOUS).write_bytes(_craft(_pickled({}), version=77))
    with pytest.raises(RunError) as caught:
        load_checkpoint(tmp_path)
    assert f"{NEWEST} is cut short" in str(caught.value)
    assert f"{PREVIOUS} has format 77; this version reads format 1" in str(caught.value)
    assert "\n" not in str(caught.value)


class Trap:
    """Unpickles into a call that makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self):
        return (os.mkdir, (self.mark,))


@pytest.mark.parametrize("write", [_pickled, lambda value: pickle.dumps(value, 2)])
def test_code_in_a_checkpoint_is_not_run(pair, tmp_path_factory, caplog, write):
    mark = tmp_path_factory.mktemp("mark") / "made"
    body = write({"number": 5, "trap": Trap(mark)})
    folder = _damage(pair, tmp_path_factory, _craft(body))
    assert _number(folder) == 1
    assert not mark.exists()
    assert "is refused (UnpicklingError)" in caplog.text
    torch.load(io.BytesIO(_pickled(Trap(mark))), weights_only=False)
    assert mark.exists()  # the trap is a real one


def test_a_checkpoint_that_holds_no_dict_falls_back(pair, tmp_path_factory):
    assert _number(_damage(pair, tmp_path_factory, _craft(_pickled([1, 2])))) == 1


@pytest.mark.parametrize(
    "value",
    [np.float64(1), np.arange(3), np.random.default_rng(0), {1, 2}, Path("x"), math.sin,
     torch.nn.Parameter(torch.ones(1)), np.bool_(True)],
)  # fmt: skip
def test_what_could_not_be_loaded_is_not_saved(tmp_path, value):
    save_checkpoint(tmp_path, _payload(1))
    for save, place in ((save_checkpoint, tmp_path), (save_policy, tmp_path / POLICY)):
        with pytest.raises(TypeError, match=r"payload\['a'\]\[1\] is a .*" + type(value).__name__):
            save(place, {"a": [0, value]})
    with pytest.raises(TypeError, match="key .* of payload is a numpy.int64"):
        save_checkpoint(tmp_path, {np.int64(3): 1})
    assert {path.name for path in tmp_path.iterdir()} == {NEWEST}
    assert _number(tmp_path) == 1


def test_a_policy_is_an_ordinary_file_of_torch(tmp_path):
    save_policy(tmp_path / POLICY, _payload(1))
    save_policy(tmp_path / POLICY, {"weights": torch.ones(2, requires_grad=True)})
    found = torch.load(tmp_path / POLICY, weights_only=True)
    assert torch.equal(found["weights"], torch.ones(2)) and not found["weights"].requires_grad
    assert [path.name for path in tmp_path.iterdir()] == [POLICY]
