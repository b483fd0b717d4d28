"""The study of how failures are spread."""

import csv

import numpy as np
import pytest
from run_folders import algo, chain, write_config, write_seed

from scripts import bursts


@pytest.mark.parametrize(
    ("failed", "found"),
    [([], []), ([0, 0], []), ([1], [1]), ([1, 1, 0, 1], [2, 1]), ([0, 1, 1, 1, 0], [3])],
)
def test_lengths_of_runs_of_failures(failed, found):
    assert bursts.lengths(np.array(failed, bool)) == found


def test_a_row_a_run_from_episode_1000_on(tmp_path):
    folder = tmp_path / "runs" / "paper" / "chain-5" / "vdqn" / "aa"
    write_config(folder, chain(5), algo("vdqn"), 1010)
    early = [0.0] * 1000
    late = [[11.0] * 4 + [0.1] * 3 + [11.0] + [0.1] * 2, [11.0] * 8 + [5.0, 0.1]]
    for seed, rows in enumerate(late):
        write_seed(folder, seed, early + rows, [(1, 0, 0)] * 1010)
    output = tmp_path / "new" / "bursts.csv"
    assert bursts.main([str(tmp_path / "runs"), "-o", str(output)]) == 0
    (row,) = csv.DictReader(output.read_text().splitlines())
    assert list(row.values()) == ["chain-5", "vdqn", "20", "6", "3", "2.00", "3", "0.6500"]


def test_no_runs(tmp_path, capsys):
    assert bursts.main([str(tmp_path), "-o", str(tmp_path / "out.csv")]) == 2
    assert capsys.readouterr().err.startswith("bursts: ")
