"""Packed runs: the same numbers to the last bit, the same bytes from the same runs."""

import csv
import dataclasses
import io
import lzma
import math
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_folders import algo, chain, write_chain_run, write_config, write_gym_run, write_seed

from vdqn_runner.analysis import pack as command
from vdqn_runner.analysis.load import (
    find_runs,
    load_episodes,
    load_evaluations,
    load_status,
    load_updates,
    unfinished,
)
from vdqn_runner.analysis.packed import seeds_table
from vdqn_runner.errors import RunError
from vdqn_runner.runs.csvlog import CsvLog
from vdqn_runner.runs.status import Status, write_status

UPDATES = ["seed", "iteration", "episode", "step", "updates", "loss", "sigma_min"]
EVALUATIONS = "seed,episode,step,policy,trial,return,length\n"
STATUS = Status(
    seed=0,
    state="done",
    reason=None,
    episodes=30,
    episodes_done=30,
    steps=150,
    updates=100,
    versions={"torch": "2.13.0", "python": "3.11.7"},
    commit="0123abcd+dirty",
    command="vdqn-run name='a, \"b\"'",
    started="2017-11-30T12:00:00+00:00",
    updated="2017-11-30T12:10:00+00:00",
)


def log_updates(folder, seed, losses):
    with CsvLog(folder / "updates.csv", UPDATES, 0) as log:
        for i, loss in enumerate(losses):
            log.write([seed, i, 10 * i + 9, 50 * (i + 1), i, loss, 0.1 * i])


@pytest.fixture
def raw(tmp_path):
    top = tmp_path / "runs"
    folder = write_chain_run(
        top / "paper" / "chain-5" / "vdqn" / "0a1b2c3d", 5, "vdqn", seeds=3, episodes=30, tau=9
    )
    for seed in range(3):
        seed_folder = folder / f"seed-{seed:05d}"
        log_updates(seed_folder, seed, [math.nan, 1 / 3, math.inf])
        write_status(seed_folder, dataclasses.replace(STATUS, seed=seed))
        rows = f"{seed},30,150,mean,0,{0.1 + 0.2},14\n{seed},30,150,sample,0,-0.0,14\n"
        (seed_folder / "evaluations.csv").write_text(EVALUATIONS + rows)
    write_gym_run(
        top / "paper" / "CartPole-v1" / "dqn" / "ffffffff", "CartPole-v1", "dqn",
        seeds=2, episodes=30, low=10, high=500, tau=10,
    )  # fmt: skip
    return top


def pack(*arguments):
    return command.main([str(argument) for argument in arguments])


def assert_same_bits(one, other):
    """As assert_frame_equal, which takes 0.0 for -0.0."""
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    for column in one.select_dtypes("float64"):
        assert one[column].to_numpy().tobytes() == other[column].to_numpy().tobytes()


def assert_same_run(one, other):
    assert (dict(one.config), list(one.seeds)) == (dict(other.config), list(other.seeds))
    for load in (load_episodes, load_updates, load_evaluations):
        assert_same_bits(load(one), load(other))
    assert load_status(one) == load_status(other)


