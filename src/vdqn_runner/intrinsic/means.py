"""Means of a figure between two log rows, for S seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class Means:
    """For each of S seeds the mean of what was added since ``begin``; nan of nothing."""

    def __init__(self, n_seeds: int) -> None:
        self._sums, self._counts = np.zeros(n_seeds), np.zeros(n_seeds, np.int64)

    def add(self, values: np.ndarray) -> None:
        """Note one value of every seed, ``[S]``."""
        self._sums += values
        self._counts += 1

    def of(self, row: int) -> float:
        """Return the mean of one seed."""
        count = int(self._counts[row])
        return float(self._sums[row]) / count if count else float("nan")

    def begin(self, row: int) -> None:
        """Forget what was added of one seed."""
        self._sums[row], self._counts[row] = 0.0, 0

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._sums, self._counts = self._sums[rows], self._counts[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed."""
        return {"sum": float(self._sums[row]), "count": int(self._counts[row])}

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on from the kept states of all seeds."""
        self._sums[:] = [state["sum"] for state in states]
        self._counts[:] = [state["count"] for state in states]
