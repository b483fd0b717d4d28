"""Random streams: every draw comes from a generator named by (seed, purpose).

No global generator is ever used, so what a seed draws does not depend on which other seeds
train beside it. The bit generator is SFC64: small state, fast, and seeded through NumPy's
``SeedSequence``, which mixes (seed, purpose) into independent streams.

Here and in ``normals`` are streams for S seeds that hand out the draws of all of them at once.
Seeds in one batch have always drawn equally often, so what is to be kept for a resume is where
each seed's generator stood when the current block began, and how much of the block is used.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np


class Purpose(IntEnum):
    """What a stream is for. The numbers are part of the file format: never renumber."""

    INIT = 0
    ENVIRONMENT = 1
    ACTING = 2
    REPLAY = 3
    UPDATE_NOISE = 4
    TARGET_NOISE = 5
    EVALUATION = 6
    EVALUATION_NOISE = 7
    CHOOSING_NOISE = 8
    PRIOR = 9
    MASKS = 10
    SPIKES = 11


def generator(seed: int, purpose: Purpose, *index: int) -> np.random.Generator:
    """Return a fresh generator for this seed and purpose (and, say, episode)."""
    sequence = np.random.SeedSequence([seed, int(purpose), *index])
    return np.random.Generator(np.random.SFC64(sequence))


def episode_seed(seed: int, episode: int) -> int:
    """Return the seed (0..2**31-1) with which episode ``episode`` of agent ``seed`` is reset."""
    sequence = np.random.SeedSequence([seed, int(Purpose.ENVIRONMENT), episode])
    return int(sequence.generate_state(1)[0] & 0x7FFFFFFF)


class UniformBlocks:
    """S streams of uniform numbers in [0, 1), handed out ``[S, width]`` at a time."""

    def __init__(self, seeds: Sequence[int], purpose: Purpose, width: int, depth: int = 64) -> None:
        self._generators = [generator(seed, purpose) for seed in seeds]
        self._width, self._depth = width, depth
        self._begin = [_words(g) for g in self._generators]
        self._block = np.empty((len(seeds), depth, width))
        self._used = 0

    def draw(self) -> np.ndarray:
        """Return the next ``[S, width]`` float64."""
        if self._used in (0, self._depth):
            self._begin = [_words(g) for g in self._generators]
            for row, g in enumerate(self._generators):
                g.random(out=self._block[row])
            self._used = 0
        self._used += 1
        return self._block[:, self._used - 1]

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._generators = [self._generators[row] for row in rows]
        self._begin = [self._begin[row] for row in rows]
        self._block = self._block[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed's stream."""
        return {"begin": self._begin[row], "used": self._used}

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on from the kept states of all seeds, which have drawn equally often."""
        used = states[0]["used"]
        for g, state in zip(self._generators, states, strict=True):
            whole = g.bit_generator.state
            whole["state"]["state"] = np.array(state["begin"], np.uint64)
            g.bit_generator.state = whole
        self._begin = [state["begin"] for state in states]
        self._used = 0
        for _ in range(used):
            self.draw()


def _words(g: np.random.Generator) -> list[int]:
    """Return the four words of an SFC64 generator (doubles leave no half-used word behind)."""
    return [int(word) for word in g.bit_generator.state["state"]["state"]]
