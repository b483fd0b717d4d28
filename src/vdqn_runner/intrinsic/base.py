"""What the training loop asks of an intrinsic reward, and the one that is none."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from vdqn_runner.envs.spec import IntArray, RewardArray, StoredArray
from vdqn_runner.replay import Replay

Inputs = Callable[[StoredArray], Tensor]
"""From stored observations ``[S, B, ...]`` to what networks take (see ``nets``)."""


class Intrinsic(Protocol):
    """A reward that S seeds give themselves; replay holds it added to the environment's."""

    def bonus(self, obs: StoredArray, action: IntArray, next_obs: StoredArray) -> RewardArray:
        """Return the bonus ``[S]`` of one new transition of every seed.

        Observations are in their stored form ``[S, ...]``, actions ``[S]``.
        """

    def learn(self, replay: Replay, step: int) -> None:
        """Learn from what was seen, where that is due at ``step``; the new transition is there."""

    def episodes_ended(self, rows: np.ndarray) -> None:
        """Note that these seeds' episodes ended with the last transition."""

    def figures(self, row: int) -> dict[str, float]:
        """Return means since the seed's last log row, by log column."""

    def begin_log_row(self, row: int) -> None:
        """Forget what the means of a seed are made of."""

    def finite(self) -> bool:
        """Whether this step's figures are finite in every seed; quick."""

    def not_finite(self, row: int) -> str:
        """Say what of a seed's figures and parameters is not finite; empty where all is."""

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""

    def state(self, row: int) -> Any:
        """Return what is to be kept of one seed."""

    def load(self, states: Sequence[Any]) -> None:
        """Go on from the kept states of all seeds, which are at the same step."""


class NoBonus:
    """Nothing is added, learned, logged or kept."""

    def bonus(  # noqa: D102
        self, obs: StoredArray, action: IntArray, next_obs: StoredArray
    ) -> RewardArray:
        return np.zeros(len(action))

    def learn(self, replay: Replay, step: int) -> None:  # noqa: D102
        pass

    def episodes_ended(self, rows: np.ndarray) -> None:  # noqa: D102
        pass

    def figures(self, row: int) -> dict[str, float]:  # noqa: D102
        return {}

    def begin_log_row(self, row: int) -> None:  # noqa: D102
        pass

    def finite(self) -> bool:  # noqa: D102
        return True

    def not_finite(self, row: int) -> str:  # noqa: D102
        return ""

    def select(self, rows: np.ndarray) -> None:  # noqa: D102
        pass

    def state(self, row: int) -> Any:  # noqa: D102
        return None

    def load(self, states: Sequence[Any]) -> None:  # noqa: D102
        pass
