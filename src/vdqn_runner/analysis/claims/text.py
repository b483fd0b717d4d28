"""A claim's words, which are the docstring of its function, so that they cannot differ from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_SECTIONS = ("Paper", "Statistic", "Threshold", "Reason")


@dataclass(frozen=True)
class Text:
    """What the docstring of a claim's function says; the fields of `ClaimResult`."""

    title: str
    sentence: str
    statistic: str
    threshold: str
    reason: str


def text(function: Callable[..., Any]) -> Text:
    """Read the docstring: a title, then one paragraph for each of the four sections, in order.

    Raises:
        ValueError: a section is missing or in another place, as under `python -OO`.
    """
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    title, *sections = (" ".join(paragraph.split()) for paragraph in paragraphs)
    names = tuple(section.partition(": ")[0] for section in sections)
    if names != _SECTIONS:
        raise ValueError(
            f"docstring of {function.__name__}: has sections {names}, needs {_SECTIONS}"
        )
    return Text(title.removesuffix("."), *(section.partition(": ")[2] for section in sections))
