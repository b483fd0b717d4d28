"""The command that makes the paper's figures: files, numbers, page, what is told."""

import base64
import csv
import html
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pytest
from matplotlib.colors import to_hex
from run_folders import write_chain_run, write_gym_run

from vdqn_runner.analysis.load import find_runs
from vdqn_runner.analysis.paper import command
from vdqn_runner.analysis.paper.chain_drawing import STATES, figure_1
from vdqn_runner.analysis.paper.product import Missing
from vdqn_runner.analysis.paper.selection import select
from vdqn_runner.analysis.paper.specs import FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, specs
from vdqn_runner.analysis.paper.training import curves, visits

TASKS = ["CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0"]
ALL = ["vdqn", "dqn", "noisynet"]
NAMES = {"vdqn": "VDQN", "dqn": "DQN", "noisynet": "NoisyNet"}
EPISODES = 40
# By figure, the runs that it lacks.
STUDIES = {
    "lambda": "finished seeds of experiment=lambda",
    "map_is_dqn": "runs of experiment=map_is_dqn and of experiment=map_is_dqn_reference",
    "cold_posterior": "finished seeds of experiment=cold_posterior",
    "inference": "finished seeds of experiment=inference",
    "ablation_theta": "finished seeds of experiment=ablation_theta",
    "ablation_noisynet": "finished seeds of experiment=ablation_noisynet",
    "ablation_timeout": "finished seeds of experiment=ablation_timeout",
}


def write_paper(top, name="paper", chains=(5, 8, 10, 32, 50, 100, 128), tasks=TASKS):
    for n, algo in product(chains, ALL):
        folder = top / name / f"chain-{n}" / algo / "00000000"
        write_chain_run(folder, n, algo, seeds=2, episodes=EPISODES, tau=10)
    for env, algo in product(tasks, ["vdqn", "dqn"]):
        folder = top / name / env / algo / "00000000"
        write_gym_run(folder, env, algo, seeds=2, episodes=EPISODES, low=1, high=90, tau=9)
    return top


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return write_paper(tmp_path_factory.mktemp("all") / "runs")


