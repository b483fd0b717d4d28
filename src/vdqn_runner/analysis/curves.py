"""Training curves: mean return of each iteration, over seeds, one panel per environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vdqn_runner.analysis import style
from vdqn_runner.analysis.labels import legend_order
from vdqn_runner.analysis.load import Run
from vdqn_runner.analysis.stats import Floats, Statistic, Summary, iteration_means, stack, summarise

CHAIN_OPTIMUM = 11  # N + 9 steps, of which the first N - 2 lead to state N, then 1 per step
# The control tasks as the paper orders them.
TASKS = ("CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0")


@dataclass(frozen=True)
class Curve:
    """The training curve of one run."""

    run: Run
    label: str
    summary: Summary


def per_seed(episodes: pd.DataFrame, column: str) -> Floats:
    """A column of the episodes of one run, averaged per iteration: [S, I], NaN at the ends."""
    return stack([iteration_means(part[column]) for _, part in episodes.groupby("seed")])


def training_curve(
    run: Run,
    label: str,
    episodes: pd.DataFrame,
    statistic: Statistic,
    rng: np.random.Generator,
) -> Curve:
    """The curve of the returns of one run, whose episodes are given."""
    return Curve(run, label, summarise(per_seed(episodes, "return"), statistic, rng))


def env_order(run: Run) -> tuple[bool, int, str, int]:
    """Sort key of panels: chains by N, the paper's tasks, then others by name and by N."""
    if run.n is not None:
        return False, run.n, "", 0
    name, _, size = run.env.rpartition("-")
    number = int(size) if size.isdecimal() else 0
    return True, TASKS.index(run.env) if run.env in TASKS else len(TASKS), name, number


def env_title(run: Run) -> str:
    """How an environment is written above its panel."""
    return run.env_name.replace("N =", "$N$ =")


def plot_curves(ax: Axes, curves: Sequence[Curve], looks: Mapping[str, style.Look]) -> Axes:
    """Draw the curves of one environment; for a chain also its best return, 11."""
    for curve in curves:
        style.draw(ax, curve.summary, looks[curve.label])
        ax.set_title(env_title(curve.run))
        if curve.run.n is not None:
            ax.set_ylim(-0.5, 12)
            ax.set_yticks([0, 2, 4, 6, 8, 10])
    if any(curve.run.n is not None for curve in curves):
        colour, dash = style.REFERENCE
        ax.axhline(
            CHAIN_OPTIMUM, color=colour, linestyle=dash, linewidth=style.REFERENCE_WIDTH, zorder=1
        )
    return ax


def curves_figure(curves: Sequence[Curve], y_label: str = "Return") -> Figure:
    """All curves, one panel per environment, under one legend.

    Args:
        curves: at least one; each with at least one iteration.
        y_label: what is shown.
    """
    curves = sorted(curves, key=lambda curve: legend_order(curve.run.algo, curve.label))
    looks = style.styles((curve.run.algo, curve.label) for curve in curves)
    envs = sorted({env_order(curve.run) for curve in curves})
    n_columns = 3 if len(envs) in (3, 5, 6) or len(envs) > 8 else min(len(envs), 2)
    with style.look():
        places = [divmod(i, n_columns) for i in range(len(envs))]
        figure, axes = style.grid(places, height=1.75, y_label=y_label)
        for ax, env in zip(axes, envs, strict=True):
            plot_curves(ax, [curve for curve in curves if env_order(curve.run) == env], looks)
        style.shared_legend(figure, _handles(curves, looks))
    return figure


def _handles(curves: Sequence[Curve], looks: Mapping[str, style.Look]) -> list[Line2D]:
    handles = []
    for label in dict.fromkeys(curve.label for curve in curves):
        seeds = style.seeds_text(c.summary for c in curves if c.label == label)
        handles.append(style.legend_line(f"{label} ({seeds})", looks[label]))
    if any(curve.run.n is not None for curve in curves):
        name = f"optimum ({CHAIN_OPTIMUM})"
        handles.append(style.legend_line(name, style.REFERENCE, style.REFERENCE_WIDTH))
    return handles
