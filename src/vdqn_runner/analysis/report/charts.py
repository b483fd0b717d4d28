"""Charts as plain data, which `report.js` draws: panels of lines with bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import to_hex

from vdqn_runner.analysis import style
from vdqn_runner.analysis.curves import CHAIN_OPTIMUM
from vdqn_runner.analysis.report.gather import Series, Shown, for_chart, panels
from vdqn_runner.analysis.report.numbers import compact, row_means, shown, summary_of, with_interval
from vdqn_runner.analysis.visits import STATES

Chart = dict[str, Any]
_LINE_WIDTH = 2  # pixels, in which dashes are measured
_CHAIN_RANGE = (-0.5, 12)
# Of the policies of evaluations.csv; others are drawn like the second.
_MARKS = {"mean": ("circle", "posterior mean, greedy"), "sample": ("diamond-open", "fresh samples")}


@dataclass(frozen=True)
class Panel:
    """One chart.

    Attributes:
        title: plain text above it.
        summary: what it shows, in words, for those who do not see it.
        chart: the data that it is drawn from.
    """

    title: str
    summary: str
    chart: Chart


def curve_panels(runs: Sequence[Shown]) -> list[Panel]:
    """Training curves: a panel for each environment."""
    result = []
    for group in panels([one for one in runs if len(one.returns.x)]):
        lines = [_line(one.returns, name=one.label, key=one.label, look=one.look) for one in group]
        chart = _chart(lines, "Return", _return_range(group[0]), _optimum(group[0]))
        result.append(Panel(group[0].env, _ends(lines), chart))
    return result


def visit_panels(runs: Sequence[Shown]) -> list[Panel]:
    """Visit probabilities: a panel for each run on a chain."""
    result = []
    for one in runs:
        if not one.visits or not len(one.returns.x):
            continue
        lines = []
        for column, series in one.visits.items():
            text, look = STATES[column]
            name = text.replace("$", "")
            lines.append(_line(series, name=name, key=name, look=look))
        chart = _chart(lines, "Visit probability", (-0.03, 1.03))
        result.append(Panel(f"{one.label}, N = {one.run.n}", _ends(lines), chart))
    return result


def evaluation_panels(runs: Sequence[Shown]) -> list[Panel]:
    """Greedy evaluations beside training returns: a panel for each environment."""
    result = []
    for group in panels([one for one in runs if one.evaluations]):
        lines = []
        for one in group:
            if len(one.returns.x):
                # The background here; the section of training curves has its band and seeds.
                name = f"{one.label}, training"
                line = _mean_line(one.returns, name=name, key=one.label, look=one.look)
                lines.append(line | {"faint": True})
            for policy, series in one.evaluations.items():
                mark, text = _MARKS.get(policy, (_MARKS["sample"][0], policy))
                line = _line(series, name=f"{one.label}, {text}", key=one.label, look=one.look)
                lines.append(line | {"mark": mark})
        chart = _chart(lines, "Return", _return_range(group[0]), _optimum(group[0]))
        result.append(Panel(group[0].env, _ends(lines), chart))
    return result


def sigma_panels(runs: Sequence[Shown]) -> list[Panel]:
    """Quantiles of sigma by layer, each a mean over seeds: a panel for each run with them."""
    result = []
    for one in runs:
        if not one.sigma:
            continue
        layers = sorted({layer for layer, _ in one.sigma})
        # Not the colours of algorithms, because here a curve is a layer.
        looks = style.styles((f"layer {layer}", f"layer {layer}") for layer in layers)
        lines = []
        for layer in layers:
            at = {q: series for (k, q), series in one.sigma.items() if k == layer}
            middle = at.get(50, next(iter(at.values())))
            name = f"layer {layer}"
            line = _mean_line(middle, name=name, key=name, look=looks[name])
            ends = {"low": at[min(at)], "high": at[max(at)]}
            lines.append(line | {end: _means(series) for end, series in ends.items()})
        chart = _chart(lines, "σ", None) | {"log": True}
        title = f"{one.label}, N = {one.run.n}" if one.run.n else f"{one.label}, {one.env}"
        result.append(Panel(title, _ends(lines), chart))
    return result


def keys(charts: Sequence[Panel]) -> list[Mapping[str, Any]]:
    """What the legend of a section shows: name, colour and dash, each once."""
    found: dict[str, Mapping[str, Any]] = {}
    for panel in charts:
        for line in panel.chart["lines"]:
            found.setdefault(line["key"], {k: line[k] for k in ("key", "colour", "dash")})
    return list(found.values())


def _line(series: Series, name: str, key: str, look: style.Look) -> dict[str, Any]:
    """A line of a chart: mean, interval and single seeds."""
    line = _mean_line(series, name, key, look)
    series = for_chart(series)
    summary = summary_of(series.values)
    seeds = zip(series.seeds, series.values, strict=True)
    return line | {
        "mean": compact(summary.center),
        "low": compact(summary.low),
        "high": compact(summary.high),
        "seeds": [[seed, _cut(compact(row))] for seed, row in seeds],
    }


def _mean_line(series: Series, name: str, key: str, look: style.Look) -> dict[str, Any]:
    """A line of a chart without an interval.

    `n` is the number of seeds at each point, or a single number where it is the same at all.
    """
    points = for_chart(series)
    counts = (~np.isnan(points.values)).sum(axis=0).tolist()
    x: Any = compact(points.x)
    steps = set(compact(np.diff(points.x)))
    if len(x) > 2 and len(steps) == 1:
        x = {"from": x[0], "step": steps.pop(), "count": len(x)}
    colour, dash = look
    return {
        "name": name,
        "key": key,
        "colour": to_hex(colour),
        "dash": _dash(dash),
        "x": x,
        "mean": _means(series),
        "n": counts[0] if len(set(counts)) == 1 else counts,
    }


def _means(series: Series) -> list[float | int | None]:
    return compact(row_means(for_chart(series).values.T))


def _chart(
    lines: Sequence[Mapping[str, Any]],
    y_label: str,
    y_range: tuple[float, float] | None,
    reference: float | None = None,
) -> Chart:
    return {"lines": list(lines), "y": y_label, "range": y_range, "reference": reference}


def _return_range(one: Shown) -> tuple[float, float] | None:
    return _CHAIN_RANGE if one.run.n is not None else None


def _optimum(one: Shown) -> float | None:
    return CHAIN_OPTIMUM if one.run.n is not None else None


def _dash(dash: style.Dash) -> str:
    return ",".join(f"{_LINE_WIDTH * length:g}px" for length in dash[1]) or "solid"


def _cut(values: list[float | int | None]) -> list[float | int | None]:
    while values and values[-1] is None:
        values.pop()
    return values


def _ends(lines: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(_end(line) for line in lines)


def _end(line: Mapping[str, Any]) -> str:
    ends = [_last(line[k]) for k in ("mean", "low", "high") if k in line]
    return f"{line['name']} ends at {with_interval(*ends) if len(ends) == 3 else shown(ends[0])}"


def _last(values: Sequence[float | None]) -> float:
    return next((v for v in reversed(values) if v is not None), float("nan"))


def all_panels(runs: Sequence[Shown]) -> Iterator[tuple[str, list[Panel]]]:
    """The sections of charts by name, those without any panel left out."""
    for name, make in (
        ("curves", curve_panels),
        ("evaluations", evaluation_panels),
        ("visits", visit_panels),
        ("sigma", sigma_panels),
    ):
        found = make(runs)
        if found:
            yield name, found
