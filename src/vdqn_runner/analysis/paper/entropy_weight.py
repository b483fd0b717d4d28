"""What VDQN's weight of the entropy, lambda, does on chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import CHAIN_OPTIMUM, env_order, env_title
from vdqn_runner.analysis.load import Run
from vdqn_runner.analysis.paper.measures import areas, final_returns, interval
from vdqn_runner.analysis.paper.product import Missing, Product
from vdqn_runner.analysis.paper.selection import Loaded, Selection
from vdqn_runner.analysis.stats import Floats
from vdqn_runner.errors import ConfigError

PAPER_LAMBDA = 0.02
Measure = Callable[[Run, pd.DataFrame], Floats]
MEASURES: tuple[tuple[str, str, Measure], ...] = (
    ("final_return", "Return, last 100 episodes", final_returns),
    ("area", "Return, all episodes", areas),
)


@dataclass(frozen=True)
class Point:
    """One lambda on one chain: both measures of its finished seeds, [S] each."""

    loaded: Loaded
    lam: float
    values: tuple[Floats, ...]


def entropy_weight(selection: Selection) -> Product | Missing:
    """Final return and area under the curve against lambda, a column per chain.

    Raises:
        ConfigError: two runs for one lambda on one chain.
    """
    points: dict[tuple[str, float], Point] = {}
    for loaded in selection.lam:
        lam = constant_lambda(loaded.run)
        if lam is None:
            continue
        values = tuple(measure(loaded.run, loaded.episodes) for _, _, measure in MEASURES)
        key = loaded.run.env, lam
        if key in points:
            raise ConfigError(
                f"{loaded.run.env} lam={lam:g}: two runs for one point, "
                f"{points[key].loaded.run.path} and {loaded.run.path}"
            )
        points[key] = Point(loaded, lam, values)
    shown = [point for point in points.values() if len(point.values[0])]
    if not shown:
        return Missing("finished seeds of experiment=lambda")
    shown.sort(key=lambda p: (env_order(p.loaded.run), p.lam))
    rows = [
        (p.loaded.run.env, p.lam, name, len(values), *interval(values))
        for p in shown
        for (name, _, _), values in zip(MEASURES, p.values, strict=True)
    ]
    header = ("env", "lam", "measure", "n_seeds", "mean", "low", "high")
    return Product(entropy_figure(shown), _sentence(shown), header, rows, [p.loaded for p in shown])


def constant_lambda(run: Run) -> float | None:
    """The lambda of a run; None where there is none, it is 0 or it follows a schedule."""
    lam = run.config["algo"].get("lam")
    value = lam.get("value") if isinstance(lam, dict) else lam
    return float(value) if value else None


def entropy_figure(points: Sequence[Point]) -> Figure:
    """One column per chain, one row per measure."""
    envs = list(dict.fromkeys(p.loaded.run.env for p in points))
    places = [(row, column) for row in range(len(MEASURES)) for column in range(len(envs))]
    (look,) = style.styles([("vdqn", "VDQN")]).values()
    with style.look():
        figure, axes = style.grid(places, 1.6, "", "Weight of the entropy $\\lambda$")
        for (row, column), ax in zip(places, axes, strict=True):
            mine = [p for p in points if p.loaded.run.env == envs[column]]
            _draw(ax, mine, row, look)
            if row == 0:
                ax.set_title(env_title(mine[0].loaded.run))
            if column == 0:
                ax.set_ylabel(MEASURES[row][1])
        counts = sorted({len(p.values[0]) for p in points})
        seeds = f"{counts[0]}–{counts[-1]}" if len(counts) > 1 else str(counts[0])
        handles = [
            style.legend_line(f"mean of {seeds} seeds", look),
            Line2D([], [], color=look[0], marker="o", linestyle="", markersize=3, alpha=0.5,
                   label="single seeds"),
            style.legend_line(f"paper's $\\lambda$ = {PAPER_LAMBDA}", style.REFERENCE),
        ]  # fmt: skip
        style.shared_legend(figure, handles)
    return figure


def _draw(ax: Axes, points: Sequence[Point], row: int, look: style.Look) -> None:
    colour, dash = look
    x = np.array([p.lam for p in points])
    center, low, high = np.array([interval(p.values[row]) for p in points]).T
    for p in points:
        values = p.values[row]
        ax.plot(
            np.full(len(values), p.lam), values, "o", color=colour, markersize=2.6, alpha=0.4,
            markeredgewidth=0,
        )  # fmt: skip
    ax.plot(x, center, color=colour, linestyle=dash)
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    ax.axvline(PAPER_LAMBDA, color=style.REFERENCE[0], linestyle=style.REFERENCE[1], linewidth=0.8)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(base=10))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(-0.5, CHAIN_OPTIMUM + 1)
    ax.set_yticks([0, 2, 4, 6, 8, 10])


def _sentence(points: Sequence[Point]) -> str:
    parts = []
    for env in dict.fromkeys(p.loaded.run.env for p in points):
        mine = [p for p in points if p.loaded.run.env == env]
        best = max(mine, key=lambda p: float(p.values[1].mean()))
        at = [p for p in mine if p.lam == PAPER_LAMBDA]
        here = f" ({at[0].values[1].mean():.2f} at {PAPER_LAMBDA})" if at else ""
        most = f"{best.values[1].mean():.2f} at lambda = {best.lam:g}"
        parts.append(f"N = {mine[0].loaded.run.n}: {most}{here}")
    return f"Largest mean return over all episodes, {'; '.join(parts)}."
