"""The command `vdqn-summary`: tables of what runs reached."""

import csv
import math

import pytest
from run_folders import algo, chain, gym, write_config, write_seed

from vdqn_runner.analysis import summary

EVALUATIONS = "seed,episode,step,policy,trial,return,length\n"


def evaluations(folder, rows):
    lines = [",".join(map(str, row)) for row in rows]
    (folder / "evaluations.csv").write_text(EVALUATIONS + "\n".join(lines) + "\n")


@pytest.fixture
def runs(tmp_path):
    """Two algorithms on a chain and one on CartPole, with ends that can be worked out by hand."""
    top = tmp_path / "runs"
    dqn = top / "mine" / "chain-5" / "dqn" / "aa"
    write_config(dqn, chain(5), algo("dqn"), 120)
    for seed, end in ((0, 2.0), (1, 4.0)):
        folder = write_seed(dqn, seed, [9.0] * 20 + [end] * 100, [(1, 0, 0)] * 120)
        evaluations(
            folder,
            [
                (seed, 60, 300, "mean", 0, -1.0, 5),
                (seed, 120, 600, "mean", 0, 10.0 + seed, 5),
                (seed, 120, 600, "mean", 1, 12.0 + seed, 5),
                (seed, 120, 600, "sample", 0, -99.0, 5),
            ],
        )
    vdqn = top / "mine" / "chain-5" / "vdqn" / "bb"
    write_config(vdqn, chain(5), algo("vdqn"), 120)
    write_seed(vdqn, 0, [11.0] * 120, [(0, 1, 1)] * 120)
    other = top / "other" / "CartPole-v1" / "vdqn" / "cc"
    write_config(other, gym("CartPole-v1"), algo("vdqn"), 120)
    write_seed(other, 0, [1.0] * 60)  # too few episodes for an end
    return top


def answered(capsys, *arguments):
    code = summary.main([*map(str, arguments)])
    caught = capsys.readouterr()
    return code, caught.out.splitlines(), caught.err


def test_means_over_seeds_of_the_last_hundred_episodes_and_of_the_last_greedy_trials(runs, capsys):
    code, lines, err = answered(capsys, runs)
    assert (code, err) == (0, "")
    assert lines == [
        "Return of the last 100 training episodes, mean over 1 to 2 seeds "
        "[95 % bootstrap interval]:",
        "",
        "| | VDQN | DQN |",
        "| --- | --- | --- |",
        "| Chain, N = 5 | 11 [11, 11] | 3 [2, 4] |",
        "",
        "Return of the greedy policy at the end (VDQN, NoisyNet: of the mean weights), mean over "
        "2 seeds [95 % bootstrap interval]:",
        "",
        "| | VDQN | DQN |",
        "| --- | --- | --- |",
        "| Chain, N = 5 | – | 11.5 [11, 12] |",
        "",
    ]


def test_files_say_the_same(runs, tmp_path, capsys):
    code, lines, _ = answered(capsys, runs, "-o", tmp_path / "new" / "out", "--name", "mine")
    folder = tmp_path / "new" / "out"
    assert code == 0 and lines[-2:] == [str(folder / "summary.md"), str(folder / "summary.csv")]
    assert (folder / "summary.md").read_text().splitlines() == lines[:-2]
    rows = list(csv.DictReader((folder / "summary.csv").read_text().splitlines()))
    by_key = {(row["run"], row["measure"]): row for row in rows}
    assert set(by_key) == {("DQN", "training"), ("DQN", "greedy"), ("VDQN", "training")}
    row = by_key["DQN", "greedy"]
    assert [float(row[c]) for c in ("estimate", "low", "high")] == [11.5, 11.0, 12.0]
    assert (row["env"], row["seeds"]) == ("Chain, N = 5", "2")
    assert all(math.isfinite(float(row["estimate"])) for row in rows)


def test_a_name_that_is_not_there(runs, capsys):
    code, lines, err = answered(capsys, runs, "--name", "mien")
    assert (code, lines) == (2, [])
    assert err == (
        "vdqn-summary: --name mien: no such runs, only mine, other; did you mean mine?\n"
    )
