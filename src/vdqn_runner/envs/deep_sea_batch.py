"""S deep seas in lockstep: ``DeepSeaEnv`` for many seeds, as a few array operations a step."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vdqn_runner.envs.deep_sea import MOVE_COST, TREASURE, chances, check_size, right_actions
from vdqn_runner.envs.spec import BoolArray, EnvSpec, IntArray, StepResult, StoredArray
from vdqn_runner.streams import episode_seed


class DeepSeaBatch:
    """An ``EnvBatch`` of deep seas; a stored observation is the cell's number, uint16 [S].

    Extra column: ``found``, whether the episode has gone right in the last column.
    """

    def __init__(self, n: int, stochastic: bool, mapping_seed: int, seeds: Sequence[int]) -> None:
        """Make one sea of ``n`` by ``n`` cells a seed; all have the same table of actions.

        Raises:
            ConfigError: ``n`` is out of range.
        """
        check_size(n)
        self.spec = EnvSpec(
            obs_dim=n * n,
            n_actions=2,
            stored_shape=(),
            stored_dtype=np.dtype(np.uint16),
            max_episode_steps=n,
            extra_columns=("found",),
            label=f"deep_sea-{n}",
            code="one_hot",
        )
        self._n, self._stochastic, self._mapping_seed = n, stochastic, mapping_seed
        self._right = right_actions(n, mapping_seed)
        self._seeds = list(seeds)
        size = len(self._seeds)
        self._episode = np.full(size, -1, np.int64)
        self._row = np.full(size, n, np.int64)
        self._column = np.zeros(size, np.int64)
        self._found = np.zeros(size, np.bool_)
        # Of the running episodes; a calm sea draws none.
        self._winds = np.ones((size, n))
        self._gift = np.zeros(size)

    def fresh(self, seeds: Sequence[int]) -> "DeepSeaBatch":
        """Return new seas with the same table of actions, one a seed."""
        return DeepSeaBatch(self._n, self._stochastic, self._mapping_seed, seeds)

    def reset(self, rows: IntArray) -> None:
        """Start a new episode in these rows."""
        for row in rows.tolist():
            self._start(row, int(self._episode[row]) + 1)

    def observe(self) -> StoredArray:
        """Return the cells' numbers, uint16 [S]; 0 in a row whose episode is over."""
        return np.where(self._row < self._n, 1 + self._row * self._n + self._column, 0).astype(
            np.uint16
        )

    def step(self, actions: IntArray) -> StepResult:
        """Dive to the next row in every sea; ``actions`` [S] are 0 or 1.

        Raises:
            RuntimeError: A row's episode is over, or was never started.
        """
        n, last = self._n, self._n - 1
        if (self._row == n).any():
            raise RuntimeError(f"no running episode in rows {np.flatnonzero(self._row == n)}")
        right = actions == self._right[self._row, self._column]
        found = right & (self._column == last)
        at_an_end = (self._row == last) & ((self._column == 0) | (self._column == last))
        reward = np.where(at_an_end, self._gift, 0.0)
        reward += np.where(found, TREASURE, 0.0)
        reward -= np.where(right, MOVE_COST / n, 0.0)
        carried = self._winds[np.arange(len(actions)), self._row] >= 1 / n
        move = np.where(right, carried.astype(np.int64), -1)
        self._column = np.clip(self._column + move, 0, last)
        self._row = self._row + 1
        self._found |= found
        truncated = np.zeros(len(actions), np.bool_)
        return StepResult(self.observe(), reward, self._row == n, truncated)

    def best_actions(self) -> IntArray:
        """Return the best policy's actions [S]: those that go right in each sea's cell."""
        right: IntArray = self._right[self._row, self._column].astype(np.int64)
        return right

    def extras(self) -> dict[str, BoolArray]:
        """Return which episodes have gone right in the last column so far, bool [S]."""
        return {"found": self._found.copy()}

    def select(self, rows: IntArray) -> None:
        """Keep only these rows, in this order."""
        self._seeds = [self._seeds[row] for row in rows.tolist()]
        for name in ("_episode", "_row", "_column", "_found", "_winds", "_gift"):
            setattr(self, name, getattr(self, name)[rows])

    def state(self, row: int) -> dict[str, Any]:
        """Return the row's episode, which names its chances, and where it is in it."""
        return {
            "episode": int(self._episode[row]),
            "row": int(self._row[row]),
            "column": int(self._column[row]),
            "found": bool(self._found[row]),
        }

    def load_state(self, row: int, state: Mapping[str, Any]) -> None:
        """Put a row where ``state`` was taken."""
        if state["episode"] >= 0:
            self._start(row, state["episode"])
        self._row[row], self._column[row] = state["row"], state["column"]
        self._found[row] = state["found"]

    def close(self) -> None:
        """Do nothing: seas hold no resources."""

    def _start(self, row: int, episode: int) -> None:
        self._episode[row] = episode
        self._row[row] = self._column[row] = 0
        self._found[row] = False
        if self._stochastic:
            number = episode_seed(self._seeds[row], episode)
            self._winds[row], self._gift[row] = chances(number, self._n)
