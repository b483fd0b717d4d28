"""What is on the figures: panels, colours, curves, bands and legends."""

import itertools

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from run_folders import algo as algo_config
from run_folders import chain as chain_config
from run_folders import write_chain_run, write_config, write_gym_run, write_seed

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import curves_figure, plot_curves, training_curve
from vdqn_runner.analysis.labels import labels
from vdqn_runner.analysis.load import find_runs, load_episodes
from vdqn_runner.analysis.stats import Summary, mean
from vdqn_runner.analysis.visits import plot_visits, visit_probabilities, visits_figure


def rng():
    return np.random.default_rng(0)


def curves_of(folder):
    runs = find_runs([folder])
    return [
        training_curve(run, label, load_episodes(run), mean, rng())
        for run, label in zip(runs, labels(runs), strict=True)
    ]


def visits_of(folder):
    runs = find_runs([folder])
    return [
        visit_probabilities(run, label, load_episodes(run), rng())
        for run, label in zip(runs, labels(runs), strict=True)
    ]


def legend_texts(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def colours(ax):
    return {to_hex(line.get_color()) for line in ax.get_lines() if len(line.get_xdata()) > 2}


@pytest.fixture
def mixed(tmp_path):
    for n, algo in itertools.product((10, 5), ("dqn", "noisynet", "vdqn")):
        folder = tmp_path / f"chain-{n}" / algo
        write_chain_run(folder, n, algo, seeds=3, episodes=40, tau=10)
    for env in ("MountainCar-v0", "Acrobot-v1"):
        write_gym_run(tmp_path / env, env, "dqn", seeds=2, episodes=40, low=-200, high=-100, tau=10)
    return tmp_path


def test_one_panel_per_environment_chains_by_n_then_others_by_name(mixed):
    figure = curves_figure(curves_of(mixed))
    titles = [ax.get_title() for ax in figure.axes]
    assert titles == ["Chain, $N$ = 5", "Chain, $N$ = 10", "Acrobot-v1", "MountainCar-v0"]
    assert legend_texts(figure) == [
        "VDQN (3 seeds)", "DQN (2–3 seeds)", "NoisyNet (3 seeds)", "optimum (11)",
    ]  # fmt: skip
    assert [ax.get_ylabel() for ax in figure.axes] == ["Return", "", "Return", ""]
    assert [ax.get_xlabel() for ax in figure.axes] == ["", ""] + ["Iteration (10 episodes)"] * 2


def test_an_algorithm_has_one_colour_in_all_panels_and_its_legend(mixed):
    figure = curves_figure(curves_of(mixed))
    vdqn, dqn, noisynet = (to_hex(line.get_color()) for line in figure.legends[0].get_lines()[:3])
    assert len({vdqn, dqn, noisynet}) == 3
    assert [colours(ax) for ax in figure.axes] == [{vdqn, dqn, noisynet}] * 2 + [{dqn}] * 2


def test_an_algorithm_keeps_its_colour_whatever_else_is_shown():
    together = style.styles([("vdqn", "VDQN"), ("dqn", "DQN"), ("mine", "mine")])
    for algo, label in (("vdqn", "VDQN"), ("dqn", "DQN")):
        assert style.styles([(algo, label)])[label] == together[label]
    assert len({colour for colour, _ in together.values()}) == 3


def test_algorithms_differ_in_grey_or_in_dash():
    looks = style.styles([(a, a) for a in ("vdqn", "dqn", "noisynet", "a", "b", "c", "d")])

    def grey(colour):
        return float(np.dot(to_rgb(colour), [0.299, 0.587, 0.114]))

    for (c1, d1), (c2, d2) in itertools.combinations(looks.values(), 2):
        assert d1 != d2 or abs(grey(c1) - grey(c2)) > 0.1


def test_variants_of_an_algorithm_differ_in_shade_and_dash():
    looks = style.styles([("vdqn", f"VDQN lr={x}") for x in ("0.01", "0.001", "1e-05")])
    brightness = [sum(to_rgb(looks[f"VDQN lr={x}"][0])) for x in ("1e-05", "0.001", "0.01")]
    assert brightness == sorted(brightness) and len(set(brightness)) == 3
    assert len({dash for _, dash in looks.values()}) == 3


def test_the_optimum_is_drawn_for_chains_only(mixed):
    figure = curves_figure(curves_of(mixed))
    has_line = [
        any(set(np.atleast_1d(line.get_ydata())) == {11} for line in ax.get_lines())
        for ax in figure.axes
    ]
    assert has_line == [True, True, False, False]


def test_curve_values_are_the_means_of_ten_episodes_over_seeds(tmp_path):
    write_config(tmp_path, chain_config(5), algo_config("vdqn"), 20)
    visits = [(0, 1, 1)] * 20
    write_seed(tmp_path, 0, [float(i) for i in range(20)], visits)
    write_seed(tmp_path, 1, [0.0] * 10 + [1.0] * 10, visits)
    (curve,) = curves_of(tmp_path)
    axes = Figure().add_subplot()
    assert plot_curves(axes, [curve], style.styles([("vdqn", "VDQN")])) is axes
    line = axes.get_lines()[0]
    assert line.get_xdata().tolist() == [0, 1]
    assert line.get_ydata().tolist() == [(4.5 + 0.0) / 2, (14.5 + 1.0) / 2]


def test_visits_by_hand(tmp_path):
    write_config(tmp_path, chain_config(9), algo_config("dqn"), 20)
    # Seed 0: state 1 in 3 of the first 10 episodes and none of the next; N/2 always; N never.
    write_seed(tmp_path, 0, [0.0] * 20, [(int(e < 3), 1, 0) for e in range(20)])
    # Seed 1: state 1 always; N/2 in the second half; N in the last 4 episodes.
    write_seed(tmp_path, 1, [0.0] * 20, [(1, int(e >= 10), int(e >= 16)) for e in range(20)])
    (visits,) = visits_of(tmp_path)
    expected = {
        "visited_first": (1, [0.65, 0.5]),
        "visited_middle": (4, [0.5, 1.0]),
        "visited_last": (9, [0.0, 0.2]),
    }
    axes = Figure().add_subplot()
    assert plot_visits(axes, visits) is axes
    for line, (column, (state, values)) in zip(axes.get_lines(), expected.items(), strict=True):
        assert visits.state(column) == state
        np.testing.assert_allclose(visits.by_column[column].center, values)
        np.testing.assert_allclose(line.get_ydata(), values)


def test_the_middle_of_three_states_is_the_first_and_shown_once(tmp_path):
    write_chain_run(tmp_path, 3, "dqn", seeds=2, episodes=10, tau=10)
    (visits,) = visits_of(tmp_path)
    assert [visits.state(column) for column in visits.by_column] == [1, 3]


def test_visits_have_a_row_per_algorithm_and_a_column_per_chain(tmp_path):
    for n, algo in ((8, "vdqn"), (8, "dqn"), (32, "vdqn")):
        write_chain_run(tmp_path / f"{n}-{algo}", n, algo, seeds=2, episodes=20, tau=10)
    figure = visits_figure(visits_of(tmp_path))
    places = {
        ax.get_title(): (ax.get_subplotspec().rowspan.start, ax.get_subplotspec().colspan.start)
        for ax in figure.axes
    }
    assert places == {
        "VDQN, $N$ = 8": (0, 0), "DQN, $N$ = 8": (1, 0), "VDQN, $N$ = 32": (0, 1),
    }  # fmt: skip
    assert all(len(ax.get_lines()) == 3 for ax in figure.axes)
    assert legend_texts(figure) == ["$n$ = 1", "$n$ = $N$/2", "$n$ = $N$"]
    assert "2 seeds" in figure.legends[0].get_title().get_text()
    assert [bool(ax.get_xlabel()) for ax in figure.axes] == [False, True, True]


def test_visits_of_one_chain_stand_side_by_side(tmp_path):
    for algo in ("dqn", "vdqn"):
        write_chain_run(tmp_path / algo, 32, algo, seeds=2, episodes=20, tau=10)
    figure = visits_figure(visits_of(tmp_path))
    assert [ax.get_title() for ax in figure.axes] == ["VDQN, $N$ = 32", "DQN, $N$ = 32"]
    assert {ax.get_subplotspec().rowspan.start for ax in figure.axes} == {0}


def drawn(n_seeds):
    values = np.arange(len(n_seeds), dtype=float)
    axes = Figure().add_subplot()
    summary = Summary(np.array(n_seeds), values, values - 1, values + 1)
    style.draw(axes, summary, ("#000000", style.SOLID))
    bands = [c for c in axes.collections if isinstance(c, PolyCollection)]
    return axes.get_lines(), bands


def test_one_seed_has_no_band():
    lines, bands = drawn([1, 1, 1])
    assert len(lines) == 1 and bands == []


def test_the_part_on_fewer_seeds_is_faint_and_joins_on():
    (full, rest), bands = drawn([4, 4, 3, 2])
    assert full.get_xdata().tolist() == [0, 1] and rest.get_xdata().tolist() == [1, 2, 3]
    assert rest.get_alpha() < full.get_alpha() == 1.0
    assert len(bands) == 2


def test_the_legend_says_on_how_many_seeds_a_curve_rests(tmp_path):
    write_chain_run(tmp_path, 8, "vdqn", seeds=3, episodes=40, tau=10, lengths=[40, 29, 30])
    assert legend_texts(curves_figure(curves_of(tmp_path)))[0] == "VDQN (1–3 seeds)"


@pytest.mark.parametrize("n_labels", [1, 4, 9])
def test_nothing_sticks_out_or_overlaps(tmp_path, n_labels):
    for i in range(n_labels):
        write_chain_run(
            tmp_path / str(i), 8, "vdqn", seeds=2, episodes=20, tau=10, lr=0.001 * (i + 1)
        )
    figure = curves_figure(curves_of(tmp_path))
    with style.look():
        figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    (ax,), (legend,) = figure.axes, figure.legends
    panel, key = ax.get_tightbbox(renderer), legend.get_window_extent(renderer)
    for box in (panel, key):
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
    assert panel.y1 <= key.y0
    assert ax.get_window_extent(renderer).height / figure.dpi > 1.0  # inches


def test_iterations_are_marked_in_whole_numbers():
    figure, (ax,) = style.grid([(0, 0)], 2.0, "Return")
    for last in (1.0, 3.0, 20.0, 199.0):
        ax.set_xlim(0.0, last)
        assert all(float(tick).is_integer() for tick in ax.get_xticks())
