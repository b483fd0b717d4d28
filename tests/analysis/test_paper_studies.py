"""The studies beside the paper's figures: what is drawn is what the logs say."""

import csv
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml
from matplotlib.colors import to_hex
from run_folders import algo as algo_config
from run_folders import chain, gym, write_config, write_seed

from vdqn_runner.analysis import style
from vdqn_runner.analysis.load import find_runs, load_updates
from vdqn_runner.analysis.paper.ablation import ablation
from vdqn_runner.analysis.paper.diagnostics import diagnostics
from vdqn_runner.analysis.paper.entropy_weight import entropy_weight
from vdqn_runner.analysis.paper.map_is_dqn import map_is_dqn
from vdqn_runner.analysis.paper.measures import areas, final_returns, interval
from vdqn_runner.analysis.paper.product import Missing
from vdqn_runner.analysis.paper.scaling import need_of, scaling
from vdqn_runner.analysis.paper.selection import Loaded, select
from vdqn_runner.analysis.solve import NEVER
from vdqn_runner.errors import ConfigError, RunError

NO_VISITS = (0, 0, 0)


def write_run(folder, env, algo, returns, episodes=None):
    """A run with one list of returns for each seed."""
    write_config(folder, env, algo, episodes or max(map(len, returns)))
    for seed, values in enumerate(returns):
        visits = [NO_VISITS] * len(values) if env["kind"] == "chain" else None
        write_seed(folder, seed, values, visits)
    return folder


def steps(at, episodes=200):
    """Returns of a seed that is optimal from episode `at` on; None is never."""
    return [11.0 if at is not None and e >= at else 0.0 for e in range(episodes)]


def selected(top):
    return select(find_runs([top]))


def only(top):
    (run,) = find_runs([top])
    return Loaded(run)


# Measures.


def test_measures_by_hand(tmp_path):
    ramp = [float(e) for e in range(250)]
    write_run(tmp_path, chain(5), algo_config("dqn"), [ramp, [2.0] * 250, [9.0] * 30])
    loaded = only(tmp_path)
    # The third seed is unfinished and does not count. 150..249 has mean 199.5, 0..249 has 124.5.
    assert final_returns(loaded.run, loaded.episodes).tolist() == [199.5, 2.0]
    assert areas(loaded.run, loaded.episodes).tolist() == [124.5, 2.0]


def test_a_short_run_is_all_end(tmp_path):
    write_run(tmp_path, chain(5), algo_config("dqn"), [[1.0, 2.0] * 10])
    loaded = only(tmp_path)
    assert final_returns(loaded.run, loaded.episodes).tolist() == [1.5]


def test_interval_of_equal_seeds_is_their_value():
    assert interval(np.array([3.0, 3.0, 3.0])) == (3.0, 3.0, 3.0)
    mean, low, high = interval(np.array([0.0, 1.0, 5.0]))
    assert 0 <= low < mean == 2.0 < high <= 5


# Scaling.


@pytest.fixture
def scaled(tmp_path):
    cases = {
        ("vdqn", 5): [0, 10, 20, 30, 40],
        ("vdqn", 50): [30, 40, 50, 60, None],
        ("dqn", 5): [10, 20, 30, 40, 50],
        ("dqn", 50): [20, None, None, None, None],
        ("noisynet", 50): [50, None, 30, None],
    }
    for (algo, n), at in cases.items():
        folder = tmp_path / "paper" / f"chain-{n}" / algo / "0"
        write_run(folder, chain(n), algo_config(algo), [steps(a) for a in at])
    return tmp_path


def test_need_is_the_episode_of_each_finished_seed(tmp_path):
    returns = [steps(30), steps(None), steps(0)[:150]]
    write_run(tmp_path, chain(9), algo_config("vdqn"), returns, episodes=200)
    need = need_of(only(tmp_path))
    assert (need.algo, need.n, need.limit, need.failed) == ("vdqn", 9, 200, 1)
    assert need.episodes.tolist() == [30.0, NEVER]


