"""The command `vdqn-runs`: what it says of runs in every state, and what it does with them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vdqn_runner.analysis.pack import pack
from vdqn_runner.config import build
from vdqn_runner.manage import command
from vdqn_runner.manage.resume import stretches
from vdqn_runner.manage.survey import last_return
from vdqn_runner.run import execute
from vdqn_runner.runs.holder import is_held
from vdqn_runner.runs.lock import SeedLock

FILES = ("episodes.csv", "updates.csv", "evaluations.csv", "policy.pt")

HOLD = """
import sys
from pathlib import Path
from pathlib import Path
from vdqn_runner.runs.lock import SeedLock
with SeedLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def train(out, algo="dqn", **more):
    learner = {"name": algo, "learning_starts": 30, "batch_size": 4, "network": {"hidden": [6]}}
    asked = {"out": str(out), "episodes": 15, "n_seeds": 4, "workers": 1, "quiet": True}
    wanted = asked | more
    return execute(build({"env": {"kind": "chain", "n": 5}, "algo": learner} | wanted))


def seed(run, number):
    return run / f"seed-{number:05d}"


def mark(folder, **changes):
    """Change what a seed says of itself, and take away what it would not have yet."""
    file = folder / "status.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.fixture
def run(tmp_path):
    return train(tmp_path / "runs")


@pytest.fixture
def mixed(run):
    """Seed 0 is done, 1 stopped, 2 broken off, 3 failed; the first two of these have no rows."""
    mark(seed(run, 1), state="stopped", episodes_done=0, steps=0)
    mark(seed(run, 2), state="running", episodes_done=5, steps=70)
    mark(seed(run, 3), state="failed", episodes_done=0, reason="diverged at step 7 (loss: nan)")
    for number in (1, 3):
        for name in FILES:
            (seed(run, number) / name).unlink()
    return run


def told(capsys, *arguments):
    code = command.main([*map(str, arguments)])
    caught = capsys.readouterr()
    return code, caught.out.splitlines(), caught.err


def returns(run, number):
    rows = (seed(run, number) / "episodes.csv").read_text().splitlines()
    at = rows[0].split(",").index("return")
    return [float(row.split(",")[at]) for row in rows[1:]]


def test_a_list_of_runs(mixed, tmp_path, capsys):
    train(tmp_path / "runs", "vdqn", n_seeds=1)
    code, lines, err = told(capsys, "ls", tmp_path / "runs")
    assert (code, err) == (0, "")
    assert lines[0].split("  ")[0] == "run" and len(lines) == 3
    (row,) = [line for line in lines if "/dqn/" in line]
    assert "1 done, 1 stopped, 1 broken off, 1 failed" in row
    assert " 33% " in row  # (15 + 0 + 5 + 0) of 60 episodes
    known = [sum(returns(mixed, number)) / 15 for number in (0, 2)]
    assert f" {sum(known) / 2:.4g} " in row
    (row,) = [line for line in lines if "/vdqn/" in line]
    assert " done " in row and " 100% " in row


def test_a_seed_in_training_is_told_apart(run, capsys):
    mark(seed(run, 1), state="running")
    assert not is_held(seed(run, 1))
    script = [sys.executable, "-c", HOLD, str(seed(run, 1))]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert is_held(seed(run, 1))
        _, lines, _ = told(capsys, "ls", run)
        assert "3 done, 1 training" in lines[1]
        # Looking has not taken the lock away, and clearing leaves the seed alone.
        assert is_held(seed(run, 1))
        _, lines, _ = told(capsys, "clean", run, "--yes")
        assert lines == ["nothing to remove"] and seed(run, 1).is_dir()
        holder.stdin.close()
    assert not is_held(seed(run, 1))
    _, lines, _ = told(capsys, "ls", run)
    assert "3 done, 1 broken off" in lines[1]
    with SeedLock(seed(run, 1)):
        pass


def test_one_run_in_full(mixed, capsys):
    code, lines, _ = told(capsys, "show", mixed)
    assert code == 0 and lines[0].startswith(f"{mixed}: 1 done, 1 stopped")
    settings = dict(line.split(maxsplit=1) for line in lines if line.startswith(("algo.", "env.")))
    assert settings["algo.network.hidden"] == "(6)" and settings["env.n"] == "5"
    (row,) = [line for line in lines if "failed" in line and line.strip().startswith("3")]
    assert row.endswith("diverged at step 7 (loss: nan)") and " 0/15 " in row


def test_what_differs(run, tmp_path, capsys):
    other = train(tmp_path / "runs", n_seeds=1, episodes=16, env={"kind": "chain", "n": 6})
    code, lines, _ = told(capsys, "diff", run, other)
    assert code == 0
    assert {tuple(line.split()) for line in lines[1:]} == {
        ("env.n", "5", "6"),
        ("episodes", "15", "16"),
    }
    assert told(capsys, "diff", run, run)[1] == ["the settings are the same"]
    code, _, err = told(capsys, "diff", run, tmp_path / "runs")
    assert code == 2 and "holds 2 runs, name one of them" in err


