"""What information gains are measured by: the medians of those of the last episodes."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch


class MedianScale:
    """For each of S seeds the mean of the medians of its last ``window`` episodes' gains.

    Gains shrink as a model learns. Divided by this they say how much more or less than usual a
    transition teaches (Houthooft et al. 2016, section 2.5).
    """

    def __init__(self, n_seeds: int, window: int) -> None:
        self._window = window
        self._gains: list[list[float]] = [[] for _ in range(n_seeds)]
        self._medians: list[deque[float]] = [deque(maxlen=window) for _ in range(n_seeds)]
        self.scale = np.ones(n_seeds)
        """What to divide by, ``[S]``: 1 until an episode has ended."""

    def add(self, gains: np.ndarray) -> None:
        """Note one gain of every seed's running episode, ``[S]``."""
        for of_episode, gain in zip(self._gains, gains.tolist(), strict=True):
            of_episode.append(gain)

    def episodes_ended(self, rows: np.ndarray) -> None:
        """Take the medians of the episodes that have ended in these rows."""
        for row in rows.tolist():
            self._medians[row].append(float(np.median(self._gains[row])))
            self._gains[row] = []
            self._rescale(row)

    def _rescale(self, row: int) -> None:
        mean = float(np.mean(self._medians[row])) if self._medians[row] else 1.0
        # Where nothing was learned in half of the steps there is no usual gain to compare with.
        self.scale[row] = mean if mean != 0.0 else 1.0

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._gains = [self._gains[row] for row in rows]
        self._medians = [self._medians[row] for row in rows]
        self.scale = self.scale[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed."""
        kept = {"gains": self._gains[row], "medians": list(self._medians[row])}
        return {name: torch.tensor(values, dtype=torch.float64) for name, values in kept.items()}

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on from the kept states of all seeds."""
        for row, state in enumerate(states):
            self._gains[row] = state["gains"].tolist()
            self._medians[row] = deque(state["medians"].tolist(), maxlen=self._window)
            self._rescale(row)
