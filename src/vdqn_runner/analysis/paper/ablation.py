"""What single choices do: a forest plot for each experiment of choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import env_order, env_title
from vdqn_runner.analysis.labels import algo_name, legend_order
from vdqn_runner.analysis.load import Run
from vdqn_runner.analysis.paper.learning_rates import constant_rate
from vdqn_runner.analysis.paper.measures import areas, final_returns, interval
from vdqn_runner.analysis.paper.product import Missing, Product
from vdqn_runner.analysis.paper.selection import Loaded, Selection
from vdqn_runner.analysis.stats import Floats
from vdqn_runner.errors import ConfigError

_WORDS = {
    "per_tuple": "per tuple",
    "per_batch": "per batch",
    "step": "each step",
    "episode": "each episode",
    "independent": "independent",
    "factorised": "factorised",
    False: "terminal",
    True: "bootstrap",
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "low_rank": "low rank",
    "pathwise": "pathwise",
    "score": "score",
}


@dataclass(frozen=True)
class Study:
    """One experiment of choices.

    Attributes:
        name: of the experiment file.
        group: the selection's runs among which those of the study are.
        belongs: whether a run of them is part of it.
        switches: the settings that a row of the plot names, in order.
        paper: whether the paper's runs that belong to it are rows too, so that the experiment
            need not train them again.
    """

    name: str
    group: Callable[[Selection], Sequence[Loaded]]
    belongs: Callable[[Run], bool]
    switches: Callable[[Run], Sequence[Any]]
    paper: bool = False


def _weight(run: Run) -> Sequence[Any]:
    """Lambda: a number, or where it goes from and to, and how."""
    lam = run.config["algo"]["lam"]
    if not isinstance(lam, Mapping) or lam["kind"] == "constant":
        return [lam["value"] if isinstance(lam, Mapping) else lam]
    return [f"{lam['start']:g} to {lam['end']:g}, {lam['kind']}"]


def _inference(run: Run) -> Sequence[Any]:
    algo = run.config["algo"]
    count = "1 sample" if algo["samples"] == 1 else f"{algo['samples']} samples"
    prior = [] if algo["prior_sigma"] is None else [f"prior {algo['prior_sigma']:g}"]
    return [algo["family"], algo["estimator"], count, *prior, constant_rate(run)]


STUDIES = {
    study.name: study
    for study in (
        Study(
            "ablation_theta",
            lambda selection: selection.ablation,
            lambda run: run.algo == "vdqn" and run.n is not None,
            lambda run: [
                run.config["algo"]["theta_samples"],
                run.config["algo"]["resample"],
                constant_rate(run),
            ],
        ),
        Study(
            "ablation_noisynet",
            lambda selection: selection.ablation,
            lambda run: run.algo == "noisynet" and run.n is not None,
            lambda run: [
                run.config["algo"]["noise"],
                run.config["algo"]["theta_samples"],
                constant_rate(run),
            ],
        ),
        Study(
            "ablation_timeout",
            lambda selection: selection.ablation,
            lambda run: run.n is None,
            lambda run: [run.config["env"]["bootstrap_on_timeout"]],
            paper=True,
        ),
        Study(
            "cold_posterior",
            lambda selection: selection.cold_posterior,
            lambda run: run.algo == "vdqn",
            _weight,
        ),
        Study(
            "inference",
            lambda selection: selection.inference,
            lambda run: run.algo == "variational",
            _inference,
        ),
    )
}


@dataclass(frozen=True)
class Entry:
    """One row of a panel: a run, what the row is called, and its finished seeds, [S] each."""

    loaded: Loaded
    label: str
    final: Floats
    area: Floats


def ablation(selection: Selection, name: str) -> Product | Missing:
    """Final return and area under the curve for every combination of a study's switches.

    Raises:
        ConfigError: two runs for one row.
    """
    study = STUDIES[name]
    entries = _entries(study, study.group(selection))
    if study.paper and entries:
        entries = _entries(study, selection.paper.values()) | entries
    shown = [entry for entry in entries.values() if len(entry.final)]
    if not shown:
        return Missing(f"finished seeds of experiment={name}")
    shown.sort(key=lambda e: (env_order(e.loaded.run), _row_order(study, e)))
    rows = [
        (e.loaded.run.env, e.label, measure, len(values), *interval(values))
        for e in shown
        for measure, values in (("final_return", e.final), ("area", e.area))
    ]
    header = ("env", "setting", "measure", "n_seeds", "mean", "low", "high")
    return Product(
        ablation_figure(shown), _sentence(shown), header, rows, [e.loaded for e in shown]
    )


def _entries(study: Study, runs: Iterable[Loaded]) -> dict[tuple[str, str], Entry]:
    """By environment and row, those of the runs that belong to a study."""
    entries: dict[tuple[str, str], Entry] = {}
    for loaded in runs:
        run = loaded.run
        if not study.belongs(run):
            continue
        key = run.env, row_label(study, run)
        if key in entries:
            paths = f"{entries[key].loaded.run.path} and {run.path}"
            raise ConfigError(f"{run.env} {key[1]}: two runs for one row, {paths}")
        measured = (measure(run, loaded.episodes) for measure in (final_returns, areas))
        entries[key] = Entry(loaded, key[1], *measured)
    return entries


def row_label(study: Study, run: Run) -> str:
    """The settings of a row in words: `per tuple, each step, 0.001`."""
    switches = ", ".join(_word(value) for value in study.switches(run))
    return switches if run.n is not None else f"{algo_name(run.algo)}, {switches}"


def _word(value: Any) -> str:
    # A number may equal False or True, which are words.
    if isinstance(value, float):
        return f"{value:g}"
    return _WORDS.get(value, str(value))


def ablation_figure(entries: Sequence[Entry]) -> Figure:
    """A panel per environment, a row per setting; the rows are the same in all panels."""
    envs = list(dict.fromkeys(e.loaded.run.env for e in entries))
    labels = list(dict.fromkeys(e.label for e in entries))
    looks = style.styles({(e.loaded.run.algo, e.loaded.run.algo) for e in entries})
    n_columns = 2
    places = [divmod(i, n_columns) for i in range(len(envs))]
    with style.look():
        figure, axes = style.grid(places, 0.35 + 0.21 * len(labels), "", "Return")
        for (_, column), env, ax in zip(places, envs, axes, strict=True):
            mine = [e for e in entries if e.loaded.run.env == env]
            for e in mine:
                _draw(ax, e, len(labels) - 1 - labels.index(e.label), looks[e.loaded.run.algo][0])
            ax.set_title(env_title(mine[0].loaded.run))
            ax.set_yticks(range(len(labels)), labels[::-1] if column == 0 else [])
            ax.set_ylim(-0.6, len(labels) - 0.4)
            ax.xaxis.set_major_locator(MaxNLocator(nbins=5))
            ax.tick_params("y", length=0)
            ax.margins(x=0.05)
        counts = sorted({len(e.final) for e in entries})
        seeds = f"{counts[0]}–{counts[-1]}" if len(counts) > 1 else str(counts[0])
        style.shared_legend(figure, _handles(seeds))
    return figure


def _draw(ax: Axes, entry: Entry, y: float, colour: str) -> None:
    for values, shift, fill in ((entry.final, 0.14, colour), (entry.area, -0.18, "white")):
        center, low, high = interval(values)
        ax.plot(values, [y + shift] * len(values), "|", color=colour, alpha=0.4, markersize=4)
        ax.plot([low, high], [y + shift] * 2, color=colour, linewidth=1.0)
        ax.plot(
            [center], [y + shift], "o" if shift > 0 else "s", color=colour, markersize=4,
            markerfacecolor=fill, markeredgewidth=0.9,
        )  # fmt: skip


def _handles(seeds: str) -> list[Line2D]:
    ink = "0.25"
    return [
        Line2D([], [], color=ink, marker="o", markersize=4, linewidth=1,
               label=f"last 100 episodes ({seeds} seeds)"),
        Line2D([], [], color=ink, marker="s", markersize=4, markerfacecolor="white", linewidth=1,
               label="all episodes"),
        Line2D([], [], color=ink, marker="|", linestyle="", alpha=0.5, label="single seeds"),
    ]  # fmt: skip


def _row_order(study: Study, entry: Entry) -> tuple[Any, ...]:
    """Words in the order of `_WORDS`, numbers by size, then what else there is."""
    run = entry.loaded.run
    words = list(_WORDS)
    switches: list[tuple[int, float, str]] = []
    for value in study.switches(run):
        if isinstance(value, float):
            switches.append((1, value, ""))
        elif value in _WORDS:
            switches.append((0, words.index(value), ""))
        else:
            switches.append((2, 0.0, str(value)))
    return legend_order(run.algo, run.algo), switches


def _sentence(entries: Sequence[Entry]) -> str:
    parts = []
    for env in dict.fromkeys(e.loaded.run.env for e in entries):
        mine = [e for e in entries if e.loaded.run.env == env]
        best, worst = (f(mine, key=lambda e: float(e.final.mean())) for f in (max, min))
        parts.append(
            f"{env}: from {worst.final.mean():.2f} ({worst.label}) "
            f"to {best.final.mean():.2f} ({best.label})"
        )
    return f"Mean return over the last 100 episodes, {'; '.join(parts)}."