@pytest.fixture(scope="module")
def drawn(runs, tmp_path_factory):
    """The command's output folder, standard output and standard error."""
    out = tmp_path_factory.mktemp("drawn") / "figures"
    arguments = [sys.executable, "-W", "error", "-m", "vdqn_runner.analysis.paper.command"]
    done = subprocess.run(
        [*arguments, str(runs), "-o", str(out)],
        env=os.environ | {"MPLBACKEND": "TkAgg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return out, done.stdout.splitlines(), done.stderr.splitlines()


def rows(file):
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def log(folder, column):
    """Iteration means [S, I] straight from the logs, without the package."""
    seeds = [rows(file) for file in sorted(folder.glob("seed-*/episodes.csv"))]
    values = np.array([[float(row[column]) for row in s] for s in seeds])
    return values.reshape(len(seeds), -1, 10).mean(axis=2)


def paper_run(runs, env, algo):
    return runs / "paper" / env / algo / "00000000"


def test_all_files_are_written_and_named(drawn):
    out, told, _ = drawn
    names = ["figure1.png", "figure1.pdf"]
    for figure in ("figure2", "figure3", "figure4", "figure5", "scaling"):
        names += [f"{figure}.png", f"{figure}.pdf", f"{figure}.csv"]
    names.append("index.html")
    assert sorted(names) == sorted(file.name for file in out.iterdir())
    assert told == [str(out / name) for name in names]
    for name in names:
        content = (out / name).read_bytes()
        assert content.startswith({"png": b"\x89PNG", "pdf": b"%PDF"}.get(name[-3:], b""))
        assert len(content) > 100


def test_what_cannot_be_drawn_is_told_in_a_line_each_and_nothing_else_is(drawn, runs):
    _, _, told = drawn
    where = [paper_run(runs, "chain-50", algo) for algo in ("vdqn", "noisynet")]
    assert told == [
        f"vdqn-figures: diagnostics skipped: missing sigma columns in the updates of {where[0]}, "
        f"{where[1]}",
        *(f"vdqn-figures: {name} skipped: missing {why}" for name, why in STUDIES.items()),
    ]


def panel(figure, title):
    (ax,) = [ax for ax in figure.axes if ax.get_title().partition(") ")[2] == title]
    return ax


def test_curves_are_the_means_of_the_logs(runs):
    selection = select(find_runs([runs]))
    for keys, title in (
        (FIGURE_2, lambda env: env),
        (FIGURE_3, lambda env: f"Chain, $N$ = {env[6:]}"),
    ):
        figure = curves(selection, keys).figure
        for env in dict.fromkeys(env for env, _ in keys):
            ax = panel(figure, title(env))
            algos = [algo for e, algo in keys if e == env]
            lines = [line for line in ax.get_lines() if len(line.get_xdata()) == EPISODES // 10]
            assert len(lines) == len(algos)
            for algo, line in zip(algos, lines, strict=True):
                expected = log(paper_run(runs, env, algo), "return").mean(axis=0)
                np.testing.assert_allclose(line.get_ydata(), expected)
                assert line.get_xdata().tolist() == list(range(EPISODES // 10))


def test_visits_are_the_means_of_the_logs(runs):
    selection = select(find_runs([runs]))
    for keys in (FIGURE_4, FIGURE_5):
        figure = visits(selection, keys).figure
        assert len(figure.axes) == len(keys)
        for env, algo in keys:
            ax = panel(figure, f"{NAMES[algo]}, $N$ = {env[6:]}")
            columns = ("visited_first", "visited_middle", "visited_last")
            for column, line in zip(columns, ax.get_lines(), strict=True):
                expected = log(paper_run(runs, env, algo), column).mean(axis=0)
                np.testing.assert_allclose(line.get_ydata(), expected)


def test_panels_are_those_of_the_paper_in_its_order(runs):
    selection = select(find_runs([runs]))

    def titles(figure):
        return sorted(ax.get_title() for ax in figure.axes)

    assert titles(curves(selection, FIGURE_2).figure) == [
        "(a) CartPole-v0", "(b) CartPole-v1", "(c) Acrobot-v1", "(d) MountainCar-v0",
    ]  # fmt: skip
    assert titles(curves(selection, FIGURE_3).figure) == [
        f"({a}) Chain, $N$ = {n}" for a, n in zip("abcd", (5, 10, 50, 100), strict=True)
    ]
    assert titles(visits(selection, FIGURE_4).figure) == [
        "(a) VDQN, $N$ = 32", "(b) DQN, $N$ = 32",
    ]  # fmt: skip
    grid = product(NAMES.values(), (8, 32, 128))
    assert titles(visits(selection, FIGURE_5).figure) == [
        f"({a}) {name}, $N$ = {n}" for a, (name, n) in zip("abcdefghi", grid, strict=True)
    ]


def test_titles_keep_the_size_of_the_style(runs):
    figure = curves(select(find_runs([runs])), FIGURE_2).figure
    assert {ax.title.get_fontsize() for ax in figure.axes} == {9.0}


def test_an_algorithm_has_one_colour_and_dash_in_every_figure(runs):
    selection = select(find_runs([runs]))
    drawings = [spec.draw(selection) for spec in specs("chain-50")]
    looks = {name: set() for name in NAMES.values()}
    for drawing in drawings:
        for legend in () if isinstance(drawing, Missing) else drawing.figure.legends:
            for line in legend.get_lines():
                name = str(line.get_label()).partition(" (")[0]
                if name in looks:
                    looks[name].add((to_hex(line.get_color()), line.get_linestyle()))
    assert [len(look) for look in looks.values()] == [1, 1, 1]
    assert len(set.union(*looks.values())) == 3


def test_tables_hold_what_is_drawn(drawn, runs):
    out, _, _ = drawn
    table = rows(out / "figure3.csv")
    assert len(table) == 4 * 3 * (EPISODES // 10)
    for algo in ALL:
        shown = [r for r in table if (r["env"], r["algo"]) == ("chain-50", algo)]
        values = log(paper_run(runs, "chain-50", algo), "return")
        np.testing.assert_allclose([float(r["mean"]) for r in shown], values.mean(axis=0))
        # Two seeds: the interval reaches from one to the other.
        np.testing.assert_allclose([float(r["low"]) for r in shown], values.min(axis=0))
        np.testing.assert_allclose([float(r["high"]) for r in shown], values.max(axis=0))
    visited = rows(out / "figure5.csv")
    assert {r["state"] for r in visited if r["env"] == "chain-32"} == {"1", "16", "32"}


def test_same_runs_same_bytes(drawn, runs, tmp_path):
    out, _, _ = drawn
    assert command.main([str(runs), "-o", str(tmp_path)]) == 0
    for file in out.iterdir():
        if file.name != "index.html":  # names its folder
            assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


class Parsed(HTMLParser):
    """Tags that were opened, in order; complains about a tag that is closed wrongly."""

    VOID = ("meta", "img")

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.images = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_puts_each_figure_beside_the_paper(drawn, runs):
    out, _, _ = drawn
    text = (out / "index.html").read_text(encoding="utf-8")
    parsed = Parsed()
    parsed.feed(text)
    assert parsed.open == []
    sections = [attrs["id"] for tag, attrs in parsed.seen if tag == "section" and "id" in attrs]
    assert sections == ["figure1", "figure2", "figure3", "figure4", "figure5", "scaling"]
    images = [attrs for tag, attrs in parsed.seen if tag == "img"]
    for name, image in zip(sections, images, strict=True):
        start, _, code = image["src"].partition(",")
        assert start == "data:image/png;base64"
        assert base64.b64decode(code) == (out / f"{name}.png").read_bytes()
        assert image["alt"]
    links = [attrs["href"] for tag, attrs in parsed.seen if tag == "a"]
    assert links and all((out / link).is_file() for link in links)
    # Nothing is fetched from elsewhere.
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
    plain = html.unescape(text)
    assert "When N increases such that N ≥ 50, DQN barely makes progress" in plain
    assert f"vdqn-run experiment=fig3 out={runs} && vdqn-figures {runs} -o {out}" in plain
    for title in ("Weight of the entropy: missing finished seeds of experiment=lambda",):
        assert title in plain
    assert "s<sub>N/2</sub>" in text and "s<sub>2</sub>" in text
    rows = re.findall(r"<tr><td>(.*?)</td></tr>", text[: text.index('id="figure3"')])
    cells = [re.split("<.*?>+", row) for row in rows]
    assert [[cell for cell in row if cell] for row in cells] == [
        [NAMES[algo], "0.001", "2", str(EPISODES), ", ".join(TASKS)] for algo in ("vdqn", "dqn")
    ]
    assert "width=device-width" in text and "@media print" in text


def test_page_says_in_a_sentence_what_the_numbers_are(drawn, runs):
    text = (drawn[0] / "index.html").read_text(encoding="utf-8")
    last = {  # fewer than 100 episodes: all of them
        algo: log(paper_run(runs, "CartPole-v0", algo), "return").mean() for algo in ("vdqn", "dqn")
    }
    assert f"last {EPISODES} episodes" in text
    assert f"CartPole-v0: VDQN {last['vdqn']:.2f}, DQN {last['dqn']:.2f};" in text
    ends = [
        log(paper_run(runs, "chain-32", "vdqn"), column).mean()
        for column in ("visited_first", "visited_middle", "visited_last")
    ]
    assert f"VDQN at N = 32: {', '.join(f'{end:.2f}' for end in ends)};" in text


def test_a_figure_that_lacks_runs_is_skipped_and_says_which(tmp_path, capsys):
    write_paper(tmp_path, chains=(5, 10, 50), tasks=TASKS[:2])
    young = tmp_path / "paper" / "chain-32" / "vdqn" / "00000000"
    write_chain_run(young, 32, "vdqn", seeds=1, episodes=50, tau=9, lengths=[9])
    assert command.main([str(tmp_path), "-o", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[:4] == [
        "vdqn-figures: figure2 skipped: missing Acrobot-v1 vdqn, dqn; MountainCar-v0 vdqn, dqn",
        "vdqn-figures: figure3 skipped: missing chain-100 vdqn, dqn, noisynet",
        "vdqn-figures: figure4 skipped: missing chain-32 vdqn, dqn",
        "vdqn-figures: figure5 skipped: missing chain-8 vdqn, dqn, noisynet; "
        "chain-32 vdqn, dqn, noisynet; chain-128 vdqn, dqn, noisynet",
    ]
    assert not (tmp_path / "out" / "figure2.png").exists()


def test_partial_runs_are_drawn_and_the_legend_says_how_many_seeds(runs, tmp_path, capsys):
    top = write_paper(tmp_path, chains=(8, 32, 128), tasks=())
    short = top / "paper" / "chain-32" / "dqn" / "00000000"
    write_chain_run(short, 32, "dqn", seeds=2, episodes=EPISODES, tau=10, lengths=[EPISODES, 10])
    assert command.main([str(top), "-o", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().err
    assert told.count("is unfinished: of 40 episodes seed 1 has 10") == 1  # in two figures
    figure = visits(select(find_runs([top])), FIGURE_4).figure
    assert figure.legends[0].get_title().get_text().endswith("1–2 seeds")
    for task in TASKS:
        (tmp_path / "more" / "paper" / task).mkdir(parents=True)
        for algo in ("vdqn", "dqn"):
            folder = tmp_path / "more" / "paper" / task / algo / "0"
            lengths = [40, 40] if algo == "vdqn" else [40]
            write_gym_run(folder, task, algo, seeds=len(lengths), episodes=40, low=0, high=9, tau=9)
    figure = curves(select(find_runs([tmp_path / "more"])), FIGURE_2).figure
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["VDQN (2 seeds)", "DQN (1 seed)"]


def test_runs_of_another_name_are_drawn_where_there_are_none_of_the_paper(runs, tmp_path):
    quick = write_paper(tmp_path / "runs", name="quick", chains=(8, 32), tasks=())
    keys = {("chain-8", algo) for algo in ALL} | {("chain-32", algo) for algo in ALL}
    assert set(select(find_runs([quick])).paper) == keys
    both = select(find_runs([quick, runs]))
    assert {loaded.run.path.parents[2].name for loaded in both.paper.values()} == {"paper"}


def test_page_of_quick_runs_says_how_they_were_trained(tmp_path):
    top = write_paper(tmp_path / "runs", name="quick", chains=(32,), tasks=())
    assert command.main([str(top), "-o", str(tmp_path)]) == 0
    text = html.unescape((tmp_path / "index.html").read_text(encoding="utf-8"))
    asked = f"vdqn-run experiment=fig4 name=quick n_seeds=2 episodes={EPISODES} out={top} &&"
    assert asked in text


def test_runs_of_other_experiments_are_no_figures(tmp_path):
    for name in ("lambda", "ablation", "lr"):
        write_paper(tmp_path, name=name, chains=(8,), tasks=())
    selection = select(find_runs([tmp_path]))
    assert selection.paper == {}
    assert (len(selection.lam), len(selection.ablation)) == (3, 3)


def test_two_configs_for_one_panel_are_refused(tmp_path, capsys):
    for name, lr in (("quick", 0.001), ("other", 0.01)):
        folder = tmp_path / "runs" / name / "chain-8" / "dqn" / "0"
        write_chain_run(folder, 8, "dqn", seeds=1, episodes=10, tau=9, lr=lr)
    assert command.main([str(tmp_path / "runs"), "-o", str(tmp_path / "out")]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    for part in ("chain-8 dqn: two runs for one panel", "lr=0.001", "lr=0.01", "other", "quick"):
        assert part in told.err
    assert not (tmp_path / "out").exists()


def test_bad_requests_are_one_line(runs, tmp_path, capsys):
    for arguments, part in (
        ([str(runs.parent / "run")], "did you mean"),
        ([str(tmp_path)], "no run"),
        ([str(runs), "-o", str(tmp_path / "file" / "x")], "cannot be made"),
    ):
        (tmp_path / "file").touch()
        assert command.main(arguments) == 2
        told = capsys.readouterr().err
        assert told.startswith("vdqn-figures: ") and told.count("\n") == 1 and part in told


def test_a_damaged_log_is_a_failure(tmp_path, capsys):
    write_paper(tmp_path, chains=(8,), tasks=())
    (tmp_path / "paper/chain-8/dqn/00000000/seed-00000/episodes.csv").write_text("a,b\n1,2\n")
    assert command.main([str(tmp_path), "-o", str(tmp_path / "o")]) == 1
    assert "no column" in capsys.readouterr().err


def test_never_imports_torch_and_nothing_heavy_before_it_is_needed(runs, tmp_path):
    code = (
        "import sys; import vdqn_runner.analysis.paper.command as c\n"
        "heavy = {'torch', 'matplotlib', 'pandas', 'scipy', 'numpy'}\n"
        "assert not heavy & set(sys.modules), 'at import'\n"
        "try: c.main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert c.main(['/nowhere']) == 2\n"
        "assert not heavy & set(sys.modules), 'before the runs are found'\n"
        "assert c.main(sys.argv[1:]) == 0\n"
        "assert not {'torch', 'gymnasium', 'matplotlib.pyplot'} & set(sys.modules)\n"
    )
    some = runs / "paper" / "chain-8"
    arguments = [sys.executable, "-c", code, str(some), "-o", str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_chain_is_drawn_with_its_states_start_and_rewards():
    figure = figure_1().figure
    (ax,) = figure.axes
    texts = [text.get_text() for text in ax.texts]
    for name in (*STATES, "start", r"$r = \frac{1}{1000}$", "$r = 1$", "left", "right"):
        assert name in texts
    start = next(text for text in ax.texts if text.get_text() == "start")
    assert start.xy[0] == STATES["$s_2$"]
