"""`vdqn-run --dry-run`: what would be done is told, and nothing is made."""

import csv

import pytest

from vdqn_runner.cli import main
from vdqn_runner.manage.dry_run import pace

SMALL = ["algo.network.hidden=[6]", "algo.learning_starts=30", "episodes=20", "workers=1", "-q"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *arguments):
    code = main(["--dry-run", *SMALL, *arguments])
    caught = capsys.readouterr()
    return code, caught.out.splitlines(), caught.err


def test_nothing_is_made(here, capsys):
    code, lines, err = told(capsys, "-m", "algo=dqn,vdqn", "env.n=5,7", "n_seeds=3")
    assert (code, err, list(here.iterdir())) == (0, "", [])
    assert len(lines) == 1 + 4 + 1
    rows = [line.split() for line in lines[1:5]]
    for row, (algo, n) in zip(
        rows, [("dqn", 5), ("dqn", 7), ("vdqn", 5), ("vdqn", 7)], strict=True
    ):
        assert row[0].startswith(f"runs/default/chain-{n}/{algo}/")
        assert row[1:5] == ["3", "to", "train", str(3 * 20 * (n + 9))]
        assert row[-1] == "?"
    assert lines[-1] == "4 runs, 12 seeds to train; time, one run after the other: ?"


def test_what_is_done_is_not_counted(here, capsys):
    assert main([*SMALL, "algo=dqn", "env.n=5", "n_seeds=2"]) == 0
    _, lines, _ = told(capsys, "algo=dqn", "env.n=5", "n_seeds=2")
    assert lines[1].split()[1:] == ["2", "done", "-", "-", "-"]
    _, lines, _ = told(capsys, "algo=dqn", "env.n=5", "n_seeds=5")
    words = lines[1].split()
    assert words[1:6] == ["2", "done,", "3", "to", "train"] and words[6] == str(3 * 20 * 14)
    assert lines[1].endswith("under 1 min")


def test_steps_of_episodes_that_may_end_early(here, capsys):
    _, lines, _ = told(capsys, "env=cartpole_v1", "n_seeds=1")
    assert "up to 10,000" in lines[1]


def test_the_pace_is_that_of_the_nearest_runs(here):
    def log(place, speeds):
        folder = here / "runs" / place / "seed-00000"
        folder.mkdir(parents=True)
        with (folder / "timing.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([["steps_per_second"], *([speed] for speed in speeds)])

    wanted = here / "runs" / "mine" / "chain-5" / "dqn"
    assert pace(wanted) is None
    log("mine/chain-9/dqn/aa", [50.0])
    assert pace(wanted) == 50.0
    log("other/chain-5/dqn/bb", [10.0, 20.0, 60.0])
    log("other/chain-5/vdqn/cc", [1.0])
    assert pace(wanted) == 20.0


def test_each_run_is_looked_at_once(here, capsys, monkeypatch):
    looked = []
    monkeypatch.setattr("vdqn_runner.prepare.check_place", looked.append)
    assert told(capsys, "-m", "algo=dqn,vdqn", "env.n=5,7")[0] == 0
    assert len(looked) == len(set(looked)) == 4


def test_a_wrong_request_is_refused_as_without_it(here, capsys):
    code, lines, err = told(capsys, "env.m=5")
    assert (code, lines) == (2, []) and "env.m=5: unknown key" in err
