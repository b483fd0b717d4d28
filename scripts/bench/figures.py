"""The benchmark's figures, in the one look of all figures here."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from scripts.bench.work import COST
from vdqn_runner.analysis.style import PAGE_WIDTH, Look, look, save, styles

NAMES = {"vdqn": "VDQN", "dqn": "DQN", "noisynet": "NoisyNet"}
_MARKERS = {"vdqn": "o", "dqn": "s", "noisynet": "^"}
_PEERS: Mapping[str, tuple[str, Look]] = {
    "sb3": ("SB3 DQN, 1 seed", ("#D55E00", (0, (8, 2)))),
    "sbx": ("SBX DQN, 1 seed", ("#CC79A7", (0, (1.2, 1.2)))),
    "published": ("Published VDQN, 1 seed", ("0.25", (0, (4, 1, 1.2, 1, 1.2, 1)))),
}
_PALETTE = (
    "#0072B2", "#56B4E9", "#009E73", "#8FD3BD", "#F0E442", "#E69F00", "#F3C98B",
    "#D55E00", "#7A3300", "#CC79A7", "#5B3A63", "0.75",
)  # fmt: skip


def speed(bench: pd.DataFrame, out: Path) -> None:
    """Draw seed-steps a second over the number of seeds, a panel for each environment."""
    envs = list(bench["env"].unique())
    with look():
        figure, axes = _panels(1, len(envs), 2.5)
        for ax, env in zip(axes, envs, strict=True):
            here = bench[bench["env"] == env]
            ours = here[here["maker"] == "ours"]
            for algo in ours["algo"].unique():
                _curve(ax, ours[ours["algo"] == algo], "n_seeds", "seed_steps_per_second", algo)
            for peer, (label, (colour, dash)) in _PEERS.items():
                theirs = here.loc[here["maker"] == peer, "seed_steps_per_second"]
                if len(theirs):
                    ax.axhline(theirs.median(), color=colour, linestyle=dash, label=label)
            _log(ax, sorted(ours["n_seeds"].unique()))
            _log_y(ax, (1.0,))
            ax.set_title(_title(env))
            ax.set_xlabel("Seeds in lockstep")
        for ax in axes[1:]:
            ax.sharey(axes[0])
            ax.tick_params(labelleft=False)
        axes[0].set_ylabel("Seed-steps a second, one core")
        _legend(figure, axes[0])
    _save(figure, out / "speed")


def sweep(sweep: pd.DataFrame, titles: Mapping[str, tuple[str, str]], out: Path) -> None:
    """Draw the cost of a step against each size, a panel for each."""
    labels = {
        "seeds": "Seeds in lockstep",
        "states": "States N",
        "width": "Width of hidden layers",
        "replay": "Transitions stored",
    }
    axes_names = [axis for axis in titles if (sweep["study"] == axis).any()]
    with look():
        figure, axes = _panels(-(-len(axes_names) // 2), 2, 2.0)
        for ax, axis in zip(axes, axes_names, strict=False):
            column = titles[axis][0]
            here = sweep[sweep["study"] == axis]
            for (env, algo), group in here.groupby(["env", "algo"], sort=False):
                if axis != "states":
                    faint = env != here["env"].iloc[0]
                    _curve(ax, group, column, COST, str(algo), faint)
            if axis == "states":
                for algo, group in here.groupby("algo", sort=False):
                    _curve(ax, group, column, COST, str(algo))
            _log(ax, sorted(here[column].unique()))
            low, high = here[COST].min(), here[COST].max()
            _log_y(ax, (1.0, 2.0, 5.0))
            ax.set_ylim(low / 1.6, high * 1.6)
            ax.set_xlabel(labels[axis])
        for ax in axes[len(axes_names) :]:
            ax.set_visible(False)
        for ax in axes[::2]:
            ax.set_ylabel("µs a step and seed")
        _legend(figure, *axes)
    _save(figure, out / "sweep")


def parts(parts: pd.DataFrame, order: Sequence[str], out: Path) -> None:
    """Draw what a step consists of: a bar for each case of the largest number of seeds."""
    here = parts[parts["n_seeds"] == parts["n_seeds"].max()]
    cases = list(dict.fromkeys(zip(here["env"], here["algo"], strict=True)))
    with look():
        figure = Figure(figsize=(PAGE_WIDTH, 0.9 + 0.24 * len(cases)), layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
        y = np.arange(len(cases))[::-1]
        left = np.zeros(len(cases))
        for part, colour in zip(order, _PALETTE, strict=True):
            by_case = here[here["part"] == part].set_index(["env", "algo"])["us"]
            width = np.array([max(0.0, by_case.get(case, 0.0)) for case in cases])
            if width.max() > 0:
                ax.barh(y, width, left=left, color=colour, height=0.72, label=part)
            left += width
        ax.set_yticks(y, [f"{NAMES[algo]}, {_title(env)}" for env, algo in cases])
        ax.set_xlabel(f"µs a step and seed, {here['n_seeds'].iloc[0]} seeds in lockstep")
        ax.grid(axis="y", visible=False)
        _legend(figure, ax)
    _save(figure, out / "parts")


def _panels(n_rows: int, n_columns: int, height: float) -> tuple[Figure, list[Axes]]:
    width = PAGE_WIDTH if n_columns > 1 else PAGE_WIDTH / 2
    figure = Figure(figsize=(width, height * n_rows + 0.3), layout="constrained")
    FigureCanvasAgg(figure)
    cells = figure.add_gridspec(n_rows, n_columns)
    return figure, [
        figure.add_subplot(cells[r, c]) for r in range(n_rows) for c in range(n_columns)
    ]


def _curve(ax: Axes, rows: pd.DataFrame, x: str, y: str, algo: str, faint: bool = False) -> None:
    """Medians over the repeats, with bars from the smallest to the largest."""
    grouped = rows.groupby(x)[y]
    middle = grouped.median()
    reach = np.stack([middle - grouped.min(), grouped.max() - middle])
    colour, dash = styles([(algo, algo)])[algo]
    name = NAMES[algo] + (", CartPole-v1" if faint else "")
    ax.errorbar(
        middle.index, middle, yerr=reach, color=colour, linestyle=dash, label=name,
        marker=_MARKERS[algo], markersize=3.2, markerfacecolor="white" if faint else colour,
        elinewidth=0.8, capsize=1.5,
    )  # fmt: skip


def _log(ax: Axes, ticks: Sequence[int]) -> None:
    ax.set_xscale("log")
    ax.set_xticks(ticks)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _short(x)))
    ax.xaxis.set_minor_locator(NullLocator())


def _short(x: float) -> str:
    return f"{x:.0f}" if x < 1000 else f"$10^{{{np.log10(x):.0f}}}$"


def _title(env: str) -> str:
    kind, _, size = env.partition("-")
    return f"chain, N = {size}" if kind == "chain" else env


def _log_y(ax: Axes, labelled: Sequence[float]) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=labelled))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _legend(figure: Figure, *axes: Axes) -> None:
    """One legend above all panels, row by row: ours, then the rest."""
    found: dict[str, Artist] = {}
    for ax in axes:
        handles, names = ax.get_legend_handles_labels()
        found |= {name: h for h, name in zip(handles, names, strict=True) if name not in found}
    ours = [name for name in NAMES.values() if name in found]
    names = ours + [name for name in found if name not in ours]
    columns = 3 if len(names) < 9 else 4
    # Matplotlib fills column by column.
    rows = -(-len(names) // columns)
    order = [c + r * columns for c in range(columns) for r in range(rows)]
    names = [names[i] for i in order if i < len(names)]
    figure.legend(
        [found[name] for name in names], names, loc="outside upper center", ncols=columns,
        columnspacing=1.6,
    )  # fmt: skip


def _save(figure: Figure, stem: Path) -> None:
    for suffix in (".png", ".pdf"):
        save(figure, stem.with_suffix(suffix))
