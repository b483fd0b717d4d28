"""Rows as a CSV file: RFC 4180, with a line feed alone as line end, as all tables here have it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    """The rows, the header first; None and "" are empty cells."""
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()
