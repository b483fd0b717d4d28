"""What a figure hands over: the drawing, the numbers in it, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

from vdqn_runner.analysis.paper.selection import Loaded

Row = Sequence[Any]


@dataclass(frozen=True)
class Product:
    """One figure, ready to be written.

    Attributes:
        figure: the drawing.
        finding: one neutral sentence, computed from the numbers.
        header: names of the columns of the table of plotted numbers; empty if there is none.
        rows: that table.
        runs: the runs that it rests on.
    """

    figure: Figure
    finding: str
    header: Sequence[str] = ()
    rows: Sequence[Row] = ()
    runs: Sequence[Loaded] = field(default=())


@dataclass(frozen=True)
class Missing:
    """Why a figure cannot be drawn: the runs that it lacks, in one line."""

    why: str
