"""Visit probabilities of the chain's states 1, N/2 and N (paper, section 5.2 and appendix).

`c_n` is 1 for an episode in which state n was ever occupied, and `p_n` is the mean of `c_n` over
the 10 episodes of an iteration, then over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import env_order, per_seed
from vdqn_runner.analysis.labels import legend_order
from vdqn_runner.analysis.load import Run
from vdqn_runner.analysis.stats import Summary, mean, summarise

# Not the colours of algorithms, because here a curve is a state.
STATES: Mapping[str, tuple[str, style.Look]] = {
    "visited_first": ("$n$ = 1", ("#56B4E9", style.DOTTED)),
    "visited_middle": ("$n$ = $N$/2", ("#D55E00", style.DASHED)),
    "visited_last": ("$n$ = $N$", ("#000000", style.SOLID)),
}


@dataclass(frozen=True)
class Visits:
    """The visit probabilities of one chain run, by column of its log."""

    run: Run
    label: str
    by_column: Mapping[str, Summary]

    def state(self, column: str) -> int:
        """The state that a column is about; N/2 is rounded down."""
        n = self.run.n or 0
        return {"visited_first": 1, "visited_middle": n // 2, "visited_last": n}[column]


def visit_probabilities(
    run: Run, label: str, episodes: pd.DataFrame, rng: np.random.Generator
) -> Visits:
    """Mean and interval of p_1, p_N/2 and p_N of one chain run, whose episodes are given.

    For N = 3 the middle state is state 1, and is not repeated.
    """
    columns = [c for c in STATES if (run.n, c) != (3, "visited_middle")]
    by_column = {c: summarise(per_seed(episodes, c), mean, rng) for c in columns}
    return Visits(run, label, by_column)


def plot_visits(ax: Axes, visits: Visits) -> Axes:
    """Draw the three curves of one run."""
    for column, summary in visits.by_column.items():
        style.draw(ax, summary, STATES[column][1])
    ax.set_title(f"{visits.label}, $N$ = {visits.run.n}")
    ax.set_ylim(-0.03, 1.03)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
    return ax


def visits_figure(visits: Sequence[Visits]) -> Figure:
    """One panel per run under one legend.

    With one chain its runs stand side by side, three in a row; with several, each chain has a
    column and each label a row.
    """
    visits = sorted(visits, key=lambda v: (env_order(v.run), legend_order(v.run.algo, v.label)))
    envs = list(dict.fromkeys(v.run.env for v in visits))
    order = {v.label: legend_order(v.run.algo, v.label) for v in visits}
    rows = sorted(order, key=order.__getitem__)
    if len(envs) == 1:
        places = [divmod(i, 3) for i in range(len(visits))]
    else:
        places = [(rows.index(v.label), envs.index(v.run.env)) for v in visits]
    with style.look():
        figure, axes = style.grid(places, height=1.45, y_label="Visit probability")
        for ax, one in zip(axes, visits, strict=True):
            plot_visits(ax, one)
        seeds = style.seeds_text(s for v in visits for s in v.by_column.values())
        handles = [style.legend_line(name, look) for name, look in STATES.values()]
        style.shared_legend(figure, handles, title=f"State $n$ of $N$, {seeds}")
    return figure
