"""S chains in lockstep: ``ChainEnv`` for many seeds, as a few array operations a step."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vdqn_runner.envs.chain import (
    REWARD_FIRST,
    REWARD_LAST,
    START,
    check_size,
    episode_length,
)
from vdqn_runner.envs.spec import BoolArray, EnvSpec, IntArray, StepResult, StoredArray


class ChainBatch:
    """An ``EnvBatch`` of chains; a stored observation is the state's number, uint16 [S].

    Extra columns: ``visited_first``, ``visited_middle`` and ``visited_last`` say whether the
    episode ever was in state 1, floor(n / 2) or n; the start and the final state count.
    """

    def __init__(self, n: int, rows: int) -> None:
        """Make ``rows`` chains of ``n`` states.

        Raises:
            ConfigError: ``n`` is out of range.
        """
        check_size(n)
        self.spec = EnvSpec(
            obs_dim=n,
            n_actions=2,
            stored_shape=(),
            stored_dtype=np.dtype(np.uint16),
            max_episode_steps=episode_length(n),
            extra_columns=("visited_first", "visited_middle", "visited_last"),
            label=f"chain-{n}",
            code="thermometer",
        )
        self._n = n
        states = np.arange(n + 1)
        self._successor = np.stack([states - 1, states + 1], axis=1)  # [n + 1, A]
        self._successor[[1, n]] = [[1], [n]]
        self._reward = np.zeros(n + 1)
        self._reward[[1, n]] = REWARD_FIRST, REWARD_LAST
        # State 0 is that of a row which has had no episode yet.
        self._state = np.zeros(rows, np.int64)
        self._left = np.zeros(rows, np.int64)
        # A walk that moves by one state has been everywhere between its two extremes.
        self._lowest = np.zeros(rows, np.int64)
        self._highest = np.zeros(rows, np.int64)

    def fresh(self, seeds: Sequence[int]) -> "ChainBatch":
        """Return new chains of as many states, one a seed; nothing about a chain is random."""
        return ChainBatch(self._n, len(seeds))

    def reset(self, rows: IntArray) -> None:
        """Start a new episode in these rows."""
        self._left[rows] = episode_length(self._n)
        self._state[rows] = self._lowest[rows] = self._highest[rows] = START

    def observe(self) -> StoredArray:
        """Return the states' numbers, uint16 [S]; 0 in a row that has had no episode yet."""
        return self._state.astype(np.uint16)

    def step(self, actions: IntArray) -> StepResult:
        """Take one step in every row; ``actions`` [S] are 0 (left) or 1 (right).

        Raises:
            RuntimeError: A row's episode is over, or was never started.
        """
        if not self._left.all():
            raise RuntimeError(f"no running episode in rows {np.flatnonzero(self._left == 0)}")
        reward = self._reward[self._state]
        state = self._successor[self._state, actions]
        self._state = state
        np.minimum(self._lowest, state, out=self._lowest)
        np.maximum(self._highest, state, out=self._highest)
        self._left -= 1
        truncated = np.zeros(len(state), np.bool_)
        return StepResult(state.astype(np.uint16), reward, self._left == 0, truncated)

    def best_actions(self) -> IntArray:
        """Return the best policy's actions [S]: right, to the last state and on it."""
        return np.ones(len(self._state), np.int64)

    def extras(self) -> dict[str, BoolArray]:
        """Return which of the three states each row's episode has visited so far, bool [S]."""
        middle = self._n // 2
        return {
            "visited_first": self._lowest == 1,
            "visited_middle": (self._lowest <= middle) & (middle <= self._highest),
            "visited_last": self._highest == self._n,
        }

    def select(self, rows: IntArray) -> None:
        """Keep only these rows, in this order."""
        self._state, self._left = self._state[rows], self._left[rows]
        self._lowest, self._highest = self._lowest[rows], self._highest[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return the row's state, steps left, and lowest and highest state, as ints."""
        return {
            "state": int(self._state[row]),
            "left": int(self._left[row]),
            "lowest": int(self._lowest[row]),
            "highest": int(self._highest[row]),
        }

    def load_state(self, row: int, state: Mapping[str, Any]) -> None:
        """Put a row where ``state`` was taken."""
        self._state[row] = state["state"]
        self._left[row] = state["left"]
        self._lowest[row] = state["lowest"]
        self._highest[row] = state["highest"]

    def close(self) -> None:
        """Do nothing: chains hold no resources."""
