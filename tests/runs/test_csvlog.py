"""CSV logs: the same bits come back, and any kind of death leaves a file that resumes."""

import csv
import math
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vdqn_runner.errors import RunError
from vdqn_runner.runs.csvlog import CsvLog

COLUMNS = ("step", "loss")


def _bits(value: float) -> bytes:
    return struct.pack("<d", math.nan if math.isnan(value) else value)


# All doubles by their bit pattern, so subnormals and both zeros are as likely as their number.
any_double = st.integers(0, 2**64 - 1).map(lambda n: struct.unpack("<d", struct.pack("<Q", n))[0])
doubles = st.one_of(st.floats(), any_double)


@settings(max_examples=150, deadline=None)
@given(values=st.lists(doubles, min_size=1, max_size=30))
def test_floats_come_back_bit_for_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("log") / "x.csv"
    with CsvLog(path, COLUMNS, 0) as log:
        for step, value in enumerate(values):
            log.write((step, value))
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(len(values)))
    wanted = [_bits(value) for value in values]
    assert [_bits(float(row["loss"])) for row in rows] == wanted
    frame = pd.read_csv(path)
    assert frame["loss"].dtype == np.float64
    assert [_bits(value) for value in frame["loss"]] == wanted


def test_bytes_of_every_kind_of_number(tmp_path):
    path = tmp_path / "x.csv"
    with CsvLog(path, ("a", "b,c"), 0) as log:
        log.write([True, False])
        log.write([np.bool_(True), np.int64(-7)])
        log.write([np.float32(0.1), np.float64(0.1)])
        log.write([torch.tensor(0.1), np.array(3)])
        log.write([math.nan, -math.inf])
        log.write({"b,c": 10**20, "a": -0.0})
    assert path.read_bytes() == (
        b'a,"b,c"\n1,0\n1,-7\n0.10000000149011612,0.1\n0.10000000149011612,3\nnan,-inf\n'
        b"-0.0,100000000000000000000\n"
    )


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ((1,), ValueError),
        ((1, 2, 3), ValueError),
        ({"step": 1}, ValueError),
        ({"step": 1, "loss": 2, "x": 3}, ValueError),
        ((1, None), TypeError),
        ((1, "2"), TypeError),
        ((1, "a,b"), TypeError),
        ((1, "a\nb"), TypeError),
        ((1, 1j), TypeError),
    ],
)
def test_wrong_rows_are_refused_and_leave_no_trace(tmp_path, row, error):
    path = tmp_path / "x.csv"
    with CsvLog(path, COLUMNS, None) as log, pytest.raises(error):
        log.write(row)
    assert path.read_bytes() == b"step,loss\n"


def test_names_are_written_as_they_are(tmp_path):
    with CsvLog(tmp_path / "log.csv", ("policy", "x"), 0) as log:
        log.write({"x": 1.5, "policy": "mean"})
        log.write(("sample", 2))
    assert (tmp_path / "log.csv").read_bytes() == b"policy,x\nmean,1.5\nsample,2\n"


def test_offset_is_the_size_of_the_file_and_close_is_idempotent(tmp_path):
    path = tmp_path / "x.csv"
    log = CsvLog(path, COLUMNS, None)
    assert log.offset() == path.stat().st_size == len("step,loss\n")
    log.write((1, 0.5))
    assert log.offset() == path.stat().st_size == len("step,loss\n1,0.5\n")
    log.close()
    log.close()
    with CsvLog(path, COLUMNS, None) as again:
        assert again.offset() == path.stat().st_size == len("step,loss\n1,0.5\n")


def test_only_whole_lines_reach_the_file(tmp_path):
    path = tmp_path / "x.csv"
    log = CsvLog(path, COLUMNS, None)
    sizes = set()
    for step in range(20_000):
        log.write((step, 1 / (step + 1)))
        size = path.stat().st_size
        if size not in sizes:
            sizes.add(size)
            assert path.read_bytes()[-1:] in (b"", b"\n")
    assert len(sizes) > 3  # memory is bounded: rows were written before anyone asked
    log.close()


@settings(max_examples=60, deadline=None)
@given(
    before=st.lists(doubles, max_size=5),
    after=st.lists(doubles, max_size=5),
    torn=st.binary(max_size=10),
)
def test_resume_from_an_offset_gives_the_undisturbed_bytes(tmp_path_factory, before, after, torn):
    folder = tmp_path_factory.mktemp("log")
    undisturbed, path = folder / "a.csv", folder / "b.csv"
    with CsvLog(undisturbed, COLUMNS, 0) as log:
        for value in before + after:
            log.write((0, value))
    log = CsvLog(path, COLUMNS, 0)
    for value in before:
        log.write((0, value))
    offset = log.offset()
    for value in after:
        log.write((1, value))
    log.close()
    with open(path, "ab") as file:  # what was being written when the process died
        file.write(torn)
    with CsvLog(path, COLUMNS, offset) as log:
        for value in after:
            log.write((0, value))
    assert path.read_bytes() == undisturbed.read_bytes()


@pytest.mark.parametrize("kept", range(len("step,loss\n1,0.5\n") + 1))
def test_death_at_any_byte_before_the_first_checkpoint(tmp_path, kept):
    whole = b"step,loss\n1,0.5\n"
    path = tmp_path / "x.csv"
    path.write_bytes(whole[:kept])
    CsvLog(path, COLUMNS, None).close()
    lines = {10: b"step,loss\n", 16: whole}
    # The header is made whole, a torn row is dropped, whole lines stay.
    assert path.read_bytes() == lines[16 if kept == 16 else 10]
    path.write_bytes(whole[:kept])
    CsvLog(path, COLUMNS, 0).close()
    assert path.read_bytes() == b"step,loss\n"


def test_a_torn_line_longer_than_the_block_that_is_searched(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"step,loss\n1,2\n" + b"9" * 200_000)
    CsvLog(path, COLUMNS, None).close()
    assert path.read_bytes() == b"step,loss\n1,2\n"


def test_a_file_shorter_than_the_offset_is_named_with_both_sizes(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"step,loss\n")
    with pytest.raises(RunError, match=r"x\.csv has 10 bytes .* at 99"):
        CsvLog(path, COLUMNS, 99)
    assert path.read_bytes() == b"step,loss\n"


def test_an_offset_inside_a_line_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"step,loss\n1,0.5\n")
    with pytest.raises(RunError, match="no end of line at byte 12"):
        CsvLog(path, COLUMNS, 12)
    assert path.read_bytes() == b"step,loss\n1,0.5\n"


def test_other_columns_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"step,loss,more\n1,0.5,2\n")
    with pytest.raises(RunError, match="does not begin with the columns step,loss:"):
        CsvLog(path, COLUMNS, None)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line_and_close_does_not_repeat_it(tmp_path):
    path = tmp_path / "x.csv"
    path.symlink_to("/dev/full")
    log = CsvLog(path, COLUMNS, None)
    with pytest.raises(RunError, match=r"x\.csv cannot be written: No space left on device"):
        log.flush()
    log.close()


def test_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(RunError, match=r"x\.csv cannot be written: No such file"):
        CsvLog(tmp_path / "none" / "x.csv", COLUMNS, None)
