"""Tables of a page. Whatever comes from a run is escaped here, where it turns into HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        html: its content, escaped.
        key: what its column is sorted by; None sorts last. A column of floats stands to the right,
            one of integers, which are ranks, to the left.
    """

    html: str
    key: float | int | str | None


def text_cell(text: str) -> Cell:
    """A cell with a text, sorted by it."""
    return Cell(escape(text), text)


def code_cell(text: str) -> Cell:
    """A cell with a name or value as it stands in a file."""
    return Cell(f"<code>{escape(text)}</code>", text)


def number_cell(value: float, text: str) -> Cell:
    """A cell with a number, written as given and sorted by its value."""
    return Cell(escape(text), None if math.isnan(value) else float(value))


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table that is sorted by a click on a column's name.

    Args:
        caption: says what is in it; plain text.
        header: the columns' names.
        rows: as many cells each.
    """
    numeric = [_is_numeric([row[i] for row in rows]) for i in range(len(header))]
    head = "".join(
        f'<th scope="col"{_kind(number)}><button type="button">{escape(name)}</button></th>'
        for name, number in zip(header, numeric, strict=True)
    )
    body = "\n".join(
        f"<tr>{''.join(map(_cell, row, numeric))}</tr>" for row in rows
    )  # one cell for each column, or the map would end early
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table class="sortable"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _is_numeric(cells: Sequence[Cell]) -> bool:
    keys = [cell.key for cell in cells if cell.key is not None]
    return bool(keys) and all(isinstance(key, float) for key in keys)


def _kind(number: bool) -> str:
    return ' class="number"' if number else ""


def _cell(cell: Cell, number: bool) -> str:
    key = "" if cell.key is None else f' data-key="{escape(str(cell.key))}"'
    return f"<td{_kind(number)}{key}>{cell.html}</td>"
