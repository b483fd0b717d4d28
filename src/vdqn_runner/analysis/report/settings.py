"""Where the configs of runs differ, and what they have in common."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from vdqn_runner.analysis.labels import algo_name, flatten, setting_text
from vdqn_runner.analysis.report.gather import Shown
from vdqn_runner.analysis.report.numbers import MISSING
from vdqn_runner.analysis.report.tables import Cell, code_cell, table, text_cell


def differing(settings: Sequence[Mapping[str, Hashable]]) -> list[str]:
    """The keys that have several values among the runs that have them, in the configs' order."""
    values: dict[str, set[str]] = {}
    for flat in settings:
        for key, value in flat.items():
            values.setdefault(key, set()).add(setting_text(value))
    return [key for key, found in values.items() if len(found) > 1]


def settings_html(runs: Sequence[Shown]) -> str:
    """A table of the settings that differ, one row a run, and one of those that do not."""
    settings = [flatten(one.run.config) for one in runs]
    keys = differing(settings)
    header = ["Environment", "Run", *keys]
    rows = [
        [text_cell(one.env), text_cell(one.label), *(_value(flat, key) for key in keys)]
        for one, flat in zip(runs, settings, strict=True)
    ]
    different = (
        table("Settings that differ between runs", header, rows)
        if keys
        else "<p>No setting differs between runs, but for the environment and the algorithm.</p>"
    )
    return f"{different}\n{_common(runs, settings, set(keys))}"


def _value(flat: Mapping[str, Hashable], key: str) -> Cell:
    if key not in flat:
        return Cell(MISSING, None)
    value = flat[key]
    cell = code_cell(setting_text(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Cell(cell.html, float(value))
    return cell


def _common(
    runs: Sequence[Shown], settings: Sequence[Mapping[str, Hashable]], differ: set[str]
) -> str:
    rows = []
    for key in dict.fromkeys(key for flat in settings for key in flat):
        if key in differ:
            continue
        having = [i for i, flat in enumerate(settings) if key in flat]
        value = setting_text(settings[having[0]][key])
        names = dict.fromkeys(algo_name(runs[i].run.algo) for i in having)
        who = "all runs" if len(having) == len(runs) else ", ".join(names)
        rows.append([code_cell(key), code_cell(value), text_cell(who)])
    shown = table("Settings that do not differ", ["Key", "Value", "Of"], rows)
    return f"<details><summary>Settings that do not differ ({len(rows)})</summary>{shown}</details>"
