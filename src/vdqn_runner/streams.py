"""Random streams: every draw comes from a generator named by (seed, purpose).

No global generator is ever used, so what a seed draws does not depend on which other seeds
train beside it. The bit generator is SFC64: small state, fast, and seeded through NumPy's
``SeedSequence``, which mixes (seed, purpose) into independent streams.
"""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream is for. The numbers are part of the file format: never renumber."""

    INIT = 0
    ENVIRONMENT = 1
    ACTING = 2
    REPLAY = 3
    UPDATE_NOISE = 4
    TARGET_NOISE = 5


def generator(seed: int, purpose: Purpose) -> np.random.Generator:
    """Return a fresh generator for this seed and purpose."""
    sequence = np.random.SeedSequence([seed, int(purpose)])
    return np.random.Generator(np.random.SFC64(sequence))


def episode_seed(seed: int, episode: int) -> int:
    """Return the seed (0..2**31-1) with which episode ``episode`` of agent ``seed`` is reset."""
    sequence = np.random.SeedSequence([seed, int(Purpose.ENVIRONMENT), episode])
    return int(sequence.generate_state(1)[0] & 0x7FFFFFFF)
