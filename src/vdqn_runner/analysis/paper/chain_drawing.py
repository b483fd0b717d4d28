"""Figure 1: the chain, drawn."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import CHAIN_OPTIMUM
from vdqn_runner.analysis.paper.product import Product

RADIUS = 0.3
# Where each state stands; the gap after the third is the part that is left out.
STATES = {"$s_1$": 0.0, "$s_2$": 1.25, "$s_3$": 2.5, "$s_{N-1}$": 4.7, "$s_N$": 5.95}
_INK = "0.15"


def figure_1() -> Product:
    """Draw states 1 to N, the actions, the rewards and the start."""
    with style.look():
        figure = Figure(figsize=(5.2, 1.2), layout="constrained")
        FigureCanvasAgg(figure)
        draw_chain(figure.add_subplot())
    finding = (
        "Every episode lasts N + 9 steps. The best return is that of going right at every step, "
        f"(N + 9) - (N - 2) = {CHAIN_OPTIMUM}; going left at once gives (N + 8)/1000."
    )
    return Product(figure, finding)


def draw_chain(ax: Axes) -> Axes:
    """Draw the chain on axes of its own."""
    places = list(STATES.values())
    for name, x in STATES.items():
        end = x in (places[0], places[-1])
        fill = "0.88" if end else "white"
        ax.add_patch(Circle((x, 0), RADIUS, facecolor=fill, edgecolor=_INK, linewidth=0.9))
        ax.text(x, -0.01, name, ha="center", va="center", fontsize=9.5)
    gap = (places[2] + places[3]) / 2
    # Both ends keep what they have, so arrows only lead into them.
    _arrow(ax, (places[1], 0), (places[0], 0), up=False)
    _arrow(ax, (places[3], 0), (places[4], 0), up=True)
    for left, right in ((places[1], places[2]), (places[2], gap), (gap, places[3])):
        _arrow(ax, (left, 0), (right, 0), up=True)
        _arrow(ax, (right, 0), (left, 0), up=False)
    ax.text(gap, 0, r"$\cdots$", ha="center", va="center", fontsize=13)
    _loop(ax, places[0], -1)
    _loop(ax, places[-1], 1)
    ax.text(places[0] - 0.72, 0, "$r = \\frac{1}{1000}$", ha="right", va="center", fontsize=10)
    ax.text(places[-1] + 0.72, 0, "$r = 1$", ha="left", va="center", fontsize=9.5)
    ax.annotate(
        "start", (places[1], RADIUS), (places[1], 0.92), ha="center", va="center", fontsize=8.5,
        arrowprops={"arrowstyle": "-|>", "color": _INK, "linewidth": 0.9, "shrinkA": 1},
    )  # fmt: skip
    ax.text(
        (places[2] + gap) / 2, 0.5, "right", ha="center", va="center", fontsize=8, style="italic"
    )
    ax.text(
        (places[2] + gap) / 2, -0.52, "left", ha="center", va="center", fontsize=8, style="italic"
    )
    ax.set_xlim(-1.55, 7.4)
    ax.set_ylim(-0.65, 1.02)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], up: bool) -> None:
    """An arc from state to state, above the line to the right and below it to the left."""
    step = 1 if end[0] > start[0] else -1
    height = 0.14 if up else -0.14
    # 0.27: where a circle of this radius is 0.14 above its centre.
    ax.add_patch(
        FancyArrowPatch(
            (start[0] + step * 0.27, height), (end[0] - step * 0.27, height),
            connectionstyle=f"arc3,rad={-0.22}", arrowstyle="-|>", mutation_scale=8,
            color=_INK, linewidth=0.9, shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip


def _loop(ax: Axes, x: float, side: int) -> None:
    """The arrow of an absorbing state to itself, on its outer side."""
    ax.add_patch(
        FancyArrowPatch(
            (x + side * 0.2, 0.24), (x + side * 0.2, -0.24),
            connectionstyle=f"arc3,rad={-side * 1.7}", arrowstyle="-|>", mutation_scale=8,
            color=_INK, linewidth=0.9, shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip
