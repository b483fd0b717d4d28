"""How wide the weights' distributions are while VDQN and NoisyNet learn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import env_order, plot_curves
from vdqn_runner.analysis.labels import algo_name
from vdqn_runner.analysis.load import load_updates
from vdqn_runner.analysis.paper.product import Missing, Product, Row
from vdqn_runner.analysis.paper.selection import Loaded, Selection
from vdqn_runner.analysis.paper.training import curve_of, lacking

ALGOS = ("vdqn", "noisynet")
QUANTILES = ("q10", "q50", "q90")
DEFAULT_ENV = "chain-50"


@dataclass(frozen=True)
class Widths:
    """Quantiles of sigma over the weights of each layer, mean over seeds.

    Attributes:
        loaded: the run.
        layers: one frame a layer: index iteration, columns q10, q50 and q90.
    """

    loaded: Loaded
    layers: Sequence[pd.DataFrame]


def diagnostics(selection: Selection, env: str = DEFAULT_ENV) -> Product | Missing:
    """Return and sigma by layer against iterations, a row for each of VDQN and NoisyNet."""
    keys = [(env, algo) for algo in ALGOS]
    absent = selection.missing(keys)
    if absent:
        return lacking(absent)
    shown = [widths_of(selection.paper[key]) for key in keys]
    empty = [str(w.loaded.run.path) for w in shown if not w.layers]
    if empty:
        return Missing(f"sigma columns in the updates of {', '.join(empty)}")
    header = ("env", "algo", "layer", "iteration", *QUANTILES)
    rows = [row for w in shown for row in _rows(w)]
    return Product(
        diagnostics_figure(shown), _sentence(shown), header, rows, [w.loaded for w in shown]
    )


def widths_of(loaded: Loaded) -> Widths:
    """The quantiles of sigma that a run logged, each averaged over seeds.

    Only iterations that every seed has reached count, so that the curves have no jump.
    """
    updates = load_updates(loaded.run)
    numbers = {m[1] for name in updates if (m := re.fullmatch(r"sigma_layer(\d+)_q50", str(name)))}
    layers = []
    for number in sorted(numbers, key=int):
        names = [f"sigma_layer{number}_{q}" for q in QUANTILES]
        groups = updates.groupby("iteration")
        everyone = groups.size() == updates["seed"].nunique()
        layers.append(groups[names].mean()[everyone].set_axis(list(QUANTILES), axis=1))
    return Widths(loaded, layers)


def diagnostics_figure(shown: Sequence[Widths]) -> Figure:
    """A row per run: its return, then sigma of each layer on a common log axis."""
    n_layers = max(len(w.layers) for w in shown)
    places = [(row, column) for row in range(len(shown)) for column in range(n_layers + 1)]
    algos = [w.loaded.run.algo for w in sorted(shown, key=lambda w: env_order(w.loaded.run))]
    looks = style.styles((algo, algo_name(algo)) for algo in algos)
    with style.look():
        figure, axes = style.grid(places, 1.5, "")
        panels = dict(zip(places, axes, strict=True))
        limits = _limits(shown)
        for row, w in enumerate(shown):
            look = looks[algo_name(w.loaded.run.algo)]
            plot_curves(panels[row, 0], [curve_of(w.loaded)], looks)
            panels[row, 0].set_title("Return" if row == 0 else "")
            panels[row, 0].set_ylabel(algo_name(w.loaded.run.algo))
            for i, frame in enumerate(w.layers):
                _draw(panels[row, i + 1], frame, look, limits)
                panels[row, i + 1].set_title(f"$\\sigma$, layer {i + 1}" if row == 0 else "")
                if i:
                    panels[row, i + 1].tick_params("y", labelleft=False)
        for ax in axes:
            ax.set_xlabel("")
        figure.supxlabel(style.X_LABEL, fontsize=9)
        grey = "0.4"
        handles = [
            *(style.legend_line(algo_name(a), looks[algo_name(a)]) for a in algos),
            Line2D([], [], color=grey, label="median of the layer's weights"),
            Patch(facecolor=grey, alpha=0.25, label="10 % to 90 %"),
        ]
        style.shared_legend(figure, handles)
    return figure


def _draw(ax: Axes, frame: pd.DataFrame, look: style.Look, limits: tuple[float, float]) -> None:
    colour, dash = look
    x = frame.index.to_numpy()
    ax.plot(x, frame["q50"], color=colour, linestyle=dash)
    ax.fill_between(x, frame["q10"], frame["q90"], color=colour, alpha=0.22, linewidth=0)
    ax.set_yscale("log")
    ax.set_ylim(*limits)
    ax.yaxis.set_major_locator(LogLocator(base=10, numticks=6))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _limits(shown: Sequence[Widths]) -> tuple[float, float]:
    frames = [frame for w in shown for frame in w.layers]
    # A log axis has no place for a sigma of 0.
    low = min(float(frame[frame > 0].min().min()) for frame in frames)
    high = max(float(frame["q90"].max()) for frame in frames)
    return low / 1.3, high * 1.3


def _rows(w: Widths) -> list[Row]:
    run = w.loaded.run
    return [
        (run.env, run.algo, number, iteration, *values)
        for number, frame in enumerate(w.layers, start=1)
        for iteration, values in zip(frame.index.tolist(), frame.to_numpy().tolist(), strict=True)
    ]


def _sentence(shown: Sequence[Widths]) -> str:
    parts = []
    for w in shown:
        ends = ", ".join(
            f"{frame['q50'].iloc[0]:.2g} to {frame['q50'].iloc[-1]:.2g}" for frame in w.layers
        )
        parts.append(f"{algo_name(w.loaded.run.algo)} {ends}")
    return f"Median sigma from the first to the last iteration, by layer: {'; '.join(parts)}."
