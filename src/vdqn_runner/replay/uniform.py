"""Uniform experience replay for S seeds in lockstep, each with its own memory.

Every observation is stored once: a seed's observations lie one after another in a ring of slots,
so that the observation after the one in slot i lies in slot i + 1, and an episode has one slot
more than it has transitions. Only what is touched takes memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from vdqn_runner.envs.spec import EnvSpec


@dataclass(frozen=True)
class Transitions:
    """A minibatch; every array is ``[S, B]``, observations in their stored form ``[S, B, ...]``.

    Attributes:
        obs: Where each transition began.
        action: What was done.
        reward: What came of it.
        terminal: Whether nothing follows.
        next_obs: Where it led.
        place: Where it lies in its memory.
        number: The how-manieth of its seed it is, from 0.
        weight: What it counts in the loss, float32.
    """

    obs: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    terminal: np.ndarray
    next_obs: np.ndarray
    place: np.ndarray
    number: np.ndarray
    weight: np.ndarray


class UniformReplay:
    """The last ``capacity`` transitions of each of S seeds, drawn uniformly with replacement."""

    def __init__(self, n_seeds: int, spec: EnvSpec, capacity: int, episodes: int) -> None:
        """Make room for ``capacity`` transitions a seed, or for ``episodes`` if those are fewer."""
        if spec.max_episode_steps is not None:
            capacity = min(capacity, episodes * spec.max_episode_steps)
        self.capacity = capacity
        # A transition needs a slot and, where its episode ends, one for the final observation.
        self._n_slots = capacity + min(capacity, episodes) + 1
        shape = (n_seeds, self._n_slots)
        self._obs = np.empty((*shape, *spec.stored_shape), spec.stored_dtype)
        self._action = np.empty(shape, np.min_scalar_type(spec.n_actions - 1))
        self._reward = np.empty(shape, np.float32)
        self._terminal = np.empty(shape, np.bool_)
        self._slot = np.empty((n_seeds, capacity), np.int32)
        self._rows = np.arange(n_seeds)
        self._head = np.full(n_seeds, -1, np.int64)
        self._count = 0

    def __len__(self) -> int:
        """How many transitions each seed holds."""
        return min(self._count, self.capacity)

    def begin(self, rows: np.ndarray, obs: np.ndarray) -> None:
        """Note the first observations ``obs`` [len(rows), ...] of new episodes of these seeds."""
        self._head[rows] += 1
        self._obs[self._rows[rows], self._head[rows] % self._n_slots] = obs

    def add(
        self, action: np.ndarray, reward: np.ndarray, terminal: np.ndarray, next_obs: np.ndarray
    ) -> None:
        """Note one step of every seed: ``[S]`` each, ``next_obs`` [S, ...]."""
        slot = self._head % self._n_slots
        self._action[self._rows, slot] = action
        self._reward[self._rows, slot] = reward
        self._terminal[self._rows, slot] = terminal
        self._slot[self._rows, self._count % self.capacity] = slot
        self._head += 1
        self._obs[self._rows, self._head % self._n_slots] = next_obs
        self._count += 1

    @property
    def next_place(self) -> int:
        """Where the next transition of every seed will lie, in place of an older one if any."""
        return self._count % self.capacity

    def sample(self, uniform: np.ndarray, step: int, episodes: np.ndarray) -> Transitions:
        """Return the transitions that ``uniform`` [S, B] in [0, 1) picks among those held.

        When that is, ``step`` and ``episodes`` [S], does not matter here.
        """
        return self.equally(uniform)

    def equally(self, uniform: np.ndarray) -> Transitions:
        """Return transitions by ``uniform`` [S, B] in [0, 1), each of those held equally often."""
        place = (uniform * len(self)).astype(np.int64)
        return self.take(place, np.ones(place.shape, np.float32))

    def learned(self, drawn: Transitions, errors: np.ndarray | None) -> None:
        """Nothing: what errors a minibatch had does not matter here."""

    def take(self, place: np.ndarray, weight: np.ndarray) -> Transitions:
        """Return the transitions at these places ``[S, B]``, with these weights."""
        slot = self._slot[self._rows[:, None], place].astype(np.int64)
        base = (self._rows * self._n_slots)[:, None]
        at = base + slot
        after = base + (slot + 1) % self._n_slots
        obs = self._obs.reshape(-1, *self._obs.shape[2:])
        return Transitions(
            obs=obs[at],
            action=self._action.reshape(-1)[at],
            reward=self._reward.reshape(-1)[at],
            terminal=self._terminal.reshape(-1)[at],
            next_obs=obs[after],
            place=place,
            number=self._count - 1 - (self._count - 1 - place) % self.capacity,
            weight=weight,
        )

    def select(self, rows: np.ndarray) -> None:
        """Keep only these seeds, in this order."""
        self._rows = self._rows[rows]
        self._head = self._head[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return what is to be kept of one seed's memory."""
        at = self._rows[row]
        head = int(self._head[row])
        slots = min(head + 1, self._n_slots)
        fields = {
            "obs": self._obs[at, :slots],
            "action": self._action[at, :slots],
            "reward": self._reward[at, :slots],
            "terminal": self._terminal[at, :slots],
            "slot": self._slot[at, : len(self)],
        }
        tensors = {name: torch.from_numpy(field.copy()) for name, field in fields.items()}
        return {"count": self._count, "head": head, **tensors}

    def load(self, row: int, state: Mapping[str, Any]) -> None:
        """Go on from a kept state; all seeds of a batch have seen equally many transitions."""
        at = self._rows[row]
        self._count = state["count"]
        self._head[row] = state["head"]
        slots = len(state["obs"])
        self._obs[at, :slots] = state["obs"].numpy()
        # The last slot's action, reward and terminal are not written yet: noise, kept as it is.
        self._action[at, :slots] = state["action"].numpy()
        self._reward[at, :slots] = state["reward"].numpy()
        self._terminal[at, :slots] = state["terminal"].numpy()
        self._slot[at, : len(state["slot"])] = state["slot"].numpy()
