"""Folders that were damaged between two commands: recovery or one clear line, never a wrong log.

And one damaged seed does not hold back the others of its batch.
"""

import shutil

import pytest
from fault_runs import calls_of, error_of, results, settings, states, the_run

from vdqn_runner.runs.checkpoint import load_checkpoint, save_checkpoint

TWO = {"n_seeds": 2}


@pytest.fixture(scope="module")
def killed(server, tmp_path_factory):
    """A run of two seeds, both with two checkpoints, that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    calls = calls_of(server, folder / "straight", settings(folder / "straight", **TWO))
    out = folder / "out"
    out.mkdir()
    at = len(calls) - calls[::-1].index("replace checkpoint.pt.tmp") + 6
    child = server.run(out, settings=settings(out, **TWO), fault={"what": "kill", "at": at})
    assert child.code == -9
    assert len(list(out.rglob("checkpoint.prev.pt"))) == 2
    return out


@pytest.fixture
def out(killed, tmp_path):
    return shutil.copytree(killed, tmp_path / "out")


@pytest.fixture
def goes_on(server, out, undisturbed):
    """Check that the same command finishes with the undisturbed bytes; return what it printed."""

    def check():
        child = server.run(out, settings=settings(out, **TWO))
        assert child.code == 0, child.lines
        found = {name: seed for name, seed in results(out).items() if name != "seed-x"}
        assert found == undisturbed(**TWO)
        return child.lines

    return check


@pytest.fixture
def fails(server, out, undisturbed):
    """Check that the command fails with one line that names seed 1, and that seed 0 is done."""

    def check():
        told = error_of(server.run(out, settings=settings(out, **TWO)))
        assert told.startswith("seed 1: ")
        assert results(out)["seed-00000"] == undisturbed(**TWO)["seed-00000"]
        assert states(out)["seed-00000"] == "done"
        return told

    return check


def flip(path, place=0.5):
    """Turn one bit over."""
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 4
    path.write_bytes(content)


def cut(path, share=0.7):
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


@pytest.mark.parametrize("damage", [flip, cut, lambda path: path.write_bytes(b"")])
def test_a_damaged_newest_checkpoint_goes_on_from_the_one_before(out, goes_on, damage):
    damage(the_run(out) / "seed-00001" / "checkpoint.pt")
    (line,) = goes_on()
    assert "seed-00001/checkpoint.pt " in line
    assert line.endswith("; going on from checkpoint.prev.pt")


@pytest.mark.parametrize("damage", [flip, cut])
def test_no_whole_checkpoint_at_all(out, goes_on, fails, damage):
    folder = the_run(out) / "seed-00001"
    damage(folder / "checkpoint.pt")
    damage(folder / "checkpoint.prev.pt")
    told = fails()
    assert f"{folder}/checkpoint.pt " in told and "delete the seed's folder" in told
    assert states(out)["seed-00001"] == "failed"
    shutil.rmtree(folder)
    assert goes_on() == []


def test_a_torn_last_line(out, goes_on):
    for log in the_run(out).glob("seed-*/*.csv"):
        with log.open("ab") as file:
            file.write(log.read_bytes().splitlines()[-1][:9])
    assert goes_on() == []


@pytest.mark.parametrize("name", ["episodes.csv", "updates.csv", "evaluations.csv", "timing.csv"])
def test_a_log_that_lacks_lines(out, goes_on, fails, name):
    folder = the_run(out) / "seed-00001"
    (folder / name).write_bytes((folder / name).read_bytes()[:20])
    told = fails()
    assert f"{folder}/{name} has 20 bytes" in told and "delete the seed's folder" in told
    shutil.rmtree(folder)
    assert goes_on() == []


@pytest.mark.parametrize("name", ["episodes.csv", "evaluations.csv"])
@pytest.mark.parametrize("line", [1, 3])
def test_a_log_with_another_digit(out, goes_on, fails, name, line):
    """It would else be in the finished log."""
    folder = the_run(out) / "seed-00001"
    lines = (folder / name).read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b"1", b"3", 1)
    (folder / name).write_bytes(b"".join(lines))
    told = fails()
    assert f"{folder}/{name} was changed since its checkpoint" in told
    shutil.rmtree(folder)
    assert goes_on() == []


def test_checkpoints_without_checksums(out, goes_on):
    """As those of the version before."""
    for folder in the_run(out).glob("seed-*"):
        payload = load_checkpoint(folder)
        del payload["checksums"]
        save_checkpoint(folder, payload)
    assert goes_on() == []


def test_a_log_with_other_columns(out, fails):
    log = the_run(out) / "seed-00001" / "updates.csv"
    log.write_bytes(log.read_bytes().replace(b"loss", b"gain", 1))
    assert "does not begin with the columns" in fails()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"state": "done"}', b"\xff\xfe"])
def test_a_damaged_status_is_written_anew(out, goes_on, content):
    (the_run(out) / "seed-00001" / "status.json").write_bytes(content)
    assert goes_on() == []


@pytest.mark.parametrize(
    "name",
    ["episodes.csv", "status.json", "policy.pt", "policy.pt.tmp"],
)
def test_a_folder_in_the_place_of_a_file(out, goes_on, fails, name):
    folder = the_run(out) / "seed-00001"
    if (folder / name).exists():
        (folder / name).rename(folder / "kept")
    (folder / name).mkdir()
    told = fails()
    assert f"{folder}/{name.removesuffix('.tmp')} cannot be written: Is a directory" in told
    (folder / name).rmdir()
    if (folder / "kept").exists():
        (folder / "kept").rename(folder / name)
    assert goes_on() == []


def test_a_file_in_the_place_of_a_seed(out, goes_on, fails):
    folder = the_run(out) / "seed-00001"
    shutil.rmtree(folder)
    folder.write_text("")
    assert f"{folder}/lock cannot be written: " in fails()
    folder.unlink()
    assert goes_on() == []


def test_workers_do_not_hold_back_the_others_either(server, out, undisturbed, fails):
    """Also where a worker is left with nothing to train."""
    folder = the_run(out) / "seed-00001"
    cut(folder / "checkpoint.pt")
    cut(folder / "checkpoint.prev.pt")
    child = server.run(out, settings=settings(out, **TWO, workers=2))
    assert child.code == 1
    assert child.lines[-1].startswith(f"vdqn-run: error: seed 1: {folder}/checkpoint.pt ")
    assert results(out)["seed-00000"] == undisturbed(**TWO)["seed-00000"]


@pytest.mark.parametrize("name", ["episodes.csv", "updates.csv", "evaluations.csv", "policy.pt"])
def test_a_done_seed_without_its_files_does_not_hold_back_the_others(
    server, out, goes_on, fails, name
):
    assert server.run(out, settings=settings(out, seed=1)).code == 0
    (the_run(out) / "seed-00001" / name).unlink()
    assert f"seed-00001 is done, but its {name} is missing" in fails()
    shutil.rmtree(the_run(out) / "seed-00001")
    assert goes_on() == []


def test_foreign_files_are_left_alone(out, goes_on):
    run = the_run(out)
    foreign = [
        run / "notes.txt",
        run / "seed-x" / "episodes.csv",
        run / "seed-00000" / "notes.txt",
        run / "seed-00000" / ".nfs0000000000000001",
        run / "seed-00000" / "episodes.csv~",
        run / "seed-00001" / "mine" / "checkpoint.pt",
    ]
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    # What a kill may leave, and what is no more than that.
    for name in ("checkpoint.pt.tmp", "status.json.tmp", "policy.pt.tmp"):
        (run / "seed-00001" / name).write_text("torn")
    assert goes_on() == []
    assert all(path.read_text() == "mine" for path in foreign)
