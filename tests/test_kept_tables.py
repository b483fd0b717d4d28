"""The rates in conf/ are what their rules make of the tuning runs in results/runs."""

from pathlib import Path

from scripts import choose_lr, choose_system_lr

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "results" / "runs"


def test_rates_of_the_papers_figures(tmp_path):
    table, scores = tmp_path / "table.yaml", tmp_path / "scores.csv"
    arguments = [str(RUNS / "lr"), "--table", str(table), "--scores", str(scores)]
    assert choose_lr.main(arguments) == 0
    assert table.read_text() == (ROOT / "conf" / "paper_lr.yaml").read_text()
    assert scores.read_text() == (ROOT / "results" / "learning_rates.csv").read_text()


def test_rates_of_systems(tmp_path):
    table = tmp_path / "table.yaml"
    assert choose_system_lr.main([str(RUNS / "lr_systems"), "--table", str(table)]) == 0
    assert table.read_text() == (ROOT / "conf" / "system_lr.yaml").read_text()
