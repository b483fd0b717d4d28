"""The claims as files: `claims.csv` for programs, `claims.md` for readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vdqn_runner.analysis.claims import verdict
from vdqn_runner.analysis.claims.numbers import number
from vdqn_runner.analysis.claims.result import ClaimResult, Effect, Part
from vdqn_runner.analysis.claims.table import estimate, state
from vdqn_runner.analysis.tables import csv_bytes

COLUMNS = (
    "claim", "title", "verdict", "part", "condition", "estimate", "low", "high", "core", "holds",
    "clear", "first", "second", "improvement", "difference", "n_seeds", "seeds", "values", "note",
)  # fmt: skip

_INTERVALS = (
    "An estimate is a mean over seeds, or a difference of two such means, and is followed by its "
    "95 % bootstrap interval: whole seeds are resampled, those of two runs independently; BCa "
    "where it is defined, else percentile. With 10 seeds such an interval is somewhat too narrow: "
    "for normal values a nominal 95 % covers about 90 %, with either method. Nothing is corrected "
    "for the number of parts. Improvement is the probability that a seed of the first has the "
    "larger value than a seed of the second, ties counted half."
)
_SOLVED = (
    "An iteration is 10 episodes. `solved_episode` is the first episode, a multiple of 10, whose "
    "iteration has a mean at or above the level, such that at most a fifth of the iterations are "
    "below it (1) in the first 10 iterations from there, (2) from there to the end of the run and "
    "(3) in the last 10 iterations of the run. A seed without such an episode is censored: it "
    "counts as the length of the run, so that the mean is a lower bound."
)


def as_csv(results: Sequence[ClaimResult]) -> bytes:
    """One row a part; a claim that was not tested has one row, without a part."""
    rows: list[Sequence[Any]] = [COLUMNS]
    for result in results:
        start = [result.number, result.title, result.verdict]
        if not result.parts:
            rows.append([*start, *[""] * (len(COLUMNS) - len(start) - 1), result.note])
        for part in result.parts:
            rows.append([*start, *_cells(part, result.note)])
    return csv_bytes(rows)


def as_markdown(results: Sequence[ClaimResult]) -> bytes:
    """The rule, a summary, and for each claim its words, its numbers and its verdict."""
    return ("\n".join(_lines(results)) + "\n").encode()


def _cells(part: Part, claim_note: str) -> list[Any]:
    effect = part.effect or Effect("", "", float("nan"), float("nan"))
    sizes = [effect.improvement, effect.difference] if part.effect else ["", ""]
    return [
        part.name, part.condition, part.estimate, part.low, part.high,
        int(part.core), int(part.holds), int(part.clear), effect.first, effect.second, *sizes,
        len(part.seeds), " ".join(map(str, part.seeds)), " ".join(map(repr, part.values)),
        "; ".join(note for note in (part.note, claim_note) if note),
    ]  # fmt: skip


def _lines(results: Sequence[ClaimResult]) -> Iterator[str]:
    yield "# The claims of the paper"
    yield ""
    yield "Each claim of the experiments section and the appendix of *Variational Deep Q Network*"
    yield "(Tang and Kucukelbir, 2017) is a list of parts, each a statistic with a threshold. Both"
    yield "were fixed before any run was looked at."
    yield ""
    yield "## How a verdict is reached"
    yield ""
    yield from _rule()
    yield ""
    yield _INTERVALS
    yield ""
    yield _SOLVED
    yield ""
    yield "## Summary"
    yield ""
    yield "| | claim | verdict | parts | hold | clear |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for r in results:
        holds, clear = (sum(getattr(part, key) for part in r.parts) for key in ("holds", "clear"))
        counts = f"{len(r.parts)} | {holds} | {clear}" if r.parts else "| |"
        yield f"| {r.number} | {_cell(r.title)} | {r.verdict} | {counts} |"
    for result in results:
        yield from _claim(result)


def _rule() -> list[str]:
    """The rule as `verdict.py` states it, so that it is stated once."""
    return (verdict.__doc__ or "").strip().split("\n\n", 1)[-1].splitlines()


def _claim(result: ClaimResult) -> Iterator[str]:
    yield ""
    yield f"## {result.number}. {result.title}"
    yield ""
    yield f"> {result.sentence}"
    yield ""
    yield f"**{result.verdict.capitalize()}**{': ' + result.note if result.note else ''}"
    yield ""
    yield f"- Statistic: {result.statistic}"
    yield f"- Threshold: {result.threshold}"
    yield f"- Reason: {result.reason}"
    if result.parts:
        yield ""
        yield "| part | estimate [95 %] | asked | | effect | seeds | note |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for part in result.parts:
            name = f"{part.name} (core)" if part.core else part.name
            cells = [
                name, estimate(part.estimate, part.low, part.high), part.condition, state(part),
                _effect(part.effect), str(len(part.seeds)), part.note,
            ]  # fmt: skip
            yield f"| {' | '.join(map(_cell, cells))} |"
    if result.supplements:
        yield ""
        yield "Beside it, without weight in the verdict:"
        yield ""
        yield "| | estimate [95 %] | seeds |"
        yield "| --- | --- | --- |"
        for one in result.supplements:
            value = estimate(one.estimate, one.low, one.high)
            yield f"| {_cell(one.name)} | {value} | {len(one.seeds)} |"


def _effect(effect: Effect | None) -> str:
    if effect is None:
        return ""
    return (
        f"{effect.first} over {effect.second}: improvement {number(effect.improvement)}, "
        f"difference {number(effect.difference)}"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
