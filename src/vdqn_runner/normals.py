"""Streams of standard normals for S seeds, as torch tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vdqn_runner import kernels
from vdqn_runner.streams import Purpose

LANES = 8
_TWO_PI_OVER_2_32 = 2.0 * np.pi / 2.0**32


def box_muller(bits: Tensor) -> Tensor:
    """Turn ``bits`` [S, n] (int32, uniform over all values) into standard normals [S, n].

    The first half of a row gives the radii, the second half the angles (Box and Muller, 1958).
    A radius has 26 bits, so that no draw exceeds 6.01.
    """
    half = bits.shape[1] // 2
    radius = bits[:, :half].to(torch.float32).mul_(2.0**-32).add_(0.5).clamp_min_(2.0**-26)
    radius = radius.log_().mul_(-2.0).sqrt_()
    angle = bits[:, half:].to(torch.float32).mul_(_TWO_PI_OVER_2_32)
    return torch.cat([radius * torch.cos(angle), angle.sin_().mul_(radius)], dim=1)


def _lane_states(seed: int, purpose: Purpose, *index: int) -> np.ndarray:
    """Return ``[LANES, 4]`` uint64: the SFC64 states of a stream's lanes."""
    sequence = np.random.SeedSequence([seed, int(purpose), *index])
    states = [np.random.SFC64(child).state["state"]["state"] for child in sequence.spawn(LANES)]
    return np.stack(states)


def _raw(lanes: np.ndarray, count: int) -> np.ndarray:
    """Draw ``count`` uint64 from ``lanes`` [LANES, 4], round robin, and advance them in place."""
    out = np.empty((count // LANES, LANES), np.uint64)
    bits = np.random.SFC64(0)
    whole = bits.state
    for lane in range(LANES):
        whole["state"]["state"] = lanes[lane]
        bits.state = whole
        out[:, lane] = bits.random_raw(count // LANES)
        lanes[lane] = bits.state["state"]["state"]
    return out.reshape(-1)


class NormalStreams:
    """S streams of standard normals, each made of LANES interleaved SFC64 generators."""

    def __init__(self, lanes: np.ndarray, device: str = "cpu") -> None:
        """Draw on the processor, for use on ``device``.

        ``lanes``: ``[S, LANES, 4]`` uint64 generator states, advanced in place.
        """
        self.lanes = np.ascontiguousarray(lanes)
        self._device = device

    @classmethod
    def of(
        cls, seeds: Sequence[int], purpose: Purpose, *index: int, device: str = "cpu"
    ) -> "NormalStreams":
        """Return the streams named by these seeds and this purpose."""
        return cls(np.stack([_lane_states(seed, purpose, *index) for seed in seeds]), device)

    def draw(self, count: int) -> Tensor:
        """Return ``[S, n]`` float32 normals, ``n`` >= ``count`` rounded up to whole vectors."""
        n = -(-count // 64) * 64
        if kernels.available():
            return kernels.normals(self.lanes, n).to(self._device)
        raw = np.stack([_raw(lanes, n // 2) for lanes in self.lanes])
        return box_muller(torch.from_numpy(raw.view(np.int32))).to(self._device)

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self.lanes = np.ascontiguousarray(self.lanes[rows])

    def state(self, row: int) -> list[int]:
        """Return what is to be kept of one seed's stream."""
        return [int(word) for word in self.lanes[row].reshape(-1)]

    def states(self) -> list[list[int]]:
        """Return the state of every seed's stream."""
        return [self.state(row) for row in range(len(self.lanes))]

    def load(self, states: Sequence[list[int]]) -> None:
        """Go on from the kept states of all seeds."""
        for row, state in enumerate(states):
            self.lanes[row] = np.array(state, np.uint64).reshape(LANES, 4)


class NormalBlocks:
    """``NormalStreams`` for small frequent draws: a block of them is drawn at a time."""

    def __init__(self, streams: NormalStreams, width: int, depth: int = 32) -> None:
        """Hand out ``[S, width]`` at each call, ``depth`` calls a block."""
        self._streams, self._width, self._depth = streams, width, depth
        self._begin = streams.states()
        self._used = 0

    def draw(self) -> Tensor:
        """Return the next ``[S, width]``."""
        if self._used in (0, self._depth):
            self._begin = self._streams.states()
            self._block = self._streams.draw(self._width * self._depth)
            self._used = 0
        at = self._used * self._width
        self._used += 1
        return self._block[:, at : at + self._width]

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._streams.select(rows)
        self._begin = [self._begin[row] for row in rows]
        if self._used:
            self._block = self._block[torch.from_numpy(rows).to(self._block.device)]

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed's stream."""
        return {"begin": self._begin[row], "used": self._used}

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on from the kept states of all seeds, which have drawn equally often."""
        used = states[0]["used"]
        self._streams.load([state["begin"] for state in states])
        self._begin = [state["begin"] for state in states]
        self._used = 0
        for _ in range(used):
            self.draw()
