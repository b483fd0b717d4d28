"""The claims of the paper and their verdicts as a section of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from vdqn_runner.analysis.claims.result import ClaimResult, Part
from vdqn_runner.analysis.report.numbers import MISSING, shown, with_interval
from vdqn_runner.analysis.report.tables import Cell, number_cell, table, text_cell

# A sign beside the word, so that neither colour nor reading is needed to tell verdicts apart.
_SIGNS = {"reproduced": "✓", "partly": "◐", "not reproduced": "✕", "not tested": "–"}
_ORDER = list(_SIGNS)


def claims_html(claims: Sequence[ClaimResult]) -> str:
    """A table with a verdict for each claim, and each claim's numbers below."""
    counts = {name: sum(claim.verdict == name for claim in claims) for name in _ORDER}
    total = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    rows = [
        [
            number_cell(claim.number, str(claim.number)),
            Cell(f'<a href="#claim-{claim.number}">{escape(claim.title)}</a>', claim.title),
            Cell(_badge(claim), _ORDER.index(claim.verdict)),
            number_cell(_share(claim), _held(claim)),
        ]
        for claim in claims
    ]
    overview = table("Verdicts", ["No.", "Claim", "Verdict", "Parts that hold"], rows)
    details = "\n".join(_details(claim) for claim in claims)
    return f"<p>Of {len(claims)} claims: {escape(total)}.</p>\n{overview}\n{details}"


def _badge(claim: ClaimResult) -> str:
    kind = claim.verdict.replace(" ", "-")
    sign = f'<span aria-hidden="true">{_SIGNS[claim.verdict]}</span>'
    return f'<span class="verdict {kind}">{sign} {claim.verdict}</span>'


def _share(claim: ClaimResult) -> float:
    holding = sum(part.holds for part in claim.parts)
    return holding / len(claim.parts) if claim.parts else float("nan")


def _held(claim: ClaimResult) -> str:
    if not claim.parts:
        return MISSING
    return f"{sum(part.holds for part in claim.parts)} of {len(claim.parts)}"


def _details(claim: ClaimResult) -> str:
    terms = [
        ("Statistic", claim.statistic),
        ("Threshold", claim.threshold),
        ("Why there", claim.reason),
        ("Note", claim.note),
    ]
    described = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in terms if text)
    return (
        f'<details class="claim" id="claim-{claim.number}">'
        f"<summary>{claim.number}. {escape(claim.title)} {_badge(claim)}</summary>"
        f"<blockquote>{escape(claim.sentence)}</blockquote><dl>{described}</dl>"
        f"{_parts(claim)}{_supplements(claim)}</details>"
    )


def _parts(claim: ClaimResult) -> str:
    if not claim.parts:
        return ""
    rows = [
        [
            text_cell(part.name + (" (core)" if part.core else "")),
            number_cell(part.estimate, with_interval(part.estimate, part.low, part.high)),
            text_cell(part.condition),
            Cell(_holds(part), 2 * part.holds + part.clear),
            number_cell(len(part.seeds), str(len(part.seeds))),
            text_cell("; ".join(filter(None, [_effect(part), part.note]))),
        ]
        for part in claim.parts
    ]
    header = ["Measured", "Estimate [95 % interval]", "Condition", "Holds", "Seeds", "Notes"]
    return table(f"Parts of claim {claim.number}", header, rows)


def _holds(part: Part) -> str:
    if part.holds:
        return "yes" if part.clear else "yes, not clearly"
    return "no"


def _effect(part: Part) -> str:
    if part.effect is None:
        return ""
    effect = part.effect
    return (
        f"{effect.first} − {effect.second} = {shown(effect.difference)}, "
        f"P({effect.first} > {effect.second}) = {shown(effect.improvement)}"
    )


def _supplements(claim: ClaimResult) -> str:
    if not claim.supplements:
        return ""
    rows = [
        [
            text_cell(one.name),
            number_cell(one.estimate, with_interval(one.estimate, one.low, one.high)),
            number_cell(len(one.seeds), str(len(one.seeds))),
        ]
        for one in claim.supplements
    ]
    header = ["Measured", "Mean [95 % interval]", "Seeds"]
    return table(f"Beside claim {claim.number}; no verdict rests on it", header, rows)
