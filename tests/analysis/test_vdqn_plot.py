"""The command as its user meets it: files, numbers, exit codes, environment."""

import csv
import os
import subprocess
import sys

import numpy as np
import pytest
from run_folders import write_chain_run, write_gym_run

from vdqn_runner.analysis import plot as command

PLOT = [sys.executable, "-m", "vdqn_runner.analysis.plot"]
IMPORTS_NOTHING_HEAVY = """
import sys
import vdqn_runner.analysis.plot
assert not {"torch", "matplotlib", "pandas", "scipy", "numpy"} & set(sys.modules), "at import"
code = vdqn_runner.analysis.plot.main(sys.argv[1:])
assert not {"torch", "gymnasium", "matplotlib.pyplot"} & set(sys.modules), "after the work"
sys.exit(code)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    top = tmp_path_factory.mktemp("all") / "runs"
    for algo in ("vdqn", "dqn"):
        write_chain_run(top / "chain-8" / algo, 8, algo, seeds=3, episodes=50, tau=20)
    write_gym_run(
        top / "CartPole-v1", "CartPole-v1", "vdqn",
        seeds=2, episodes=30, low=10, high=500, tau=10,
    )  # fmt: skip
    return top


def call(arguments, **environment):
    bare = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(arguments, env=bare | environment, capture_output=True, text=True)


def test_files_without_display_under_an_interactive_backend(runs, tmp_path):
    done = call([*PLOT, str(runs), "-o", str(tmp_path / "new" / "out")], MPLBACKEND="TkAgg")
    assert (done.returncode, done.stderr) == (0, "")
    written = done.stdout.splitlines()
    names = ["training_curves.png", "training_curves.pdf", "curves.csv"]
    names += ["visit_probabilities.png", "visit_probabilities.pdf", "visits.csv"]
    assert written == [str(tmp_path / "new" / "out" / name) for name in names]
    for name in names:
        content = (tmp_path / "new" / "out" / name).read_bytes()
        start = {"png": b"\x89PNG", "pdf": b"%PDF", "csv": b"env,"}[name[-3:]]
        assert content.startswith(start) and len(content) > 500


@pytest.mark.parametrize("backend", ["TkAgg", "Agg", "module://nowhere"])
def test_drawing_as_a_library_needs_no_display_either(runs, tmp_path, backend):
    code = (
        "import sys, numpy as np\n"
        "from pathlib import Path\n"
        "from vdqn_runner.analysis import curves, load, stats, style\n"
        "run = load.find_runs([sys.argv[1]])[0]\n"
        "rng = np.random.default_rng(0)\n"
        "curve = curves.training_curve(run, 'x', load.load_episodes(run), stats.mean, rng)\n"
        "style.save(curves.curves_figure([curve]), Path(sys.argv[2]))\n"
    )
    file = tmp_path / "figure.pdf"
    done = call([sys.executable, "-c", code, str(runs), str(file)], MPLBACKEND=backend)
    assert done.returncode == 0, done.stderr
    assert file.read_bytes().startswith(b"%PDF")


def test_same_numbers_same_bytes_in_another_process_and_under_another_matplotlibrc(runs, tmp_path):
    rc = tmp_path / "matplotlibrc"
    rc.write_text("lines.linewidth: 9\nfont.size: 20\naxes.facecolor: red\nsavefig.dpi: 30\n")
    first, second = tmp_path / "1", tmp_path / "2"
    assert call([*PLOT, str(runs), "-o", str(first)], PYTHONHASHSEED="1").returncode == 0
    done = call(
        [*PLOT, str(runs), "-o", str(second)],
        PYTHONHASHSEED="2", MATPLOTLIBRC=str(rc), SOURCE_DATE_EPOCH="86400", TZ="Asia/Tokyo",
    )  # fmt: skip
    assert done.returncode == 0
    files = sorted(file.name for file in first.iterdir())
    assert len(files) == 6
    for name in files:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_fonts_are_embedded_as_truetype_and_nothing_dates_the_file(runs, tmp_path):
    assert command.main([str(runs), "-o", str(tmp_path), "--format", "pdf"]) == 0
    content = (tmp_path / "training_curves.pdf").read_bytes()
    assert b"/FontFile2" in content and b"/Type3" not in content
    assert b"CreationDate" not in content
    assert not (tmp_path / "training_curves.png").exists()


def rows(file):
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def log(folder, column):
    """Iteration means [S, I] straight from the logs, without the package."""
    seeds = [rows(file) for file in sorted(folder.glob("seed-*/episodes.csv"))]
    return np.array([[float(row[column]) for row in s] for s in seeds]).reshape(
        len(seeds), -1, 10
    ).mean(axis=2)  # fmt: skip


def test_tables_hold_the_plotted_numbers(runs, tmp_path):
    assert command.main([str(runs), "-o", str(tmp_path), "--format", "png"]) == 0
    table = [row for row in rows(tmp_path / "curves.csv") if row["algo"] == "dqn"]
    expected = log(runs / "chain-8" / "dqn", "return")
    assert list(table[0]) == [
        "env", "algo", "label", "iteration", "n_seeds", "mean", "low", "high",
    ]  # fmt: skip
    assert [int(row["iteration"]) for row in table] == list(range(5))
    assert {(row["env"], row["label"], row["n_seeds"]) for row in table} == {
        ("chain-8", "DQN", "3")
    }
    np.testing.assert_allclose([float(row["mean"]) for row in table], expected.mean(axis=0))
    for row, values in zip(table, expected.T, strict=True):
        assert values.min() <= float(row["low"]) <= float(row["mean"]) + 1e-12
        assert float(row["mean"]) - 1e-12 <= float(row["high"]) <= values.max() + 1e-12
    assert {row["env"] for row in rows(tmp_path / "curves.csv")} == {"chain-8", "CartPole-v1"}

    for state, column in (("1", "visited_first"), ("4", "visited_middle"), ("8", "visited_last")):
        shown = [
            float(row["mean"])
            for row in rows(tmp_path / "visits.csv")
            if (row["algo"], row["state"]) == ("vdqn", state)
        ]
        means = log(runs / "chain-8" / "vdqn", column).mean(axis=0)
        np.testing.assert_allclose(shown, means)


def test_the_interval_of_a_run_does_not_depend_on_its_company(runs, tmp_path):
    for name, path in (("all", runs), ("alone", runs / "chain-8" / "vdqn")):
        assert command.main([str(path), "-o", str(tmp_path / name), "--format", "png"]) == 0
    alone = rows(tmp_path / "alone" / "curves.csv")
    company = rows(tmp_path / "all" / "curves.csv")
    assert alone == [r for r in company if (r["env"], r["algo"]) == ("chain-8", "vdqn")]


def test_the_interquartile_mean_is_named_in_the_table(tmp_path):
    write_chain_run(tmp_path / "runs", 8, "vdqn", seeds=4, episodes=20, tau=5)
    arguments = [str(tmp_path / "runs"), "-o", str(tmp_path / "out"), "--format", "png", "--iqm"]
    assert command.main(arguments) == 0
    middle = np.sort(log(tmp_path / "runs", "return"), axis=0)[1:3].mean(axis=0)
    shown = [float(row["iqm"]) for row in rows(tmp_path / "out" / "curves.csv")]
    np.testing.assert_allclose(shown, middle)


def test_no_visits_without_a_chain(runs, tmp_path, capsys):
    assert command.main([str(runs / "CartPole-v1"), "-o", str(tmp_path), "--format", "png"]) == 0
    assert "visit_" not in capsys.readouterr().out
    assert sorted(file.name for file in tmp_path.iterdir()) == ["curves.csv", "training_curves.png"]


def test_unfinished_seeds_are_shown_and_noted(tmp_path, capsys):
    write_chain_run(tmp_path / "runs", 8, "vdqn", seeds=2, episodes=50, tau=9, lengths=[50, 31])
    out = tmp_path / "out"
    assert command.main([str(tmp_path / "runs"), "-o", str(out), "--format", "png"]) == 0
    note = capsys.readouterr().err
    assert "of 50 episodes seed 1 has 31" in note and note.count("\n") == 1
    assert [row["n_seeds"] for row in rows(out / "curves.csv")] == ["2", "2", "2", "1", "1"]


def assert_refused(arguments, capsys, *words, code=2):
    assert command.main(arguments) == code
    captured = capsys.readouterr()
    last = captured.err.splitlines()[-1]
    assert captured.out == "" and last.startswith("vdqn-plot: ")
    for word in words:
        assert word in last


def test_bad_requests_are_one_line_and_create_nothing(runs, tmp_path, capsys):
    out = ["-o", str(tmp_path / "out")]
    assert_refused([str(runs.parent / "run"), *out], capsys, "does not exist", "did you mean")
    assert_refused([str(runs), str(tmp_path), *out], capsys, "no run")
    assert_refused([str(runs), "--format", "png,pfd", *out], capsys, "'pfd'", "did you mean pdf?")
    write_chain_run(tmp_path / "young", 8, "vdqn", seeds=1, episodes=50, tau=9, lengths=[9])
    assert_refused([str(tmp_path / "young"), *out], capsys, "no run has an iteration")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").touch()
    assert_refused([str(runs), "-o", str(tmp_path / "file" / "x")], capsys, "cannot be made")


def test_a_damaged_log_is_a_failure_not_a_bad_request(tmp_path, capsys):
    write_chain_run(tmp_path, 8, "vdqn", seeds=1, episodes=20, tau=9)
    (tmp_path / "seed-00000" / "episodes.csv").write_text("a,b\n1,2\n")
    assert_refused([str(tmp_path), "-o", str(tmp_path / "o")], capsys, "no column", code=1)


def test_a_place_that_cannot_be_written_is_a_failure(runs, tmp_path, capsys):
    (tmp_path / "training_curves.png").mkdir()
    assert_refused([str(runs), "-o", str(tmp_path), "--format", "png"], capsys, "png", code=1)


def test_never_imports_torch_and_nothing_heavy_before_it_is_needed(runs, tmp_path):
    arguments = [str(runs), "-o", str(tmp_path), "--format", "png"]
    done = call([sys.executable, "-c", IMPORTS_NOTHING_HEAVY, *arguments])
    assert done.returncode == 0, done.stderr
