"""The one look of all figures, and how a figure becomes a file.

Colours are from the palettes of Okabe and Ito (2008) and Tol (2021), which are safe for
colour-blind readers; line styles and lightness differ as well, so that a figure can be read in
grey. Figures are made through matplotlib's objects, never through pyplot: no display, no backend
and no global state is involved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib.style
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from vdqn_runner.analysis.labels import natural
from vdqn_runner.analysis.stats import Summary

X_LABEL = "Iteration (10 episodes)"
PAGE_WIDTH = 6.5  # inches: the text of a page
PANEL_WIDTH = 3.25  # inches: a column of a two-column page
LEGEND_ROW = 0.18  # inches
LEAST_WIDTH = 1.6  # inches: below this a panel cannot be read

# Offset and lengths of strokes and gaps, in line widths; no lengths is a solid line.
Dash = tuple[float, Sequence[float]]
# Colour and dash of a line.
Look = tuple[str, Dash]
SOLID: Dash = (0, ())
DASHED: Dash = (0, (4, 1.5))
DOTTED: Dash = (0, (1.2, 1.2))
DASH_DOTTED: Dash = (0, (5, 1.5, 1.2, 1.5))
_DASHES = (SOLID, DASHED, DOTTED, DASH_DOTTED)
_ALGOS: Mapping[str, Look] = {
    "vdqn": ("#0072B2", SOLID),
    "dqn": ("#E69F00", DASHED),
    "noisynet": ("#009E73", DASH_DOTTED),
    "bootstrapped": ("#CC79A7", DOTTED),
    "bbq": ("#D55E00", (0, (8, 2))),
    "variational": ("#56B4E9", (0, (4, 1, 1.2, 1, 1.2, 1))),
}
REFERENCE: Look = ("0.35", (0, (1, 1.6)))
REFERENCE_WIDTH = 0.8
_OTHERS: tuple[Look, ...] = (
    ("#000000", (0, (2.5, 1))),
    ("#7F7F7F", (0, (6, 1, 1.2, 1.2))),
    ("#882255", (0, (1, 2.2))),
    ("#999933", (0, (3, 1, 1, 1))),
)

_RC = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.1,
    "lines.dash_capstyle": "butt",
    "axes.xmargin": 0.02,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
}
# No date and no version: the same numbers give the same bytes.
_METADATA: Mapping[str, Mapping[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}


def look() -> AbstractContextManager[None]:
    """Context in which everything is drawn and saved, whatever the user's matplotlibrc says."""
    return matplotlib.style.context(["default", _RC])


