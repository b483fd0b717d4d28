"""Figures 2 and 3: training curves. Figures 4 and 5: visit probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import Curve, curves_figure, training_curve
from vdqn_runner.analysis.labels import algo_name, legend_order
from vdqn_runner.analysis.paper.measures import LAST_EPISODES, final_returns
from vdqn_runner.analysis.paper.product import Missing, Product, Row
from vdqn_runner.analysis.paper.selection import Key, Loaded, Selection
from vdqn_runner.analysis.stats import Summary, mean
from vdqn_runner.analysis.visits import Visits, visit_probabilities, visits_figure

# Every interval is drawn from its own generator with this seed, so that the interval of a run does
# not depend on what else is shown.
_BOOTSTRAP_SEED = 0


def curves(selection: Selection, keys: Sequence[Key]) -> Product | Missing:
    """Training curves of the runs (environment, algorithm), one panel per environment."""
    absent = selection.missing(keys)
    if absent:
        return lacking(absent)
    runs = [selection.paper[key] for key in keys]
    shown = [curve_of(loaded) for loaded in runs]
    return Product(
        style.letter(curves_figure(shown)),
        _returns_sentence(runs),
        ("env", "algo", "iteration", "n_seeds", "mean", "low", "high"),
        [(c.run.env, c.run.algo, *row) for c in shown for row in summary_rows(c.summary)],
        runs,
    )


def visits(selection: Selection, keys: Sequence[Key]) -> Product | Missing:
    """Visit probabilities of the chain runs (environment, algorithm), one panel each."""
    absent = selection.missing(keys)
    if absent:
        return lacking(absent)
    runs = [selection.paper[key] for key in keys]
    shown = [
        visit_probabilities(
            loaded.run,
            algo_name(loaded.run.algo),
            loaded.episodes,
            np.random.default_rng(_BOOTSTRAP_SEED),
        )
        for loaded in runs
    ]
    return Product(
        style.letter(visits_figure(shown)),
        _visits_sentence(shown),
        ("env", "algo", "state", "iteration", "n_seeds", "mean", "low", "high"),
        [
            (v.run.env, v.run.algo, v.state(column), *row)
            for v in shown
            for column, summary in v.by_column.items()
            for row in summary_rows(summary)
        ],
        runs,
    )


def curve_of(loaded: Loaded) -> Curve:
    """The training curve of a run, under the name of its algorithm."""
    rng = np.random.default_rng(_BOOTSTRAP_SEED)
    label = algo_name(loaded.run.algo)
    return training_curve(loaded.run, label, loaded.episodes, mean, rng)


def lacking(keys: Iterable[Key]) -> Missing:
    """Say which runs are missing: `chain-5 vdqn, dqn; chain-10 dqn`."""
    by_env: dict[str, list[str]] = {}
    for env, algo in keys:
        by_env.setdefault(env, []).append(algo)
    return Missing("; ".join(f"{env} {', '.join(algos)}" for env, algos in by_env.items()))


def summary_rows(summary: Summary) -> Iterator[Row]:
    """Rows (iteration, seeds, centre, low, high) of a curve."""
    columns = (summary.n_seeds, summary.center, summary.low, summary.high)
    for iteration, values in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        yield iteration, *values


def place_name(loaded: Loaded) -> str:
    """An environment in a sentence: `N = 50`, `CartPole-v1`."""
    return f"N = {loaded.run.n}" if loaded.run.n is not None else loaded.run.env


def _returns_sentence(runs: Sequence[Loaded]) -> str:
    by_place: dict[str, list[str]] = {}
    budgets = {loaded.run.episodes for loaded in runs}
    for loaded in sorted(runs, key=lambda r: legend_order(r.run.algo, r.run.algo)):
        values = final_returns(loaded.run, loaded.episodes)
        text = f"{values.mean():.2f}" if len(values) else "unfinished"
        entries = by_place.setdefault(place_name(loaded), [])
        entries.append(f"{algo_name(loaded.run.algo)} {text}")
    places = "; ".join(
        f"{place}: {', '.join(by_place[place])}" for place in dict.fromkeys(map(place_name, runs))
    )
    last = min(LAST_EPISODES, *budgets)
    return f"Mean return over the last {last} episodes and over the finished seeds: {places}."


def _visits_sentence(shown: Sequence[Visits]) -> str:
    parts = []
    for v in shown:
        last = {name: summary.center[-10:].mean() for name, summary in v.by_column.items()}
        values = ", ".join(f"{value:.2f}" for value in last.values())
        parts.append(f"{v.label} at N = {v.run.n}: {values}")
    return (
        "Visit probabilities of states 1, N/2 and N over the last 10 iterations: "
        f"{'; '.join(parts)}."
    )
