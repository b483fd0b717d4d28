"""Finding the name that a user probably meant."""

from collections.abc import Iterable
from difflib import SequenceMatcher

ALIASES = {"gpu": "cuda"}
"""Words for what has another name here, though a third is spelt more like them."""

USUAL = {"hidden": "algo.network.hidden"}
"""By last part, the key that is usually meant of several that end alike."""

_COMPARED = 200  # characters: no name is longer, and comparing takes time


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like ``name`` regardless of case, or None if none is close."""
    candidates, name = list(candidates), name[:_COMPARED]
    if (meant := ALIASES.get(name.lower())) in candidates:
        return meant

    def likeness(candidate: str) -> float:
        return SequenceMatcher(None, name.lower(), candidate.lower()).ratio()

    best = max(sorted(candidates), key=likeness, default=None)
    return best if best is not None and likeness(best) >= 0.5 else None


def closest_key(key: str, candidates: Iterable[str]) -> str | None:
    """Return the dotted candidate most like ``key``, judged by last parts before whole paths.

    A key given at the wrong level (``lr`` for ``algo.lr``) or misspelt (``env.nn`` for
    ``env.n``) is found; the whole path decides between equally good last parts. Keys beside it
    come before those of other groups that are spelt a little more like it.
    """
    key = key[:_COMPARED]
    candidates = list(candidates)
    parent, _, last = key.lower().rpartition(".")
    if (usual := USUAL.get(last)) in candidates:
        return usual

    def likeness(candidate: str) -> tuple[float, float]:
        tail = candidate.rpartition(".")[2].lower()
        whole = SequenceMatcher(None, key.lower(), candidate.lower()).ratio()
        return max(SequenceMatcher(None, last, tail).ratio(), whole), whole

    def preference(candidate: str) -> tuple[float, float]:
        alike, whole = likeness(candidate)
        beside = candidate.lower().rpartition(".")[0] == parent
        return alike + (0.1 if beside else 0.0), whole

    best = max(sorted(candidates), key=preference, default=None)
    return best if best is not None and likeness(best)[0] >= 0.6 else None


def did_you_mean(suggestion: str | None) -> str:
    """Return the end of a message that offers ``suggestion``, or nothing."""
    return f"; did you mean {suggestion}?" if suggestion else ""