def test_scaling_draws_medians_seeds_and_failures(scaled):
    drawing = scaling(selected(scaled))
    strip, ax = drawing.figure.axes
    looks = style.styles((a, a) for a in ("vdqn", "dqn", "noisynet"))
    lines = {
        algo: [
            line for line in ax.get_lines() if to_hex(line.get_color()) == looks[algo][0].lower()
        ]
        for algo in looks
    }
    medians = {
        algo: [
            y for line in found if line.get_markerfacecolor() == "white" for y in line.get_ydata()
        ]
        for algo, found in lines.items()
    }
    # Over seeds with failures as later than all else: DQN's at 50 and NoisyNet's are failures.
    assert medians == {"vdqn": [20.0, 50.0], "dqn": [30.0], "noisynet": []}
    points = {
        algo: [
            (round(x), y)
            for line in found
            if line.get_markerfacecolor() != "white"
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        ]
        for algo, found in lines.items()
    }
    assert points["vdqn"] == [
        *((5, 10.0 * i) for i in range(5)),
        *((48, y) for y in (30, 40, 50, 60)),
    ]
    assert sorted(y for _, y in points["noisynet"]) == [30, 50]
    crosses = {
        (to_hex(line.get_color()), x) for line in strip.get_lines() for x in line.get_xdata()
    }
    assert crosses == {(looks[a][0].lower(), 50) for a in ("vdqn", "dqn", "noisynet")}
    assert sorted(text.get_text() for text in strip.texts) == ["1", "2", "4"]
    assert "not within 200 episodes" in strip.get_title()
    labels = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert labels == ["VDQN (5 seeds)", "DQN (5 seeds)", "NoisyNet (4 seeds)"]
    assert "VDQN 5: 20, 50: 50; DQN 5: 30, 50: never; NoisyNet 50: never." in drawing.finding


def test_a_median_with_an_interval_beyond_the_end_stays_in_the_panel(scaled):
    _, ax = scaling(selected(scaled)).figure.axes
    for bars in ax.collections:
        for segment in bars.get_segments():
            assert (segment[:, 1] >= 0).all() and (segment[:, 1] <= 200).all()


def test_scaling_table_has_a_row_a_seed(scaled):
    drawing = scaling(selected(scaled))
    assert len(drawing.rows) == 5 * 4 + 4
    values = [row[3] for row in drawing.rows if row[:2] == ("chain-50", "dqn")]
    assert values == [20, "", "", "", ""]
    shown = [(loaded.run.algo, loaded.run.n) for loaded in drawing.runs]
    assert shown == [("vdqn", 5), ("vdqn", 50), ("dqn", 5), ("dqn", 50), ("noisynet", 50)]
    low, high = drawing.figure.axes[1].get_ylim()
    assert low < 0 and high == 200  # a seed that needs no episode is not cut in half


def test_scaling_needs_two_chains(tmp_path):
    folder = tmp_path / "paper" / "chain-5" / "dqn" / "0"
    write_run(folder, chain(5), algo_config("dqn"), [steps(0)])
    assert isinstance(scaling(selected(tmp_path)), Missing)


# Lambda.

WEIGHTS = (0.0002, 0.02, 2.0)


def write_lambda(top, n, lam, returns, name="0"):
    config = algo_config("vdqn") | {"lam": {"kind": "constant", "value": lam}}
    return write_run(
        top / "lambda" / f"chain-{n}" / "vdqn" / f"{name}{lam}", chain(n), config, returns
    )


def test_lambda_draws_both_measures_and_every_seed(tmp_path):
    returns = {}
    for n, (i, lam) in product((10, 50), enumerate(WEIGHTS)):
        seeds = [[float(i)] * 50 + [float(i + s)] * 100 for s in range(3)]
        returns[n, lam] = np.array(seeds)
        write_lambda(tmp_path, n, lam, seeds)
    drawing = entropy_weight(selected(tmp_path))
    measures = (lambda r: r[:, -100:].mean(axis=1), lambda r: r.mean(axis=1))
    for ax, (measure, n) in zip(drawing.figure.axes, product(measures, (10, 50)), strict=True):
        expected = [measure(returns[n, lam]) for lam in WEIGHTS]
        dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
        for lam, line, values in zip(WEIGHTS, dots, expected, strict=True):
            assert line.get_xdata().tolist() == [lam] * 3
            np.testing.assert_allclose(line.get_ydata(), values)
        (curve,) = [x for x in ax.get_lines() if len(x.get_xdata()) == 3 and x not in dots]
        assert curve.get_xdata().tolist() == list(WEIGHTS)
        np.testing.assert_allclose(curve.get_ydata(), [v.mean() for v in expected])
        assert ax.get_xscale() == "log"
        (mark,) = [x for x in ax.get_lines() if set(x.get_xdata()) == {0.02} and x not in dots]
        assert mark.get_linestyle() != "-"
    assert len(drawing.rows) == 2 * 2 * 3
    assert "N = 10: 2.67 at lambda = 2 (1.67 at 0.02)" in drawing.finding
    labels = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert labels[0] == "mean of 3 seeds"


