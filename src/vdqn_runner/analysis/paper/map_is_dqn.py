"""DQN as a special case: a point mass in place of a distribution, and distributions that narrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import Curve, env_order, env_title, plot_curves, training_curve
from vdqn_runner.analysis.paper.entropy_weight import constant_lambda
from vdqn_runner.analysis.paper.measures import final_returns
from vdqn_runner.analysis.paper.product import Missing, Product
from vdqn_runner.analysis.paper.selection import Loaded, Selection
from vdqn_runner.analysis.paper.training import place_name, summary_rows
from vdqn_runner.analysis.stats import mean
from vdqn_runner.errors import ConfigError

DQN, POINT, GAUSSIAN = "dqn", "point", "variational"
COMMANDS = ("vdqn-run experiment=map_is_dqn", "vdqn-run experiment=map_is_dqn_reference")


@dataclass(frozen=True)
class Part:
    """A run in its role.

    Attributes:
        loaded: the run.
        role: DQN, POINT or GAUSSIAN.
        lam: the weight of the KL divergence; 0 for DQN, which has none.
    """

    loaded: Loaded
    role: str
    lam: float

    @property
    def label(self) -> str:
        """How it is written in a legend."""
        names = {DQN: "DQN, $\\epsilon$ = 0", POINT: "point mass", GAUSSIAN: "Gaussian"}
        lam = f", $\\lambda$ = {self.lam:g}" if self.lam else ""
        return f"{names[self.role]}{lam}"


def map_is_dqn(selection: Selection) -> Product | Missing:
    """Training curves of a point mass over DQN's, and of Gaussians of less and less entropy.

    An environment is shown where both DQN and the point mass have a complete iteration.

    Raises:
        ConfigError: two runs for one curve.
    """
    parts = [part for loaded in selection.map_is_dqn if (part := part_of(loaded)) is not None]
    by_env: dict[str, dict[str, Part]] = {}
    for part in parts:
        mine = by_env.setdefault(part.loaded.run.env, {})
        if part.label in mine:
            paths = f"{mine[part.label].loaded.run.path} and {part.loaded.run.path}"
            raise ConfigError(
                f"{part.loaded.run.env} {part.label}: two runs for one curve, {paths}"
            )
        mine[part.label] = part
    shown = [list(mine.values()) for mine in by_env.values() if _both(mine.values())]
    if not shown:
        return Missing(f"runs of {' and of '.join(c.partition(' ')[2] for c in COMMANDS)}")
    shown.sort(key=lambda mine: env_order(mine[0].loaded.run))
    curves = [[curve_of(part) for part in mine] for mine in shown]
    rows = [
        (c.run.env, p.role, p.lam, *row)
        for mine, drawn in zip(shown, curves, strict=True)
        for p, c in zip(mine, drawn, strict=True)
        for row in summary_rows(c.summary)
    ]
    header = ("env", "distribution", "lam", "iteration", "n_seeds", "mean", "low", "high")
    return Product(
        map_figure(shown, curves),
        "; ".join(_sentence(mine) for mine in shown) + ".",
        header,
        rows,
        [part.loaded for mine in shown for part in mine],
    )


def part_of(loaded: Loaded) -> Part | None:
    """The role of a run; None where it has none, or not a complete iteration."""
    run, algo = loaded.run, loaded.run.config["algo"]
    if not loaded.started:
        return None
    if run.algo == "dqn":
        return Part(loaded, DQN, 0.0) if _value(algo.get("epsilon")) == 0 else None
    lam = constant_lambda(run)
    role = {"point": POINT, "gaussian": GAUSSIAN}.get(algo.get("family", ""))
    return None if role is None or lam is None else Part(loaded, role, lam)


def curve_of(part: Part) -> Curve:
    """The training curve of a run, under the name of its role."""
    rng = np.random.default_rng(0)
    return training_curve(part.loaded.run, part.label, part.loaded.episodes, mean, rng)


def map_figure(shown: Sequence[Sequence[Part]], curves: Sequence[Sequence[Curve]]) -> Figure:
    """A row for each environment: the point mass over DQN, and the Gaussians over DQN."""
    order = {DQN: 0, GAUSSIAN: 1, POINT: 2}
    # In the legend the Gaussians narrow towards the point; their shades go by lambda too.
    every = sorted({(order[p.role], -p.lam, p.role, p.label) for mine in shown for p in mine})
    looks = style.styles((role, label) for _, _, role, label in every)
    places = [(row, column) for row in range(len(shown)) for column in (0, 1)]
    with style.look():
        figure, axes = style.grid(places, height=1.9, y_label="Return")
        for (row, column), ax in zip(places, axes, strict=True):
            other = (POINT, GAUSSIAN)[column]
            chosen = [
                (order[p.role], -p.lam, c)
                for p, c in zip(shown[row], curves[row], strict=True)
                if p.role in (DQN, other)
            ]
            chosen.sort(key=lambda item: item[:2])
            plot_curves(ax, [curve for *_, curve in chosen], looks)
            words = ("DQN and the point mass", "DQN and Gaussians")[column]
            ax.set_title(f"{env_title(shown[row][0].loaded.run)}: {words}")
        style.shared_legend(figure, [style.legend_line(label, looks[label]) for *_, label in every])
    return style.letter(figure)


def largest_difference(one: Loaded, other: Loaded) -> tuple[float, int]:
    """Over all episodes that both runs have: the largest difference of returns, and how many."""
    both = one.episodes.merge(other.episodes, on=["seed", "episode"])
    return float((both["return_x"] - both["return_y"]).abs().max()), len(both)


def _both(parts: Iterable[Part]) -> bool:
    return {DQN, POINT} <= {part.role for part in parts}


def _sentence(parts: Sequence[Part]) -> str:
    """How far the point mass is from DQN, and what all reach."""
    dqn, point = (next(p for p in parts if p.role == role) for role in (DQN, POINT))
    most, count = largest_difference(dqn.loaded, point.loaded)
    same = "the same" if most == 0 else f"at most {most:g} apart"
    finals = []
    for part in sorted(parts, key=lambda p: (p.role != DQN, p.role != POINT, -p.lam)):
        values = final_returns(part.loaded.run, part.loaded.episodes)
        text = f"{values.mean():.2f}" if len(values) else "unfinished"
        name = part.label.replace("$\\lambda$", "lambda").replace("$\\epsilon$", "epsilon")
        finals.append(f"{name}: {text}")
    return (
        f"{place_name(dqn.loaded)}: the {count} returns of the point mass and of DQN are {same}; "
        f"mean return over the last 100 episodes, {'; '.join(finals)}"
    )


def _value(schedule: object) -> object:
    return schedule.get("value") if isinstance(schedule, dict) else schedule
