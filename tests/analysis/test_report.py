"""The report against the runs that it shows."""

import base64
import csv
import dataclasses
import hashlib
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_pages import STATUS, Page, write_runs
from run_folders import algo, chain, write_chain_run, write_config, write_gym_run, write_seed

from vdqn_runner.analysis import pack, plot
from vdqn_runner.analysis.claims.result import ClaimResult, Effect, Part, Supplement
from vdqn_runner.analysis.report import command, compose
from vdqn_runner.analysis.report.numbers import shown, summary_of
from vdqn_runner.analysis.report.page import embedded
from vdqn_runner.analysis.report.settings import differing
from vdqn_runner.analysis.stats import mean, summarise
from vdqn_runner.runs.status import write_status

REPORT = [sys.executable, "-m", "vdqn_runner.analysis.report.command"]
VDQN = "VDQN lr=0.001"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return write_runs(tmp_path_factory.mktemp("report") / "runs")


@pytest.fixture(scope="module")
def html(runs):
    file = runs.parent / "new" / "report.html"
    assert command.main([str(runs), "-o", str(file)]) == 0
    return file.read_text("utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def page_of(folder):
    file = folder.parent / "page.html"
    assert command.main([str(folder), "-o", str(file)]) == 0
    return Page(file.read_text("utf-8"))


def log(folder, column):
    """Iteration means [S, I] straight from the logs, without the package."""
    rows = []
    for file in sorted(folder.glob("seed-*/episodes.csv")):
        with file.open(newline="") as stream:
            values = [float(row[column]) for row in csv.DictReader(stream)]
        rows.append(np.array(values).reshape(-1, 10).mean(axis=1))
    return np.array(rows)


def line(chart, name):
    (found,) = (line for line in chart["lines"] if line["name"] == name)
    return found


def test_training_curves_are_the_means_of_the_logs(runs, page):
    chart = page.chart("Chain, N = 8", "curves")
    assert [one["name"] for one in chart["lines"]] == [VDQN, "VDQN lr=0.01", "DQN", "NoisyNet"]
    assert (chart["range"], chart["reference"]) == ([-0.5, 12], 11)
    for name, folder in ((VDQN, "vdqn/vdqn-0.001"), ("DQN", "dqn/dqn-0.001")):
        expected = log(runs / "study" / "chain-8" / folder, "return")
        shown_line = line(chart, name)
        np.testing.assert_allclose(shown_line["mean"], expected.mean(axis=0), rtol=1e-4)
        assert (shown_line["n"], shown_line["x"]) == (3, {"from": 0, "step": 1, "count": 4})
        assert [seed for seed, _ in shown_line["seeds"]] == [0, 1, 2]
        np.testing.assert_allclose([v for _, v in shown_line["seeds"]], expected, rtol=1e-4)
    cartpole = page.chart("CartPole-v1", "curves")
    assert (cartpole["range"], cartpole["reference"]) == (None, None)
    np.testing.assert_allclose(
        line(cartpole, "DQN")["mean"],
        log(runs / "study" / "CartPole-v1" / "dqn" / "0a1b2c3d", "return").mean(axis=0),
        rtol=1e-4,
    )


def test_intervals_are_those_of_the_figures(runs, page, tmp_path):
    assert plot.main([str(runs), "-o", str(tmp_path), "--format", "png"]) == 0
    with (tmp_path / "curves.csv").open(newline="") as stream:
        rows = [r for r in csv.DictReader(stream) if (r["env"], r["label"]) == ("chain-8", VDQN)]
    chart = page.chart("Chain, N = 8", "curves")
    for end in ("low", "high"):
        expected = [float(row[end]) for row in rows]
        np.testing.assert_allclose(line(chart, VDQN)[end], expected, rtol=1e-4)


def test_an_algorithm_has_the_colour_of_the_figures(page):
    colours = {entry["key"]: entry["colour"] for entry in page.data["legends"]["curves"]}
    assert (colours["DQN"], colours["NoisyNet"]) == ("#e69f00", "#009e73")
    charts = page.data["charts"].items()
    used = {
        one["colour"]
        for place, chart in charts
        for one in chart["lines"]
        if one["key"] == "DQN" and not place.startswith(("visits", "sigma"))
    }
    assert used == {"#e69f00"}


def test_visit_probabilities(runs, page):
    chart = page.chart("DQN, N = 8", "visits")
    for name, column in (("n = 1", "first"), ("n = N/2", "middle"), ("n = N", "last")):
        expected = log(runs / "study" / "chain-8" / "dqn" / "dqn-0.001", f"visited_{column}")
        np.testing.assert_allclose(line(chart, name)["mean"], expected.mean(axis=0), rtol=1e-4)
    assert sum(place.startswith("visits-") for place in page.data["charts"]) == 4


def test_sigma_by_layer(page):
    chart = page.chart("NoisyNet, N = 8", "sigma")
    assert chart["log"] and [one["name"] for one in chart["lines"]] == ["layer 1", "layer 2"]
    # Mean over seeds 0, 1, 2 of q / 50 * layer * (1 + i + seed).
    for layer in (1, 2):
        for part, q in (("low", 10), ("mean", 50), ("high", 90)):
            expected = [q / 50 * layer * (2 + i) for i in range(4)]
            assert line(chart, f"layer {layer}")[part] == pytest.approx(expected)
    assert sum(place.startswith("sigma-") for place in page.data["charts"]) == 3


def test_greedy_evaluations_stand_beside_training(page):
    chart = page.chart("Chain, N = 8", "evaluations")
    greedy = line(chart, "DQN, posterior mean, greedy")
    sampled = line(chart, "DQN, fresh samples")
    # Trials 0 and 1, seeds 0 to 2: e + 1 + 0.5; the interval reaches at most from seed to seed.
    assert (greedy["x"], greedy["mean"]) == ([2, 4], [21.5, 41.5])
    assert (sampled["mean"], sampled["n"]) == ([10.75, 20.75], 3)
    assert 20.5 <= greedy["low"][0] < 21.5 < greedy["high"][0] <= 22.5
    assert greedy["mark"] != sampled["mark"]
    training = page.chart("Chain, N = 8", "curves")
    assert line(chart, "DQN, training")["mean"] == line(training, "DQN")["mean"]
    table = page.table("Mean over seeds [95 % bootstrap interval]")
    assert table.key("Greedy at the end, mean")[0] == "41.5"
    assert table.column("Greedy at the end, mean")[-1] == "–"  # CartPole was not evaluated


def test_results_table(runs, page):
    table = page.table("Mean over seeds [95 % bootstrap interval]")
    assert table.column("Environment") == ["Chain, N = 8"] * 4 + ["CartPole-v1"]
    values = log(runs / "study" / "chain-8" / "dqn" / "dqn-0.001", "return")
    i = table.column("Run").index("DQN")
    assert float(table.key("Return, all episodes")[i]) == pytest.approx(values.mean())
    # Four iterations are no ten.
    assert set(table.column("Return, last 100 episodes")) == {"–"}
    assert set(table.key("Return, last 100 episodes")) == {None}


def test_the_end_of_a_run_is_its_last_ten_iterations(tmp_path):
    folder = tmp_path / "runs"
    write_chain_run(folder, 8, "dqn", seeds=3, episodes=150, tau=40, lengths=[150, 150, 90])
    values = [row[-10:].mean() for row in log_ragged(folder)[:2]]
    table = page_of(folder).table("Mean over seeds [95 % bootstrap interval]")
    assert float(table.key("Return, last 100 episodes")[0]) == pytest.approx(np.mean(values))
    assert table.column("Range of seeds") == [f"{shown(min(values))} to {shown(max(values))}"]


def log_ragged(folder):
    rows = []
    for file in sorted(folder.glob("seed-*/episodes.csv")):
        with file.open(newline="") as stream:
            values = [float(row["return"]) for row in csv.DictReader(stream)]
        rows.append(np.array(values).reshape(-1, 10).mean(axis=1))
    return rows


def test_only_settings_that_differ_are_compared(page):
    table = page.table("Settings that differ between runs")
    assert table.header[:2] == ["Environment", "Run"]
    assert set(table.header[2:]) == {"env.gamma", "algo.lr"}
    assert table.column("algo.lr") == ["0.001", "0.01", "0.001", "0.001", "0.001"]
    rest = page.table("Settings that do not differ")
    assert ["episodes", "40", "all runs"] in rest.rows
    assert ["env.bootstrap_on_timeout", "false", "DQN"] in rest.rows


def test_a_setting_that_some_runs_lack_differs_only_by_value():
    assert differing([{"a": 1, "b": 1}, {"a": 1.0, "c": 2}, {"a": 1, "c": 3}]) == ["a", "c"]
    assert differing([{"a": True}, {"a": 1}]) == ["a"]
    assert differing([{"a": 1, "b": 2}]) == []


def test_states_and_origins(page):
    table = page.table("States and origins")
    assert table.column("State") == ["done"] * 4 + ["no status"]
    assert table.column("Seeds") == ["0–2"] * 4 + ["0, 1"]
    assert table.column("Commit")[0] == "0123456789" and table.column("Kernels")[0] == "compiled"
    assert table.column("Steps")[:1] == ["600"] and table.column("Steps")[-1] == "–"
    assert set(table.column("Progress")) == {"100 %"}
    assert table.column("Folder")[0] == "study/chain-8/vdqn/vdqn-0.001"
    assert "All seeds: python 3.11.7, torch 2.13.0." in page.text
    assert "vdqn-run algo=vdqn (12 seeds)" in page.text


def test_mixed_origins_and_failures_are_told(tmp_path):
    folder = tmp_path / "runs"
    write_chain_run(folder, 8, "dqn", seeds=3, episodes=40, tau=9, lengths=[40, 40, 19])
    other = {"torch": "2.14.0", "python": "3.11.7", "kernels": "torch"}
    write_status(folder / "seed-00000", STATUS)
    write_status(folder / "seed-00001", dataclasses.replace(STATUS, seed=1, versions=other))
    failed = dataclasses.replace(
        STATUS, seed=2, state="failed", reason="OSError: disk full", commit="ffff+dirty"
    )
    write_status(folder / "seed-00002", failed)
    page = page_of(folder)
    table = page.table("States and origins")
    assert table.column("State") == ["2 done, 1 failed"]
    assert table.column("Kernels") == ["compiled and torch"]
    assert table.column("torch") == ["2.13.0 and 2.14.0"] and "python" not in table.header
    assert table.column("Commit") == ["0123456789 ffff+dirty"]
    assert table.column("Progress") == ["82 %"]  # 99 of 120
    assert "seed 2: OSError: disk full" in page.text
    assert "1 run unfinished, 82 % of episodes done" in page.text


def test_unfinished_runs_are_shown_as_far_as_they_are(tmp_path):
    folder = tmp_path / "runs"
    write_chain_run(folder / "a", 8, "dqn", seeds=2, episodes=40, tau=9, lengths=[40, 25])
    write_chain_run(folder / "b", 8, "vdqn", seeds=2, episodes=40, tau=9, lengths=[5, 0])
    page = page_of(folder)
    (shown_line,) = page.chart("Chain, N = 8", "curves")["lines"]
    assert shown_line["n"] == [2, 2, 1, 1] and len(shown_line["seeds"][1][1]) == 2
    assert page.table("States and origins").column("Progress") == ["6 %", "81 %"]


def test_runs_without_an_iteration_have_no_charts(tmp_path):
    write_chain_run(tmp_path / "runs", 8, "dqn", seeds=1, episodes=40, tau=9, lengths=[9])
    page = page_of(tmp_path / "runs")
    assert page.data == {"legends": {}, "charts": {}}
    assert "No run has an iteration of 10 episodes yet." in page.text


def test_of_very_many_iterations_neighbours_are_averaged(tmp_path):
    write_config(tmp_path / "runs", chain(5), algo("dqn"), 25_010)
    returns = [float(e // 10) for e in range(25_010)]
    write_seed(tmp_path / "runs", 0, returns, [(0, 1, 1)] * len(returns))
    (shown_line,) = page_of(tmp_path / "runs").chart("Chain, N = 5", "curves")["lines"]
    # 2501 iterations in blocks of 3, of which 833 are whole; their middle is iteration 3 b + 1.
    assert shown_line["x"] == {"from": 1, "step": 3, "count": 833}
    assert shown_line["mean"] == [3 * b + 1 for b in range(833)]


def test_thirty_runs_fit_into_fifteen_megabytes(tmp_path):
    write_chain_run(tmp_path / "runs", 8, "dqn", seeds=10, episodes=2000, tau=300)
    page = page_of(tmp_path / "runs")
    library = sum(len(text) for _, text in page.scripts[1:]) - len(json.dumps(page.data))
    assert library + 30 * len(json.dumps(page.data)) < 15e6


def test_summaries_with_holes_use_the_seeds_that_are_there():
    values = np.array([[1.0, np.nan, 3.0], [3.0, np.nan, np.nan], [np.nan, np.nan, 5.0]])
    summary = summary_of(values)
    assert summary.n_seeds.tolist() == [2, 0, 2]
    np.testing.assert_array_equal(summary.center, [2, np.nan, 4])
    np.testing.assert_array_equal(summary.low, [1, np.nan, 3])
    whole = np.random.default_rng(0).normal(size=(4, 5))
    whole[3, 3:] = np.nan
    expected = summarise(whole, mean, np.random.default_rng(0))
    np.testing.assert_array_equal(summary_of(whole).high, expected.high)


@given(st.floats(1e-6, 1e9) | st.floats(-1e9, -1e-6))
def test_numbers_are_written_to_three_digits(value):
    text = shown(value)
    assert float(text.replace("−", "-")) == pytest.approx(value, rel=6e-3)
    assert "e" not in text and not re.search(r"\.\d*0$", text)


def test_numbers_by_hand():
    texts = [0.0, -0.0, 1234.6, 10.449, 0.99999, 0.012345, -135.04, 2.5, math.nan, math.inf]
    assert [shown(value) for value in texts] == [
        "0", "0", "1235", "10.4", "1", "0.0123", "−135", "2.5", "–", "inf",
    ]  # fmt: skip


def test_equal_runs_give_equal_bytes_packed_or_not(runs, html, tmp_path):
    assert pack.main([str(runs), "-o", str(tmp_path / "packed")]) == 0
    file = tmp_path / "report.html"
    arguments = [*REPORT, str(tmp_path / "packed"), "-o", str(file)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{file}\n")
    assert file.read_text("utf-8") == html


# ---- what the page may load and run ----


def test_the_page_loads_nothing(page):
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form"), tag
        assert "src" not in attributes and "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"url\(|@import|https?:", "".join(page.styles))
    (_, errors), (_, data), _, (_, own) = page.scripts
    addresses = re.findall(r"https?://[^\s\"']*", errors + data + own)
    assert set(addresses) == {"http://www.w3.org/2000/svg"}


def test_the_policy_names_the_scripts_of_the_page_alone(html, page):
    metas = [a for tag, a in page.elements if tag == "meta" and a.get("http-equiv")]
    policy = metas[0]["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and "connect-src" not in rules
    assert rules["img-src"] == "data: blob:"
    expected = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for attributes, text in page.scripts
        if not attributes
    ]
    assert rules["script-src"].split() == expected and len(expected) == 3
    assert html.index("Content-Security-Policy") < html.index("<script")


HOSTILE = "</script><script>window.x=1</script><img src=x onerror='y' \"><b>&amp;%{y}"


def test_texts_of_runs_stay_texts(tmp_path):
    folder = write_hostile_run(tmp_path / "runs")
    page = page_of(folder)
    assert len(page.scripts) == 4
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert page.text.count(HOSTILE) >= 6
    assert page.data["legends"]["curves"][0]["key"].startswith(HOSTILE)


@given(
    st.dictionaries(st.text("<>&/!-sript\u2028"), st.text("<>&/!-sript\u2028") | st.floats(0, 9))
)
def test_data_cannot_end_its_element(data):
    text = embedded(data)
    assert not set(text) & set("<>&\u2028") and json.loads(text) == data


def write_hostile_run(top):
    folder = top / "n" / "e" / "a" / "h"
    write_gym_run(folder, HOSTILE, HOSTILE, seeds=2, episodes=40, low=0, high=9, tau=9)
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(
        config + f"? {json.dumps(HOSTILE)}\n: {json.dumps(HOSTILE)}\n"
    )
    texts = dict.fromkeys(("reason", "commit", "command", "started", "updated"), HOSTILE)
    versions = {HOSTILE: HOSTILE, "kernels": HOSTILE}
    for seed in range(2):
        at = folder / f"seed-{seed:05d}"
        write_status(at, dataclasses.replace(STATUS, seed=seed, versions=versions, **texts))
        name = HOSTILE.replace('"', '""')
        (at / "evaluations.csv").write_text(
            f'seed,episode,step,policy,trial,return,length\n{seed},40,200,"{name}",0,1.0,5\n'
        )
    return top


# ---- claims ----


def claim(number, verdict, parts=(), supplements=(), note=""):
    words = (f"title {number}", "the <i>paper's</i> words", "statistic", "threshold", "reason")
    return ClaimResult(number, *words, verdict, tuple(parts), tuple(supplements), note)


PART = Part(
    "VDQN: <mean>", ">= 1", 1.25, 0.5, 2.0, (1.0, 1.5), (0, 1), Effect("VDQN", "DQN", 0.75, 0.3),
    True, True, False, "1 seed left out",
)  # fmt: skip


def test_claims_come_first_with_verdict_parts_and_intervals(runs, tmp_path, monkeypatch):
    supplement = Supplement("greedy return", 11.0, 10.9, 11.1, (0, 1, 2))
    results = [
        claim(1, "partly", [PART, dataclasses.replace(PART, holds=False)], [supplement], "few"),
        claim(2, "reproduced", [dataclasses.replace(PART, clear=True)]),
        claim(3, "not tested", note="DQN is missing"),
    ]
    monkeypatch.setattr(compose, "check_claims", lambda runs, rng: results)
    file = tmp_path / "page.html"
    assert command.main([str(runs), "-o", str(file)]) == 0
    page = Page(file.read_text("utf-8"))
    assert [a["id"] for tag, a in page.elements if tag == "section"][0] == "claims"
    table = page.table("Verdicts")
    assert [v.split(maxsplit=1)[1] for v in table.column("Verdict")] == [
        "partly", "reproduced", "not tested",
    ]  # fmt: skip
    assert table.column("Parts that hold") == ["1 of 2", "1 of 1", "–"]
    # Sorted by verdict, what is reproduced comes first.
    assert sorted(table.key("Verdict")) == [table.key("Verdict")[i] for i in (1, 0, 2)]
    parts = page.table("Parts of claim 1")
    assert parts.rows[0] == [
        "VDQN: <mean> (core)", "1.25 [0.5, 2]", ">= 1", "yes, not clearly", "2",
        "VDQN − DQN = 0.3, P(VDQN > DQN) = 0.75; 1 seed left out",
    ]  # fmt: skip
    assert parts.column("Holds") == ["yes, not clearly", "no"]
    assert page.table("Parts of claim 2").column("Holds") == ["yes"]
    beside = page.table("Beside claim 1; no verdict rests on it")
    assert beside.rows == [["greedy return", "11 [10.9, 11.1]", "3"]]
    assert "the <i>paper's</i> words" in page.text and "DQN is missing" in page.text
    assert "Of 3 claims: 1 reproduced, 1 partly, 1 not tested." in page.text


def test_runs_of_which_no_claim_speaks_have_no_claims(page):
    assert "claims" not in [a["id"] for tag, a in page.elements if tag == "section"]


def test_claims_that_cannot_be_checked_are_left_out_with_a_note(tmp_path, capsys):
    for name in ("a", "b"):
        write_chain_run(
            tmp_path / "paper" / "chain-8" / "vdqn" / name, 8, "vdqn", seeds=2, episodes=20, tau=9
        )
    page = page_of(tmp_path / "paper")
    note = capsys.readouterr().err
    assert note.startswith("vdqn-report: note: claims are left out: ") and note.count("\n") == 1
    assert len(page.table("States and origins").rows) == 2


# ---- the command ----


def refusal(arguments, capsys, code=2):
    assert command.main([str(a) for a in arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("vdqn-report: ")
    return captured.err


def test_without_plotly_the_extra_is_named(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command.util, "find_spec", lambda name: None)
    error = refusal([runs, "-o", tmp_path / "r.html"], capsys)
    assert "plotly" in error and "pip install 'vdqn-runner[report]'" in error
    assert not (tmp_path / "r.html").exists()


def test_bad_requests_create_nothing(runs, tmp_path, capsys, monkeypatch):
    # And nothing is worked out for them.
    monkeypatch.setattr("vdqn_runner.analysis.report.compose.compose", None)
    assert "did you mean" in refusal([runs.parent / "run", "-o", tmp_path / "r.html"], capsys)
    assert "is a folder" in refusal([runs, "-o", tmp_path], capsys)
    (tmp_path / "file").touch()
    assert "cannot be made" in refusal([runs, "-o", tmp_path / "file" / "r.html"], capsys)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_failure_leaves_the_report_before_it(tmp_path, capsys):
    folder = write_chain_run(tmp_path / "runs", 8, "dqn", seeds=1, episodes=20, tau=9)
    file = tmp_path / "r.html"
    assert command.main([str(folder), "-o", str(file)]) == 0
    capsys.readouterr()
    before = file.read_bytes()
    (folder / "seed-00000" / "episodes.csv").write_text("a,b\n1,2\n")
    assert "no column" in refusal([folder, "-o", file], capsys, code=1)
    assert file.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.html", "runs"]


def test_never_imports_torch_and_nothing_heavy_before_it_is_needed(runs, tmp_path):
    code = (
        "import sys, vdqn_runner.analysis.report.command as c\n"
        "heavy = {'torch', 'matplotlib', 'pandas', 'scipy', 'numpy', 'plotly'}\n"
        "assert not heavy & set(sys.modules), 'at import'\n"
        "assert c.main(['nowhere']) == 2 and not heavy & set(sys.modules), 'on refusal'\n"
        "assert c.main(sys.argv[1:]) == 0\n"
        "assert not {'torch', 'matplotlib.pyplot'} & set(sys.modules), 'after the work'\n"
    )
    arguments = [sys.executable, "-c", code, str(runs), "-o", str(tmp_path / "r.html")]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
