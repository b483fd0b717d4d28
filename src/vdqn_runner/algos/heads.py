"""Heads of Bootstrapped DQN: which one acts, which ones learn from a transition, their prior."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vdqn_runner.algos.base import Clock
from vdqn_runner.streams import Purpose, generator


class HeadEachEpisode:
    """One head for a whole episode, drawn uniformly at its beginning.

    Episode e of seed k draws from the stream (k, ACTING, e).
    """

    def __init__(self, seeds: Sequence[int], n_heads: int) -> None:
        self._seeds, self._n_heads = np.array(seeds), n_heads
        self.acting = np.zeros(len(seeds), np.int64)
        """The heads ``[S]`` that act."""

    def begin_episodes(self, rows: np.ndarray, clock: Clock) -> None:
        """Draw heads for these seeds."""
        for row in rows:
            stream = generator(int(self._seeds[row]), Purpose.ACTING, int(clock.episodes[row]))
            self.acting[row] = int(stream.random() * self._n_heads)

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._seeds, self.acting = self._seeds[rows], self.acting[rows]

    def state(self, row: int) -> int:
        """Return what is to be kept of one seed."""
        return int(self.acting[row])

    def load(self, states: Sequence[int]) -> None:
        """Go on from the kept states of all seeds."""
        self.acting[:] = states


class Masks:
    """Which heads learn from which transitions: each from each with probability p, for good.

    Whether head h of seed k learns from its n-th transition is a function of (k, MASKS, n, h)
    alone, so nothing has to be stored beside the transition.
    """

    def __init__(self, seeds: Sequence[int], n_heads: int, probability: float) -> None:
        self._n_heads = np.uint64(n_heads)
        self._probability = probability
        sequences = [np.random.SeedSequence([seed, int(Purpose.MASKS)]) for seed in seeds]
        self._keys = np.array([s.generate_state(1, np.uint64)[0] for s in sequences])

    def of(self, number: np.ndarray) -> np.ndarray:
        """Return bools ``[S, B, K]`` for the transitions ``number`` [S, B]."""
        heads = np.arange(self._n_heads, dtype=np.uint64)
        counter = number.astype(np.uint64)[..., None] * self._n_heads + heads
        bits = _splitmix(self._keys[:, None, None], counter)
        mask: np.ndarray = (bits >> np.uint64(11)) * 2.0**-53 < self._probability
        return mask

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._keys = self._keys[rows]

    def state(self, row: int) -> Any:
        """Return nothing: masks do not change."""
        return None

    def load(self, states: Sequence[Any]) -> None:
        """Nothing is to be loaded."""


class FixedRows:
    """Rows ``[S, P]`` that are never trained, made from the seed alone: a prior function."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self.rows = self.rows[torch.from_numpy(rows).to(self.rows.device)]

    def state(self, row: int) -> Any:
        """Return nothing: they do not change."""
        return None

    def load(self, states: Sequence[Any]) -> None:
        """Nothing is to be loaded."""


def _splitmix(key: np.ndarray, counter: np.ndarray) -> np.ndarray:
    """Return the ``counter``-th 64 random bits of the SplitMix64 generator that starts at ``key``.

    (Steele, Lea and Flood 2014; wrapping 64-bit arithmetic.)
    """
    z = key + (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = z ^ (z >> np.uint64(31))
    return mixed
