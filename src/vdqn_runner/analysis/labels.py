"""Names of runs in legends: the algorithm, and the keys in which runs of it differ."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from vdqn_runner.analysis.load import Run

ALGO_NAMES = {
    "vdqn": "VDQN",
    "dqn": "DQN",
    "noisynet": "NoisyNet",
    "bootstrapped": "Bootstrapped DQN",
    "bbq": "BBQ network",
    "variational": "VI",
}
_SCHEDULES = ("constant", "linear", "exponential", "piecewise")
# A key that only says which panel or which algorithm a run belongs to.
_PLACE = ("algo.name", "env.kind", "env.n", "env.id")


def labels(runs: Sequence[Run]) -> list[str]:
    """One label per run, by which runs of the same environment can be told apart.

    The label is the algorithm's name, followed by the keys that differ between runs of that
    algorithm in any one environment (`VDQN lr=0.01`). A key chosen so is shown for every run of the
    algorithm that has it, so that a label means the same in all panels; keys that differ only from
    environment to environment are not shown. Runs with equal configs are told apart by their
    folders.
    """
    settings = [flatten(run.config) for run in runs]
    groups: dict[tuple[str, str], list[dict[str, Hashable]]] = {}
    for run, values in zip(runs, settings, strict=True):
        groups.setdefault((run.algo, run.env), []).append(values)
    shown: dict[str, set[str]] = {}
    for (algo, _), group in groups.items():
        keys = {key for values in group for key in values}
        differing = {key for key in keys if len({values.get(key) for values in group}) > 1}
        shown.setdefault(algo, set()).update(differing)
    names = [
        " ".join([algo_name(run.algo), *_settings(s, sorted(shown[run.algo]))])
        for run, s in zip(runs, settings, strict=True)
    ]
    return _tell_apart_by_folder(runs, names)


def algo_name(algo: str) -> str:
    """How an algorithm is written in a figure; an unknown one keeps its own name."""
    return ALGO_NAMES.get(algo, algo)


def legend_order(algo: str, label: str) -> tuple[int, str, list[tuple[int, float, str]]]:
    """Sort key of curves: the paper's order of algorithms, then others by name, then the label."""
    known = list(ALGO_NAMES)
    return known.index(algo) if algo in known else len(known), algo, natural(label)


def natural(label: str) -> list[tuple[int, float, str]]:
    """Sort key under which numbers inside a label count as numbers: `lr=0.001` before `lr=0.01`."""
    parts = re.split(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)", label)
    return [(1, float(p), "") if i % 2 else (0, 0.0, p) for i, p in enumerate(parts)]


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Hashable]:
    """The settings of a config by dotted key, a schedule as one value.

    Left out are the keys that only say which environment or which algorithm a run belongs to.
    """
    flat: dict[str, Hashable] = {}
    for name, value in config.items():
        key = f"{prefix}{name}"
        if key in _PLACE:
            continue
        if not isinstance(value, Mapping):
            flat[key] = _hashable(value)
        elif value.get("kind") == "constant":
            flat[key] = _hashable(value["value"])
        elif value.get("kind") in _SCHEDULES:
            flat[key] = tuple(_hashable(part) for part in value.values())
        else:
            flat |= flatten(value, f"{key}.")
    return flat


def setting_text(value: Hashable) -> str:
    """How a value of `flatten` is written."""
    if isinstance(value, tuple):
        first, rest = (value[0], value[1:]) if value and isinstance(value[0], str) else ("", value)
        return f"{first}({','.join(map(setting_text, rest))})"
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return str(value)


def _settings(values: Mapping[str, Hashable], keys: Sequence[str]) -> list[str]:
    ends = [key.rpartition(".")[2] for key in keys]
    short = [end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)]
    return [
        f"{name}={setting_text(values[key])}"
        for name, key in zip(short, keys, strict=True)
        if key in values
    ]


def _tell_apart_by_folder(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    alike: dict[tuple[str, str], list[int]] = {}
    for i, (run, name) in enumerate(zip(runs, names, strict=True)):
        alike.setdefault((run.env, name), []).append(i)
    result = list(names)
    for twins in (group for group in alike.values() if len(group) > 1):
        parts = [list(runs[i].path.resolve().parts) for i in twins]
        while len({folder[-1] for folder in parts}) == 1:
            parts = [folder[:-1] for folder in parts]
        start = len(os.path.commonprefix(parts))
        for i, folder in zip(twins, parts, strict=True):
            result[i] = f"{names[i]} [{'/'.join(folder[start:])}]"
    return result


def _hashable(value: Any) -> Hashable:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value
