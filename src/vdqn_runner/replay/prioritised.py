"""Proportional prioritised replay (Schaul, Quan, Antonoglou and Silver, 2016) for S seeds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from vdqn_runner.config import ReplayConfig
from vdqn_runner.envs.spec import EnvSpec
from vdqn_runner.replay.sum_tree import SumTrees
from vdqn_runner.replay.uniform import Transitions, UniformReplay
from vdqn_runner.schedules import value_at


class PrioritisedReplay:
    """The last ``capacity`` transitions of each seed, drawn by their last errors.

    Transition i is drawn with P(i) = p_i^alpha / sum_k p_k^alpha (eq. 1), p_i = |error| + floor,
    and weighs (N P(i))^-beta, divided by the largest such weight of its minibatch (section 3.4).
    One that has just come has the largest p so far.
    """

    def __init__(self, n_seeds: int, spec: EnvSpec, config: ReplayConfig, episodes: int) -> None:
        """Make room as ``UniformReplay`` does."""
        self._memory = UniformReplay(n_seeds, spec, config.capacity, episodes)
        self._config = config
        self._trees = SumTrees(n_seeds, self._memory.capacity)
        self._largest = np.ones(n_seeds)

    def __len__(self) -> int:
        """How many transitions each seed holds."""
        return len(self._memory)

    def begin(self, rows: np.ndarray, obs: np.ndarray) -> None:
        """Note the first observations ``obs`` [len(rows), ...] of new episodes of these seeds."""
        self._memory.begin(rows, obs)

    def add(
        self, action: np.ndarray, reward: np.ndarray, terminal: np.ndarray, next_obs: np.ndarray
    ) -> None:
        """Note one step of every seed: ``[S]`` each, ``next_obs`` [S, ...]."""
        place = np.full((len(action), 1), self._memory.next_place)
        self._memory.add(action, reward, terminal, next_obs)
        self._trees.set(place, self._largest[:, None] ** self._config.alpha)

    def sample(self, uniform: np.ndarray, step: int, episodes: np.ndarray) -> Transitions:
        """Return transitions by ``uniform`` [S, B] in [0, 1), one from each B-th of all priority.

        ``step`` and ``episodes`` [S] are when that is: beta follows its schedule.
        """
        size = uniform.shape[1]
        total = self._trees.total[:, None]
        place = self._trees.find((np.arange(size) + uniform) / size * total)
        chance = self._trees.at(place) / total
        beta = value_at(self._config.undoing, step, episodes)[:, None]
        weight = (len(self) * chance) ** -beta
        weight /= weight.max(axis=1, keepdims=True)
        return self._memory.take(place, weight.astype(np.float32))

    def equally(self, uniform: np.ndarray) -> Transitions:
        """Return transitions by ``uniform`` [S, B] in [0, 1), whatever their priorities."""
        return self._memory.equally(uniform)

    def learned(self, drawn: Transitions, errors: np.ndarray | None) -> None:
        """Give the transitions of a minibatch the priorities of their ``errors`` [S, B].

        Raises:
            ValueError: There are none.
        """
        if errors is None:
            raise ValueError("prioritised replay needs the errors of every update")
        priority = np.abs(errors.astype(np.float64)) + self._config.floor
        # What is not finite ends this seed's training; the tree is not to end the others'.
        priority = np.where(np.isfinite(priority), priority, self._config.floor)
        self._largest = np.maximum(self._largest, priority.max(axis=1))
        self._trees.set(drawn.place, priority**self._config.alpha)

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._memory.select(rows)
        self._trees.select(rows)
        self._largest = self._largest[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed's memory."""
        return {
            "memory": self._memory.state(row),
            "priorities": torch.from_numpy(self._trees.values(row, len(self))),
            "largest": float(self._largest[row]),
        }

    def load(self, row: int, state: Mapping[str, Any]) -> None:
        """Go on from a kept state; all seeds of a batch have seen equally many transitions."""
        self._memory.load(row, state["memory"])
        self._trees.fill(row, state["priorities"].numpy())
        self._largest[row] = state["largest"]
