"""Episodes until learned against size: a panel for each system, all others in grey behind it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from vdqn_runner.analysis import style
from vdqn_runner.analysis.compare.entries import Entry

COLUMNS = 4
_NEAREST = 1.35  # ratio of two sizes whose labels do not run into each other


def comparison_figure(found: Sequence[Entry], order: Sequence[str]) -> Figure:
    """Draw the entries of one kind of environment, systems in the given order.

    A point is the median over seeds with its interval; where the median seed has not learned the
    environment it is a cross at the top. Numbers at crosses and points say how many seeds have
    learned it, where that is not all of them.
    """
    names = [name for name in order if any(entry.system == name for entry in found)]
    kind = found[0].kind
    sizes = sorted({entry.size for entry in found})
    limit = max(entry.limit for entry in found)
    places = [divmod(i, COLUMNS) for i in range(len(names))]
    size_label = "States $N$" if kind == "chain" else "Rows and columns $N$"
    with style.look():
        figure, axes = style.grid(places, 1.35, "Episodes to learn", size_label)
        for (_, column), name, ax in zip(places, names, axes, strict=True):
            for other in names:
                if other != name:
                    _line(ax, _of(found, other), "0.85", 0.8)
            _highlight(ax, _of(found, name), limit)
            ax.set_title(name, fontsize=8)
            ax.set_xscale("log")
            ax.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.25)
            shown = _apart(sizes)
            ax.xaxis.set_major_locator(FixedLocator(shown))
            ax.xaxis.set_major_formatter(FixedFormatter([str(size) for size in shown]))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_ylim(-0.04 * limit, 1.16 * limit)
            ax.set_yticks([0, limit / 2, limit])
            ax.tick_params("y", labelleft=column == 0)
    return figure


def _of(found: Sequence[Entry], system: str) -> list[Entry]:
    return [entry for entry in found if entry.system == system]


def _line(ax: Axes, entries: Sequence[Entry], colour: str, width: float) -> None:
    learned = [(e.size, e.median()[0]) for e in entries if e.median()[0] <= e.limit]
    if learned:
        x, y = zip(*learned, strict=True)
        ax.plot(x, y, color=colour, linewidth=width, marker=".", markersize=2.5, zorder=1)


def _highlight(ax: Axes, entries: Sequence[Entry], limit: int) -> None:
    colour = style.REFERENCE[0] if not entries else "#0072B2"
    _line(ax, entries, colour, 1.3)
    for entry in entries:
        middle, low, high = entry.median()
        never = middle > entry.limit
        y = 1.06 * limit if never else middle
        if never:
            ax.plot([entry.size], [y], "x", color=colour, markersize=4)
        else:
            spread = np.array([[middle - low], [min(high, entry.limit) - middle]])
            ax.errorbar([entry.size], [y], spread, fmt="o", color=colour, markersize=3.2,
                        markerfacecolor="white", elinewidth=0.9, zorder=3)  # fmt: skip
        if entry.learned < len(entry.episodes):
            text = f"{entry.learned}/{len(entry.episodes)}"
            ax.annotate(text, (entry.size, y), (3, -1), textcoords="offset points",
                        fontsize=5.5, va="top")  # fmt: skip


def _apart(sizes: Sequence[int]) -> list[int]:
    """Those of the sizes whose labels have room side by side."""
    shown = [sizes[0]]
    for size in sizes[1:]:
        if size / shown[-1] >= _NEAREST:
            shown.append(size)
    return shown
