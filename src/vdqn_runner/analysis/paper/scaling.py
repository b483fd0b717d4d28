"""How many episodes each algorithm needs on chains of growing length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import CHAIN_OPTIMUM
from vdqn_runner.analysis.labels import algo_name, legend_order
from vdqn_runner.analysis.paper.measures import finished
from vdqn_runner.analysis.paper.product import Missing, Product
from vdqn_runner.analysis.paper.selection import Loaded, Selection
from vdqn_runner.analysis.solve import NEVER, median_of_seeds, solved_episode
from vdqn_runner.analysis.stats import Floats

SHARE = 0.95
LEAST_CHAINS = 2
_MARKERS = {"vdqn": "o", "dqn": "s", "noisynet": "^"}


@dataclass(frozen=True)
class Need:
    """Episodes until solved of one algorithm on one chain.

    Attributes:
        algo: the algorithm.
        n: states of the chain.
        episodes: [S], finished seeds only; `NEVER` where a seed has not solved the chain.
        limit: episodes that each seed had.
    """

    algo: str
    n: int
    episodes: Floats
    limit: int

    @property
    def failed(self) -> int:
        """How many seeds have not solved the chain."""
        return int((self.episodes > self.limit).sum())

    def median(self) -> tuple[float, float, float]:
        """Median over seeds and its 95 % bootstrap interval; above `limit` means never."""
        return median_of_seeds(self.episodes)


def scaling(selection: Selection) -> Product | Missing:
    """Episodes until the return stays above 95 % of the optimum, against N."""
    runs = [loaded for loaded in selection.paper.values() if loaded.run.n is not None]
    found = [need for need in map(need_of, runs) if len(need.episodes)]
    if len({need.n for need in found}) < LEAST_CHAINS:
        return Missing(f"finished seeds on at least {LEAST_CHAINS} chains")
    found.sort(key=lambda need: (legend_order(need.algo, need.algo), need.n))
    rows = [
        (f"chain-{d.n}", d.algo, seed, "" if value > d.limit else int(value))
        for d in found
        for seed, value in enumerate(d.episodes.tolist())
    ]
    header = ("env", "algo", "rank_of_seed", "solved_episode")
    by_key = {(loaded.run.algo, loaded.run.n): loaded for loaded in runs}
    used = [by_key[need.algo, need.n] for need in found]
    return Product(scaling_figure(found), _sentence(found), header, rows, used)


def need_of(loaded: Loaded) -> Need:
    """From when on each finished seed of a chain run has solved it."""
    run = loaded.run
    seeds = finished(run, loaded.episodes).groupby("seed")["return"]
    values = [solved_episode(part.to_numpy(), SHARE * CHAIN_OPTIMUM) for _, part in seeds]
    return Need(run.algo, run.n or 0, np.nan_to_num(np.array(values), nan=NEVER), run.episodes)


def scaling_figure(found: Sequence[Need]) -> Figure:
    """Draw seeds as points, medians as lines with intervals, failures in a strip at the top."""
    algos = list(dict.fromkeys(need.algo for need in found))
    looks = style.styles((algo, algo) for algo in algos)
    limit = max(need.limit for need in found)
    ns = sorted({need.n for need in found})
    with style.look():
        figure = Figure(figsize=(style.PAGE_WIDTH, 3.1), layout="constrained")
        FigureCanvasAgg(figure)
        ratios = (0.1 + 0.16 * len(algos), 3)
        strip, ax = figure.subplots(2, 1, sharex=True, height_ratios=ratios)
        for place, algo in enumerate(algos):
            mine = [need for need in found if need.algo == algo]
            # Beside each other: a few per cent of N, which are equal steps on a log axis.
            shift = 1.035 ** (place - (len(algos) - 1) / 2)
            _draw_solved(ax, mine, shift, looks[algo])
            _draw_failed(strip, mine, len(algos) - 1 - place, looks[algo])
        ax.set_xscale("log")
        ax.set_xlim(min(ns) / 1.15, max(ns) * 1.15)
        ax.xaxis.set_major_locator(FixedLocator(ns))
        ax.xaxis.set_major_formatter(FixedFormatter([str(n) for n in ns]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.tick_params("x", labelrotation=45 if len(ns) > 6 else 0)
        ax.set_ylim(-0.03 * limit, limit)  # room for a seed that needs none
        ax.set_xlabel("Number of states $N$")
        ax.set_ylabel("Episodes until solved")
        _style_strip(strip, algos, f"not within {limit} episodes (number of seeds)")
        handles = [_handle(algo, looks[algo], found) for algo in algos]
        style.shared_legend(figure, handles)
    return figure


def _draw_solved(ax: Axes, needs: Sequence[Need], shift: float, look: style.Look) -> None:
    colour, dash = look
    marker = _MARKERS.get(needs[0].algo, "D")
    seeds = [(d.n * shift, e) for d in needs for e in d.episodes.tolist() if e <= d.limit]
    if seeds:
        x, y = zip(*seeds, strict=True)
        ax.plot(x, y, marker, color=colour, markersize=2.6, alpha=0.45, markeredgewidth=0)
    middle = [(d, *d.median()) for d in needs]
    shown = [(d.n * shift, m, lo, min(hi, d.limit)) for d, m, lo, hi in middle if m <= d.limit]
    if shown:
        at, center, low, high = (np.array(c) for c in zip(*shown, strict=True))
        ax.plot(
            at, center, color=colour, linestyle=dash, marker=marker, markersize=4.5,
            markerfacecolor="white", markeredgewidth=1.0,
        )  # fmt: skip
        spread = [center - low, high - center]
        ax.errorbar(at, center, spread, fmt="none", ecolor=colour, elinewidth=0.9, zorder=1)


def _draw_failed(strip: Axes, needs: Sequence[Need], row: int, look: style.Look) -> None:
    failed = [(d.n, d.failed) for d in needs if d.failed]
    if failed:
        strip.plot([n for n, _ in failed], [row] * len(failed), "x", color=look[0], markersize=4)
    for n, count in failed:
        strip.annotate(
            str(count), (n, row), (4, 0), textcoords="offset points", va="center", fontsize=6.5
        )


def _style_strip(strip: Axes, algos: Sequence[str], title: str) -> None:
    strip.set_title(title, fontsize=8)
    strip.set_ylim(-0.6, len(algos) - 0.4)
    names = [algo_name(algo) for algo in reversed(algos)]
    strip.yaxis.set_major_locator(FixedLocator(range(len(algos))))
    strip.yaxis.set_major_formatter(FixedFormatter(names))
    strip.tick_params("both", length=0, labelsize=7)
    strip.tick_params("x", labelbottom=False)
    strip.grid(visible=False)
    strip.set_facecolor("0.96")
    strip.spines[:].set_visible(False)


def _handle(algo: str, look: style.Look, found: Sequence[Need]) -> Line2D:
    counts = {len(need.episodes) for need in found if need.algo == algo}
    low, high = min(counts), max(counts)
    seeds = f"{high} seed{'s' if high > 1 else ''}" if low == high else f"{low}–{high} seeds"
    return Line2D(
        [], [], color=look[0], linestyle=look[1], marker=_MARKERS.get(algo, "D"), markersize=4.5,
        markerfacecolor="white", label=f"{algo_name(algo)} ({seeds})",
    )  # fmt: skip


def _sentence(found: Sequence[Need]) -> str:
    parts = []
    for algo in dict.fromkeys(need.algo for need in found):
        mine = [need for need in found if need.algo == algo]
        texts = []
        for need in mine:
            m = need.median()[0]
            texts.append(f"{m:.0f}" if m <= need.limit else "never")
        ns = ", ".join(f"{need.n}: {text}" for need, text in zip(mine, texts, strict=True))
        parts.append(f"{algo_name(algo)} {ns}")
    return f"Median over seeds of the episodes until solved, by N: {'; '.join(parts)}."