def test_going_on_ends_in_the_undisturbed_bytes(mixed, tmp_path, capsys):
    expected = train(tmp_path / "other")
    code, lines, err = told(capsys, "resume", tmp_path / "runs", "--workers", "1", "-q")
    assert (code, err, lines) == (0, "", [f"{mixed}: done"])
    for number in range(4):
        for name in FILES:
            assert (seed(mixed, number) / name).read_bytes() == (
                seed(expected, number) / name
            ).read_bytes()
    assert told(capsys, "resume", mixed)[1] == [f"{mixed}: done already"]


def test_paths_are_written_as_they_were_given(mixed, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").symlink_to(tmp_path / "runs")
    for place in ("runs", "elsewhere"):
        mark(seed(mixed, 3), state="stopped")
        code, lines, err = told(capsys, "resume", place, "--workers", "1")
        assert code == 0
        written = Path(place, *mixed.parts[-4:])
        assert lines == [f"{written}: done"]
        assert err.startswith(f"{written}: ") and str(tmp_path) not in err
    # Where the path is too short for that.
    monkeypatch.chdir(mixed)
    mark(seed(mixed, 3), state="stopped")
    assert told(capsys, "resume", ".", "--workers", "1", "-q") == (0, [".: done"], "")


def test_a_moved_run_is_not_trained_elsewhere(mixed, tmp_path, capsys):
    moved = tmp_path / "runs" / "default" / "chain-7" / "dqn" / mixed.name
    moved.parent.mkdir(parents=True)
    mixed.rename(moved)
    code, _, err = told(capsys, "resume", moved)
    assert code == 2 and "its settings belong to" in err and not mixed.exists()


def test_clearing_away(mixed, tmp_path, capsys):
    code, lines, _ = told(capsys, "clean", tmp_path / "runs")
    assert code == 0
    assert lines == [
        f"would remove {seed(mixed, 1)} (stopped)",
        f"would remove {seed(mixed, 2)} (broken off)",
        f"would remove {seed(mixed, 3)} (failed)",
        "3 in all; add --yes to remove them",
    ]
    assert all(seed(mixed, number).is_dir() for number in range(4))
    told(capsys, "clean", tmp_path / "runs", "--state", "failed", "--yes")
    assert [seed(mixed, number).exists() for number in range(4)] == [True, True, True, False]
    told(capsys, "clean", tmp_path / "runs", "--yes")
    assert [seed(mixed, number).exists() for number in range(4)] == [True, False, False, False]
    assert (mixed / "config.yaml").exists()
    mark(seed(mixed, 0), state="planned")
    _, lines, _ = told(capsys, "clean", mixed, "--yes")
    assert lines[-1] == f"removed {mixed} (no seed left)" and not mixed.exists()


def test_packed_runs_are_listed_and_left_alone(run, tmp_path, capsys):
    list(pack([run], tmp_path / "packed"))
    _, lines, _ = told(capsys, "ls", tmp_path / "packed")
    assert " done " in lines[1] and " 100% " in lines[1]
    assert told(capsys, "clean", tmp_path / "packed", "--yes")[1] == ["nothing to remove"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ls", "nowhere"], "nowhere: does not exist"),
        (["clean", "{run}", "--state", "done"], "--state done: it stays"),
        (["clean", "{run}", "--state", "fialed"], "--state fialed: there is no such state"),
    ],
)
def test_refusals(run, capsys, arguments, words):
    code, lines, err = told(capsys, *(item.format(run=run) for item in arguments))
    assert (code, lines) == (2, []) and err.count("\n") == 1 and words in err


def test_the_end_of_a_log_of_any_length(tmp_path):
    log = tmp_path / "episodes.csv"
    header = "seed,episode,return\n"
    log.write_text(header)
    assert last_return(log) is None
    log.write_text(header + "0,0,2.0\n0,1,4.0\n0,2,9")
    assert last_return(log) == 3.0
    log.write_text(header + "".join(f"0,{e},{e}.0\n" for e in range(5000)))
    assert last_return(log) == sum(range(4900, 5000)) / 100
    assert last_return(tmp_path / "none.csv") is None


def test_stretches():
    assert stretches([]) == []
    assert stretches([3]) == [(3, 1)]
    assert stretches([0, 1, 2, 5, 7, 8]) == [(0, 3), (5, 1), (7, 2)]


def test_looking_needs_no_torch(run):
    script = (
        "import sys; from vdqn_runner.manage.command import main\n"
        "code = main(['ls', sys.argv[1]]) or main(['show', sys.argv[1]])\n"
        "assert not {'torch', 'gymnasium', 'pandas'} & set(sys.modules); sys.exit(code)"
    )
    subprocess.run([sys.executable, "-c", script, str(run)], check=True, capture_output=True)