def grid(
    places: Sequence[tuple[int, int]], height: float, y_label: str, x_label: str = X_LABEL
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel at each place, labelled along its left and its lower edge.

    Args:
        places: (row, column) of each panel; a place that is not named stays empty.
        height: of a row, in inches.
        y_label: of the first panel of each row.
        x_label: of the last panel of each column.
    """
    n_rows, n_columns = (1 + max(indices) for indices in zip(*places, strict=True))
    width = max(min(PAGE_WIDTH, PANEL_WIDTH * n_columns), LEAST_WIDTH * n_columns)
    # The fixed part of the height is the label of the x axis.
    figure = Figure(figsize=(width, 0.3 + height * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    cells = figure.add_gridspec(n_rows, n_columns)
    axes = [figure.add_subplot(cells[place]) for place in places]
    for (row, column), ax in zip(places, axes, strict=True):
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        if row == max(r for r, c in places if c == column):
            ax.set_xlabel(x_label)
        if column == min(c for r, c in places if r == row):
            ax.set_ylabel(y_label)
    figure.align_ylabels(axes)
    return figure, axes


def letter(figure: Figure) -> Figure:
    """Put (a), (b) and so on before the titles of the panels, row after row."""
    for i, ax in enumerate(sorted(figure.axes, key=_place)):
        ax.title.set_text(f"({chr(ord('a') + i)}) {ax.get_title()}")
    return figure


def shared_legend(figure: Figure, handles: Sequence[Artist], title: str | None = None) -> None:
    """One legend for all panels, above them, in as many columns as the width has room for."""
    # In points, about: 43 for the line and the gaps, 4 for a letter.
    widths = [43 + 4 * len(str(handle.get_label()).replace("$", "")) for handle in handles]
    room = figure.get_figwidth() * 72
    columns = len(handles) if sum(widths) <= room else max(1, int(room / max(widths)))
    # Rows of equal length look better than a full row and a rest.
    n_rows = -(-len(handles) // columns)
    columns = -(-len(handles) // n_rows)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * (n_rows + (title is not None)))
    figure.legend(
        handles=handles, loc="outside upper center", ncols=columns, title=title,
        title_fontsize=8.5, columnspacing=1.6, borderaxespad=0.2,
    )  # fmt: skip


def styles(labels: Iterable[tuple[str, str]]) -> dict[str, Look]:
    """Colour and line style of each label.

    An algorithm has one hue in all figures; those that are not built in take theirs from a cycle,
    in the order of their names. Several labels of one algorithm are shades of its hue, from dark
    to light, and differ in line style too.

    Args:
        labels: pairs (algorithm, label).
    """
    by_algo: dict[str, set[str]] = {}
    for algo, label in labels:
        by_algo.setdefault(algo, set()).add(label)
    others = sorted(algo for algo in by_algo if algo not in _ALGOS)
    result = {}
    for algo, names in by_algo.items():
        if algo in _ALGOS:
            colour, dash = _ALGOS[algo]
        else:
            colour, dash = _OTHERS[others.index(algo) % len(_OTHERS)]
        dashes = [dash, *(d for d in _DASHES if d != dash)]
        shades = np.linspace(-0.45, 0.45, len(names)) if len(names) > 1 else [0.0]
        for i, (name, shade) in enumerate(zip(sorted(names, key=natural), shades, strict=True)):
            result[name] = (_shade(colour, float(shade)), dashes[i % len(dashes)])
    return result


def draw(ax: Axes, summary: Summary, look: Look) -> Axes:
    """A curve with its interval as a band; faint where it rests on fewer seeds than at its start.

    A single seed has no interval, and so no band.
    """
    colour, dash = look
    x = np.arange(len(summary.center))
    all_seeds = int((summary.n_seeds == summary.n_seeds.max(initial=0)).sum())
    # The faint part starts at the last point of the full one, so that the curve has no hole.
    for part, alpha in ((slice(0, all_seeds), 1.0), (slice(max(all_seeds - 1, 0), None), 0.4)):
        if len(x[part]) > 1 or (alpha == 1.0 and len(x[part])):
            ax.plot(x[part], summary.center[part], color=colour, linestyle=dash, alpha=alpha)
        if len(x[part]) > 1 and (summary.n_seeds[part] > 1).any():
            ax.fill_between(
                x[part], summary.low[part], summary.high[part],
                color=colour, alpha=0.18 * alpha, linewidth=0,
            )  # fmt: skip
    return ax


def legend_line(label: str, look: Look, width: float | None = None) -> Line2D:
    """A line for the legend; of the width of a curve if none is given."""
    return Line2D([], [], color=look[0], linestyle=look[1], linewidth=width, label=label)


def seeds_text(summaries: Iterable[Summary]) -> str:
    """How many seeds the curves rest on: `10 seeds`, or `7–10 seeds` where it varies."""
    counts = np.concatenate([summary.n_seeds for summary in summaries])
    low, high = int(counts.min()), int(counts.max())
    return f"{high} seed{'s' if high > 1 else ''}" if low == high else f"{low}–{high} seeds"


def save(figure: Figure, file: Path) -> None:
    """Write a figure in the format of the file's suffix; equal figures give equal bytes."""
    with look():
        figure.savefig(file, metadata=dict(_METADATA[file.suffix.removeprefix(".")]))


def _place(ax: Axes) -> tuple[int, int]:
    cell = ax.get_subplotspec()
    assert cell is not None  # all panels of `grid` have one
    return cell.rowspan.start, cell.colspan.start


def _shade(colour: str, amount: float) -> str:
    """Mix with black (amount < 0) or white (amount > 0)."""
    red, green, blue = (c + (float(amount > 0) - c) * abs(amount) for c in to_rgb(colour))
    return to_hex((red, green, blue))
