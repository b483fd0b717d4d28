"""The claims on a terminal, two lines each, at most 100 columns wide."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from vdqn_runner.analysis.claims.numbers import number
from vdqn_runner.analysis.claims.result import ClaimResult, Part

WIDTH = 100
_INDENT = " " * 4


def table(results: Sequence[ClaimResult]) -> Iterator[str]:
    """Lines: number, title, verdict and how many parts hold; below each, what decides it."""
    yield f"{'':2}  {'claim':<54}  {'verdict':<14}  parts that hold"
    for result in results:
        title = textwrap.shorten(result.title, 54, placeholder=" ...")
        line = f"{result.number:2}  {title:<54}  {result.verdict:<14}  {_counts(result.parts)}"
        yield line.rstrip()
        yield from _wrapped(describe(decisive(result.parts)) if result.parts else result.note)
        if result.parts and result.note:
            yield from _wrapped(result.note)


def decisive(parts: Sequence[Part]) -> Part:
    """The part that a reader wants first: what fails, else what is unclear; core before others."""

    def rank(part: Part) -> tuple[bool, bool, bool]:
        return part.holds, part.clear, not part.core

    return min(parts, key=rank)


def describe(part: Part) -> str:
    """One part in words: `N = 50, DQN: mean return: 0.06 [0.05, 0.07], asked for <= 1.1: holds`."""
    text = f"{part.name}: {estimate(part.estimate, part.low, part.high)}, asked {part.condition}"
    return f"{text}: {state(part)}"


def estimate(value: float, low: float, high: float) -> str:
    """An estimate with its interval: `0.06 [0.05, 0.07]`; `undefined` for NaN."""
    if math.isnan(value):
        return "undefined"
    return f"{number(value)} [{number(low)}, {number(high)}]"


def state(part: Part) -> str:
    """Whether the part holds, and whether its interval leaves no doubt of it."""
    if part.holds:
        return "holds" if part.clear else "holds, interval not clear"
    return "does not hold"


def _counts(parts: Sequence[Part]) -> str:
    if not parts:
        return ""
    holds, clear = (
        sum(values) for values in zip(*((p.holds, p.clear) for p in parts), strict=True)
    )
    return f"{holds} of {len(parts)}, clear {clear}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=True
    )
