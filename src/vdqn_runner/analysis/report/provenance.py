"""How far runs are and where their numbers come from: states, versions, commits, commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from vdqn_runner.analysis.report.gather import Shown
from vdqn_runner.analysis.report.numbers import MISSING
from vdqn_runner.analysis.report.tables import Cell, code_cell, number_cell, table, text_cell
from vdqn_runner.runs.status import Status

_KERNELS = "kernels"
_COMMIT_LENGTH = 10


def provenance_html(runs: Sequence[Shown]) -> str:
    """A table with a row a run, what all of them share, and the commands."""
    known = [status for one in runs for status in one.statuses.values() if status]
    packages = sorted({name for status in known for name in status.versions} - {_KERNELS})
    shared, columns = [], []
    for name in packages:
        found = {status.versions.get(name, MISSING) for status in known}
        if len(found) == 1:
            shared.append(f"{escape(name)} {escape(found.pop())}")
        else:
            columns.append(name)
    header = ["Environment", "Run", "State", "Seeds", "Progress", "Steps", "Kernels", "Commit"]
    rows = [[*_row(one), *(code_cell(_each(one, name)) for name in columns)] for one in runs]
    note = f"<p>All seeds: {', '.join(shared)}.</p>" if shared else ""
    return (
        note
        + table("States and origins", [*header, *columns, "Folder"],
                [[*row, code_cell(one.folder)] for row, one in zip(rows, runs, strict=True)])
        + _problems(runs)
        + _commands(known)
    )  # fmt: skip


def state(one: Shown) -> str:
    """The states of the seeds: `done`, or `7 done, 2 running, 1 no status`."""
    states = Counter(s.state if s else "no status" for s in one.statuses.values())
    if len(states) == 1:
        return next(iter(states))
    return ", ".join(f"{count} {name}" for name, count in states.most_common())


def progress(one: Shown) -> float:
    """The share of the episodes asked for that are logged."""
    asked = one.run.episodes * len(one.run.seeds)
    return sum(one.episodes_done.values()) / asked if asked else 1.0


def _row(one: Shown) -> list[Cell]:
    steps = [status.steps for status in one.statuses.values() if status]
    share = progress(one)
    commits = _distinct(s.commit or MISSING for s in one.statuses.values() if s)
    return [
        text_cell(one.env),
        text_cell(one.label),
        text_cell(state(one)),
        number_cell(len(one.run.seeds), _ranges(one.run.seeds)),
        Cell(f'<progress max="1" value="{share:.4f}"></progress> {_percent(share)}', share),
        number_cell(sum(steps) if steps else float("nan"), f"{sum(steps):,}" if steps else MISSING),
        text_cell(_each(one, _KERNELS)),
        Cell(
            " ".join(f'<code title="{escape(c)}">{escape(_short(c))}</code>' for c in commits)
            or MISSING,
            " ".join(commits),
        ),
    ]


def _each(one: Shown, name: str) -> str:
    """The versions of a package that the seeds of a run were made with."""
    found = _distinct(s.versions.get(name, MISSING) for s in one.statuses.values() if s)
    return " and ".join(found) or MISSING


def _distinct(texts: Iterable[str]) -> list[str]:
    return sorted(set(texts))


def _short(commit: str) -> str:
    digits, plus, state = commit.partition("+")
    return digits[:_COMMIT_LENGTH] + plus + state


def _percent(share: float) -> str:
    # Rounded down, so that only a finished run has 100 %.
    return f"{int(100 * share)} %"


def _ranges(seeds: Iterable[int]) -> str:
    """Seeds as people write them: `0–9, 12`."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(
        f"{p[0]}–{p[-1]}" if len(p) > 2 else ", ".join(map(str, p)) for p in parts
    )  # a range of two is written as two


def _problems(runs: Sequence[Shown]) -> str:
    lines = [
        f"<li>{escape(one.env)}, {escape(one.label)}, seed {seed}: {escape(status.reason)}</li>"
        for one in runs
        for seed, status in one.statuses.items()
        if status and status.reason
    ]
    return f"<p>Failed:</p><ul class='problems'>{''.join(lines)}</ul>" if lines else ""


def _commands(known: Sequence[Status]) -> str:
    counts = Counter(status.command for status in known)
    lines = [
        f"<li><code>{escape(command)}</code> ({n} seeds)</li>" for command, n in counts.items()
    ]
    if not lines:
        return ""
    return f"<details><summary>Commands</summary><ul>{''.join(lines)}</ul></details>"