def files_below(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_packed_runs_are_read_as_the_runs_themselves(raw, tmp_path, capsys):
    assert pack(raw, "-o", tmp_path / "new" / "packed") == 0
    shown = capsys.readouterr().out.splitlines()
    packed = find_runs([tmp_path / "new" / "packed"])
    assert sorted(shown) == [str(run.path) for run in packed]
    assert [run.path.relative_to(tmp_path / "new" / "packed") for run in packed] == [
        run.path.relative_to(raw) for run in find_runs([raw])
    ]
    for one, other in zip(find_runs([raw]), packed, strict=True):
        assert (one.packed, other.packed) == (False, True)
        assert_same_run(one, other)
        assert (other.path / "config.yaml").read_bytes() == (one.path / "config.yaml").read_bytes()
    chain_run = next(run for run in packed if run.n == 5)
    assert load_evaluations(chain_run)["return"].tolist() == [0.1 + 0.2, -0.0] * 3
    assert load_status(chain_run)[2] == dataclasses.replace(STATUS, seed=2)
    assert math.isnan(load_updates(chain_run)["loss"][0])


def test_tables_hold_the_characters_of_the_logs(raw, tmp_path):
    assert pack(raw, "-o", tmp_path / "packed") == 0
    folder = Path("paper", "chain-5", "vdqn", "0a1b2c3d")
    for name in ("episodes.csv", "updates.csv", "evaluations.csv"):
        texts = [(raw / folder / f"seed-0000{k}" / name).read_text() for k in range(3)]
        header = texts[0].splitlines(keepends=True)[0]
        expected = header + "".join(text.removeprefix(header) for text in texts)
        content = (tmp_path / "packed" / folder / f"{name}.xz").read_bytes()
        assert lzma.decompress(content).decode() == expected
    with (tmp_path / "packed" / folder / "seeds.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["seed"] for row in rows] == ["0", "1", "2"]
    assert {row["command"] for row in rows} == {STATUS.command}
    assert {(row["state"], row["steps"], row["commit"], row["reason"]) for row in rows} == {
        ("done", "150", "0123abcd+dirty", "")
    }


def test_the_same_runs_give_the_same_bytes_in_another_process_and_packed_again(raw, tmp_path):
    assert pack(raw, "-o", tmp_path / "1") == 0
    arguments = [sys.executable, "-m", "vdqn_runner.analysis.pack", str(raw), "-o"]
    done = subprocess.run([*arguments, tmp_path / "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert pack(tmp_path / "1", "-o", tmp_path / "3") == 0
    assert pack(raw, "-o", tmp_path / "1") == 0
    first = files_below(tmp_path / "1")
    assert len(first) == 8  # of CartPole no updates and no evaluations were logged
    assert files_below(tmp_path / "2") == first == files_below(tmp_path / "3")


def numbers():
    return st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(0, 2**64 - 1)
        .map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
        .filter(math.isfinite),
    )


texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
statuses = st.builds(
    Status,
    seed=st.just(7),
    state=st.sampled_from(["planned", "running", "stopped", "done", "failed"]),
    reason=st.none() | texts,
    episodes=st.just(4),
    episodes_done=st.integers(0, 4),
    steps=st.integers(0, 2**60),
    updates=st.integers(0, 2**60),
    versions=st.dictionaries(texts, texts, max_size=3),
    commit=st.none() | texts,
    command=texts,
    started=texts,
    updated=texts,
)


@settings(deadline=None, max_examples=60)
@given(
    returns=st.dictionaries(
        st.integers(0, 10**7), st.lists(numbers(), max_size=4), min_size=1, max_size=3
    ),
    losses=st.lists(numbers() | st.sampled_from([math.inf, math.nan]), max_size=3),
    status=st.none() | statuses,
)
def test_any_numbers_and_texts_survive(returns, losses, status):
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top, "runs", "a", "b", "c", "d")
        write_config(folder, chain(5), algo("vdqn"), 4)
        for seed, values in returns.items():
            seed_folder = write_seed(folder, seed, values, [(0, 1, 1)] * len(values))
            log_updates(seed_folder, seed, losses)
            if status:
                write_status(seed_folder, dataclasses.replace(status, seed=seed))
        assert pack(Path(top, "runs"), "-o", Path(top, "packed")) == 0
        (one,), (other,) = find_runs([Path(top, "runs")]), find_runs([Path(top, "packed")])
        assert_same_run(one, other)
        written = [value for seed in sorted(returns) for value in returns[seed]]
        found = load_episodes(other)["return"].tolist()
        assert [v.hex() for v in found] == [v.hex() for v in written]


def test_unfinished_runs_are_packed_as_far_as_they_are(tmp_path, capsys):
    folder = write_chain_run(
        tmp_path / "runs", 8, "vdqn", seeds=3, episodes=50, tau=9, lengths=[50, 31, 0]
    )
    with (folder / "seed-00001" / "episodes.csv").open("a") as stream:
        stream.write("1,31,3")
    (folder / "seed-00003").mkdir()
    assert pack(folder, "-o", tmp_path / "packed") == 0
    note = capsys.readouterr().err
    assert note.startswith("vdqn-pack: note: ") and note.count("\n") == 1
    assert "seed 1 has 31" in note and "seed 3 has 0" in note
    (run,) = find_runs([tmp_path / "packed"])
    frame = load_episodes(run)
    assert frame.groupby("seed").size().to_dict() == {0: 50, 1: 31}
    assert (
        unfinished(run, frame).removeprefix(str(run.path)) == note.strip().partition(str(folder))[2]
    )
    assert load_status(run) == dict.fromkeys(range(4))
    assert load_updates(run).empty and load_evaluations(run).empty


def test_a_seed_that_is_not_marked_as_done_is_noted(raw, tmp_path, capsys):
    folder = raw / "paper" / "chain-5" / "vdqn" / "0a1b2c3d"
    write_status(folder / "seed-00001", dataclasses.replace(STATUS, seed=1, state="running"))
    assert pack(folder, "-o", tmp_path / "packed") == 0
    assert "unfinished: seed 1 is running" in capsys.readouterr().err


def test_packing_again_replaces_what_was_there(raw, tmp_path):
    assert pack(raw, "-o", tmp_path / "packed") == 0
    folder = raw / "paper" / "chain-5" / "vdqn" / "0a1b2c3d"
    write_seed(folder, 3, [1.0] * 30, [(0, 1, 1)] * 30)
    for file in folder.glob("seed-*/evaluations.csv"):
        file.unlink()
    assert pack(raw, "-o", tmp_path / "packed") == 0
    for one, other in zip(find_runs([raw]), find_runs([tmp_path / "packed"]), strict=True):
        assert_same_run(one, other)


def test_packing_again_loses_no_seed(raw, tmp_path, capsys):
    assert pack(raw, "-o", tmp_path / "packed") == 0
    before = files_below(tmp_path / "packed")
    shutil.rmtree(raw / "paper" / "chain-5" / "vdqn" / "0a1b2c3d" / "seed-00001")
    capsys.readouterr()
    assert pack(raw, "-o", tmp_path / "packed") == 1
    assert "holds seed 1, which" in capsys.readouterr().err
    assert files_below(tmp_path / "packed") == before


def test_a_copy_cut_short_is_no_run(raw, tmp_path, monkeypatch):
    assert pack(raw, "-o", tmp_path / "packed") == 0

    def fail(file, chunks):
        raise RunError(f"{file} cannot be written")

    monkeypatch.setattr(command, "write_atomic", fail)
    assert pack(raw / "paper" / "chain-5", "-o", tmp_path / "packed") == 1
    assert [run.n for run in find_runs([tmp_path / "packed"])] == [None]


def refusal(capsys):
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    return captured.err


def test_bad_requests_create_nothing(raw, tmp_path, capsys):
    before = files_below(raw)
    assert pack(raw / "papre", "-o", tmp_path / "o") == 2
    assert "did you mean" in refusal(capsys)
    assert pack(raw, "-o", raw) == 2
    assert "would replace it" in refusal(capsys)
    twin = tmp_path / "other" / "runs"
    shutil.copytree(raw, twin)
    assert pack(raw, twin, "-o", tmp_path / "o") == 2
    assert "would both become" in refusal(capsys)
    assert pack(raw, "-o", twin) == 2
    assert "seed-* folders already" in refusal(capsys)
    assert files_below(raw) == before == files_below(twin) and not (tmp_path / "o").exists()


def test_damaged_runs_are_not_packed(raw, tmp_path, capsys):
    folder = raw / "paper" / "chain-5" / "vdqn" / "0a1b2c3d"
    file = folder / "seed-00001" / "updates.csv"
    whole = file.read_text()
    for content, message in (
        (whole.replace("0.3333", "x"), "could not convert"),
        (whole.replace("sigma_min", "sigma_least"), "other columns"),
        (whole.replace("\n1,", "\n2,"), "row of seed 2"),
    ):
        file.write_text(content)
        assert pack(folder, "-o", tmp_path / "o") == 1
        error = refusal(capsys)
        assert message in error and str(file) in error
        assert not (tmp_path / "o").exists()


def test_damaged_packed_runs_are_named(raw, tmp_path):
    assert pack(raw / "paper" / "chain-5", "-o", tmp_path) == 0
    folder = tmp_path / "paper" / "chain-5" / "vdqn" / "0a1b2c3d"
    (run,) = find_runs([folder])
    table, seeds = folder / "episodes.csv.xz", folder / "seeds.csv"
    whole = table.read_bytes()
    for content in (whole[:-20], whole[:40] + b"\0" + whole[41:], b"", b"seed,episode\n"):
        table.write_bytes(content)
        with pytest.raises(RunError, match=r"episodes\.csv\.xz: is no complete xz file"):
            load_episodes(run)
    rows = seeds.read_text().splitlines(keepends=True)
    for text, message in (
        ("", "has no seed"),
        (rows[0], "has no seed"),
        ("".join([*rows, rows[-1]]), "seed twice"),
        ("".join(rows).replace('"done"', '"finished"'), "no status"),
        ("".join(rows).replace("150", "many"), "is no table of seeds"),
        ("seed\nx\n", "is no table of seeds"),
    ):
        seeds.write_text(text)
        with pytest.raises(RunError, match=f"seeds.csv: .*{message}"):
            find_runs([folder])
    table.write_bytes(whole)
    seeds.write_text("".join(rows[:-1]))
    with pytest.raises(RunError, match="row of seed 2"):
        load_episodes(find_runs([folder])[0])
    (folder / "seed-00009").mkdir()
    with pytest.raises(RunError, match=r"both seed-\* folders and seeds\.csv"):
        find_runs([folder])


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("vdqn-run env.n=5 out=/home/me/runs seed=3", "vdqn-run env.n=5 seed=3"),
        ("vdqn-run 'out=/home/my runs' seed=3", "vdqn-run seed=3"),
        ("vdqn-run -m seed=1,2 'hydra.sweep.dir='\"'\"'/home/x'\"'\"''", "vdqn-run -m seed=1,2"),
        ("vdqn-run name=about=out", "vdqn-run name=about=out"),
    ],
)
def test_commands_keep_no_folder_of_this_machine(written, kept):
    table = seeds_table({3: dataclasses.replace(STATUS, seed=3, command=written)})
    (row,) = csv.DictReader(io.StringIO(table.decode()))
    assert row["command"] == kept


def test_the_command_never_imports_torch(raw, tmp_path):
    code = (
        "import sys, vdqn_runner.analysis.pack as p\n"
        "assert not {'torch', 'pandas', 'numpy'} & set(sys.modules)\n"
        "assert p.main(sys.argv[1:]) == 0 and 'torch' not in sys.modules\n"
    )
    arguments = [sys.executable, "-c", code, str(raw), "-o", str(tmp_path / "o")]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