def test_two_runs_for_one_lambda_are_refused(tmp_path):
    for name in "ab":
        write_lambda(tmp_path, 10, 0.02, [[0.0] * 10], name)
    with pytest.raises(ConfigError, match=r"chain-10 lam=0\.02: two runs for one point"):
        entropy_weight(selected(tmp_path))


def test_a_lambda_with_no_finished_seed_is_left_out(tmp_path):
    write_lambda(tmp_path, 10, 0.02, [[0.0] * 20])
    young = write_lambda(tmp_path, 10, 2.0, [[0.0] * 20])
    write_config(young, chain(10), algo_config("vdqn") | {"lam": 2.0}, 30)
    drawing = entropy_weight(selected(tmp_path))
    assert [row[1] for row in drawing.rows] == [0.02, 0.02]


# DQN as a special case.


def write_map_run(top, folder, returns, env=None, **settings):
    folder = top / "map_is_dqn" / "e" / settings.get("name", "variational") / folder
    config = algo_config("variational") | settings
    return write_run(folder, env or chain(10), config, returns)


@pytest.fixture
def mapped(tmp_path):
    """DQN, a point mass with the same returns, two Gaussians."""
    rng = np.random.default_rng(0)
    same = rng.uniform(0, 11, (3, 40)).tolist()
    write_map_run(tmp_path, "a", same, name="dqn", epsilon={"kind": "constant", "value": 0.0})
    write_map_run(tmp_path, "b", [[1.0] * 40] * 3, name="dqn", epsilon=0.1)
    write_map_run(tmp_path, "c", same, family="point", lam={"kind": "constant", "value": 64.0})
    for i, lam in enumerate((0.02, 0.0002)):
        write_map_run(tmp_path, f"g{i}", [[float(i)] * 40] * 3, family="gaussian", lam=lam)
    return tmp_path, same


def test_the_point_mass_is_drawn_over_dqn(mapped):
    top, same = mapped
    drawing = map_is_dqn(selected(top))
    left, right = drawing.figure.axes
    wanted = np.reshape(same, (3, 4, 10)).mean(axis=(0, 2))
    drawn = [line.get_ydata() for line in left.get_lines() if len(line.get_ydata()) == 4]
    assert len(drawn) == 2
    for curve in drawn:
        np.testing.assert_allclose(curve, wanted)
    drawn = [line.get_ydata() for line in right.get_lines() if len(line.get_ydata()) == 4]
    assert [tuple(set(curve)) for curve in drawn[1:]] == [(0.0,), (1.0,)]
    np.testing.assert_allclose(drawn[0], wanted)
    labels = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert labels == [
        "DQN, $\\epsilon$ = 0",
        "Gaussian, $\\lambda$ = 0.02",
        "Gaussian, $\\lambda$ = 0.0002",
        "point mass, $\\lambda$ = 64",
    ]
    colours = {to_hex(line.get_color()) for line in drawing.figure.legends[0].get_lines()}
    assert len(colours) == 4
    assert "N = 10: the 120 returns of the point mass and of DQN are the same;" in drawing.finding
    assert "Gaussian, lambda = 0.0002: 1.00" in drawing.finding
    assert len(drawing.rows) == 4 * 4 and len(drawing.runs) == 4


def test_a_point_mass_that_is_not_dqn_is_told(mapped):
    top, same = mapped
    folder = top / "map_is_dqn" / "e" / "variational" / "c"
    same[1][7] += 0.5
    write_seed(folder, 1, same[1], [NO_VISITS] * 40)
    assert "are at most 0.5 apart" in map_is_dqn(selected(top)).finding


def test_dqn_as_a_special_case_needs_both(mapped, tmp_path):
    top, _ = mapped
    write_map_run(top, "x", [[1.0] * 10], env=chain(5), family="point", lam=64.0)
    assert {row[0] for row in map_is_dqn(selected(top)).rows} == {"chain-10"}
    (top / "map_is_dqn/e/dqn/a/config.yaml").unlink()
    names = "experiment=map_is_dqn and of experiment=map_is_dqn_reference"
    assert map_is_dqn(selected(top)) == Missing(f"runs of {names}")


def test_two_points_for_one_curve_are_refused(mapped):
    top, same = mapped
    write_map_run(top, "d", same, family="point", lam=64.0)
    with pytest.raises(ConfigError, match="two runs for one curve"):
        map_is_dqn(selected(top))


# Diagnostics.


def write_updates(folder, seed, sigmas):
    """Log sigma quantiles [I][3 layers][3 quantiles] of one seed."""
    names = [f"sigma_layer{layer}_{q}" for layer in (1, 2, 3) for q in ("q10", "q50", "q90")]
    with (folder / f"seed-{seed:05d}" / "updates.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["seed", "iteration", "episode", "step", "updates", "loss", *names])
        for iteration, values in enumerate(sigmas):
            place = [seed, iteration, 10 * (iteration + 1), 590 * (iteration + 1), 90]
            writer.writerow([*place, "nan", *np.ravel(values).tolist()])


@pytest.fixture
def learned(tmp_path):
    """Two runs with sigmas, and these [seed, iteration, layer, quantile] by algorithm."""
    rng = np.random.default_rng(0)
    sigmas = {}
    for algo in ("vdqn", "noisynet"):
        folder = tmp_path / "paper" / "chain-50" / algo / "0"
        write_run(folder, chain(50), algo_config(algo), [[1.0] * 40, [2.0] * 40])
        sigmas[algo] = np.sort(rng.uniform(0.001, 0.1, (2, 4, 3, 3)), axis=-1)
        for seed in range(2):
            write_updates(folder, seed, sigmas[algo][seed])
    return tmp_path, sigmas


def check_diagnostics(drawing, sigmas):
    axes = drawing.figure.axes
    assert len(axes) == 8
    for row, algo in enumerate(("vdqn", "noisynet")):
        expected = sigmas[algo].mean(axis=0)
        returns = axes[4 * row].get_lines()[0]
        assert returns.get_ydata().tolist() == [1.5] * 4
        for layer in range(3):
            ax = axes[4 * row + 1 + layer]
            (line,) = ax.get_lines()
            np.testing.assert_allclose(line.get_ydata(), expected[:, layer, 1])
            corners = ax.collections[0].get_paths()[0].vertices[:, 1]
            assert corners.min() == pytest.approx(expected[:, layer, 0].min())
            assert corners.max() == pytest.approx(expected[:, layer, 2].max())
            assert ax.get_yscale() == "log"
            low, high = ax.get_ylim()
            assert low < sigmas["vdqn"].mean(axis=0).min() and high > expected.max()
    assert f"VDQN {sigmas['vdqn'].mean(axis=0)[0, 0, 1]:.2g} to " in drawing.finding


def test_diagnostics_are_the_means_of_the_logs(learned):
    top, sigmas = learned
    check_diagnostics(diagnostics(selected(top)), sigmas)


def test_only_iterations_of_all_seeds_are_drawn(learned):
    top, sigmas = learned
    folder = top / "paper" / "chain-50" / "vdqn" / "0"
    write_updates(folder, 1, sigmas["vdqn"][1][:2])
    line = diagnostics(selected(top)).figure.axes[1].get_lines()[0]
    assert line.get_xdata().tolist() == [0, 1]


def test_a_row_that_is_being_written_is_left_out(learned):
    top, sigmas = learned
    file = top / "paper" / "chain-50" / "vdqn" / "0" / "seed-00001" / "updates.csv"
    file.write_bytes(file.read_bytes()[:-5])
    (run,) = [run for run in find_runs([top]) if run.algo == "vdqn"]
    assert load_updates(run).groupby("seed").size().tolist() == [4, 3]


def test_damaged_updates_are_told(learned):
    top, _ = learned
    file = top / "paper" / "chain-50" / "vdqn" / "0" / "seed-00001" / "updates.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(RunError, match="updates.csv: has no column"):
        diagnostics(selected(top))


def test_diagnostics_of_another_chain_are_missing(learned):
    missing = diagnostics(selected(learned[0]), "chain-10")
    assert missing == Missing("chain-10 vdqn, noisynet")


# Ablations.


def test_ablation_of_weight_samples(tmp_path):
    means = {}
    settings = product((10, 50), ("per_tuple", "per_batch"), ("step", "episode"), (0.001, 0.01))
    for i, (n, samples, resample, lr) in enumerate(settings):
        config = algo_config("vdqn", lr) | {"theta_samples": samples, "resample": resample}
        seeds = [[0.0] * 100 + [float(i + s)] * 100 for s in (0, 2)]
        folder = tmp_path / "ablation" / f"chain-{n}" / "vdqn" / str(i)
        write_run(folder, chain(n), config, seeds)
        words = (samples.replace("_", " "), f"each {resample}", f"{lr:g}")
        means[n, ", ".join(words)] = i + 1.0
    drawing = ablation(selected(tmp_path), "ablation_theta")
    labels = [text.get_text() for text in drawing.figure.axes[0].get_yticklabels()][::-1]
    assert labels[:3] == [
        "per tuple, each step, 0.001",
        "per tuple, each step, 0.01",
        "per tuple, each episode, 0.001",
    ]
    assert len(labels) == 8
    for n, ax in zip((10, 50), drawing.figure.axes, strict=True):
        assert ax.get_title() == f"Chain, $N$ = {n}"
        for marker, factor in (("o", 1.0), ("s", 0.5)):  # last 100 episodes, all 200
            at = {
                round(line.get_ydata()[0]): line.get_xdata()[0]
                for line in ax.get_lines()
                if line.get_marker() == marker
            }
            for y, label in enumerate(reversed(labels)):
                assert math.isclose(at[y], factor * means[n, label])
        seeds = [line for line in ax.get_lines() if line.get_marker() == "|"]
        assert len(seeds) == 16 and all(len(line.get_xdata()) == 2 for line in seeds)
    assert len(drawing.rows) == 2 * 16


def test_ablations_take_their_own_runs(tmp_path):
    noise = algo_config("noisynet") | {"noise": "factorised", "theta_samples": "per_batch"}
    write_run(tmp_path / "ablation/c/noisynet/0", chain(10), noise, [[1.0] * 10])
    for algo, bootstrap in product(("vdqn", "dqn"), (False, True)):
        env = gym("CartPole-v1") | {"bootstrap_on_timeout": bootstrap}
        folder = tmp_path / f"ablation/g/{algo}/{bootstrap}"
        write_run(folder, env, algo_config(algo), [[5.0] * 10])
    selection = selected(tmp_path)
    for other in ("cold_posterior", "inference"):
        assert ablation(selection, other) == Missing(f"finished seeds of experiment={other}")
    assert ablation(selection, "ablation_theta") == Missing(
        "finished seeds of experiment=ablation_theta"
    )
    rows = ablation(selection, "ablation_noisynet").rows
    assert {row[1] for row in rows} == {"factorised, per batch, 0.001"}
    rows = ablation(selection, "ablation_timeout").rows
    assert [row[1] for row in rows[::2]] == [
        "VDQN, terminal", "VDQN, bootstrap", "DQN, terminal", "DQN, bootstrap",
    ]  # fmt: skip


def rows_of(product):
    """The rows of a study by their labels: mean of the last 100 episodes, and of all."""
    last = {row[1]: row[4] for row in product.rows if row[2] == "final_return"}
    return {row[1]: (last[row[1]], row[4]) for row in product.rows if row[2] == "area"}


def test_weights_held_and_cooled(tmp_path):
    def schedule(kind, end):
        return {"kind": kind, "start": 0.2, "end": end, "duration": 1000, "unit": "episodes"}

    lams = [
        {"kind": "constant", "value": 2.0},
        {"kind": "constant", "value": 0.0002},
        schedule("linear", 0.002),
        schedule("exponential", 0.00002),
    ]
    for i, lam in enumerate(lams):
        config = algo_config("vdqn", 0.01) | {"lam": lam}
        seeds = [[0.0] * 100 + [float(i)] * 100] * 2
        write_run(tmp_path / f"cold_posterior/c/vdqn/{i}", chain(50), config, seeds)
    # Another study's.
    write_run(tmp_path / "lambda/c/vdqn/0", chain(50), algo_config("vdqn"), [[9.0] * 200])
    assert rows_of(ablation(selected(tmp_path), "cold_posterior")) == {
        "0.0002": (1.0, 0.5),
        "2": (0.0, 0.0),
        "0.2 to 2e-05, exponential": (3.0, 1.5),
        "0.2 to 0.002, linear": (2.0, 1.0),
    }


def test_kinds_of_inference(tmp_path):
    settings = [
        ("low_rank", "score", 10, None, 0.01),
        ("gaussian", "pathwise", 1, 1.0, 0.001),
        ("gaussian", "pathwise", 1, None, 0.01),
        ("gaussian", "pathwise", 1, None, 0.001),
        ("laplace", "score", 10, None, 0.001),
    ]
    for i, (family, estimator, samples, prior, lr) in enumerate(settings):
        config = algo_config("dqn", lr) | {
            "name": "variational",
            "family": family,
            "estimator": estimator,
            "samples": samples,
            "prior_sigma": prior,
        }
        write_run(tmp_path / f"inference/c/v/{i}", chain(10), config, [[float(i)] * 10] * 2)
    drawing = ablation(selected(tmp_path), "inference")
    assert list(rows_of(drawing).items()) == [
        ("Gaussian, pathwise, 1 sample, 0.001", (3.0, 3.0)),
        ("Gaussian, pathwise, 1 sample, 0.01", (2.0, 2.0)),
        ("Gaussian, pathwise, 1 sample, prior 1, 0.001", (1.0, 1.0)),
        ("Laplace, score, 10 samples, 0.001", (4.0, 4.0)),
        ("low rank, score, 10 samples, 0.01", (0.0, 0.0)),
    ]
    assert len(drawing.figure.axes) == 1


def test_two_runs_for_one_row_are_refused(tmp_path):
    for name in "ab":
        env = gym("CartPole-v1")
        write_run(tmp_path / f"ablation/g/dqn/{name}", env, algo_config("dqn"), [[5.0] * 10])
    with pytest.raises(ConfigError, match="CartPole-v1 DQN, terminal: two runs for one row"):
        ablation(selected(tmp_path), "ablation_timeout")


def test_the_papers_runs_are_the_other_half_of_the_time_limits(tmp_path):
    for algo, value in (("vdqn", 3.0), ("dqn", 4.0)):
        folder = tmp_path / f"paper/g/{algo}/0"
        write_run(folder, gym("CartPole-v1"), algo_config(algo), [[value] * 10] * 2)
    write_run(tmp_path / "paper/c/vdqn/0", chain(10), algo_config("vdqn"), [[1.0] * 10])
    assert isinstance(ablation(selected(tmp_path), "ablation_timeout"), Missing)
    env = gym("CartPole-v1") | {"bootstrap_on_timeout": True}
    write_run(tmp_path / "ablation/g/vdqn/1", env, algo_config("vdqn"), [[5.0] * 10])
    rows = ablation(selected(tmp_path), "ablation_timeout").rows
    assert [(row[1], row[3], row[4]) for row in rows[::2]] == [
        ("VDQN, terminal", 2, 3.0), ("VDQN, bootstrap", 1, 5.0), ("DQN, terminal", 2, 4.0),
    ]  # fmt: skip
    # Only time limits are compared with the paper's runs.
    assert isinstance(ablation(selected(tmp_path), "ablation_theta"), Missing)


def test_runs_of_other_studies_are_no_panels(tmp_path):
    write_run(tmp_path / "quick/c/dqn/0", chain(5), algo_config("dqn"), [[1.0] * 10])
    # Every experiment that says what its runs are called, but those of the paper's figures.
    files = (Path(__file__).parents[2] / "conf" / "experiment").glob("*.yaml")
    names = {yaml.safe_load(file.read_text())["name"] for file in files} - {"paper"}
    assert {"lambda", "ablation", "lr", "deep_sea"} < names
    for name in names:
        write_run(tmp_path / f"{name}/c/dqn/0", chain(5), algo_config("dqn"), [[2.0] * 10])
    assert [loaded.run.name for loaded in selected(tmp_path).paper.values()] == ["quick"]
