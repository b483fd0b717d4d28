"""The chain on which going right sometimes fails (Osband, Van Roy and Wen, 2016)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from vdqn_runner.envs.chain import LEFT, RIGHT, ChainEnv, episode_length
from vdqn_runner.envs.chain_batch import ChainBatch
from vdqn_runner.envs.spec import BoolArray, IntArray, StepResult, StoredArray
from vdqn_runner.streams import episode_seed

ENV_ID = "vdqn_runner/StochasticChain-v0"


def slips(number: int, length: int, chance: float) -> BoolArray:
    """Return in which steps of an episode going right fails, bool [length].

    ``number`` (0 or more) names the episode.
    """
    return np.random.Generator(np.random.SFC64(number)).random(length) < chance


class StochasticChainEnv(
    gymnasium.Wrapper[
        npt.NDArray[np.float32], int | np.int64, npt.NDArray[np.float32], int | np.int64
    ]
):
    """``ChainEnv`` on which an action right goes left with probability ``slip``.

    Where ``slip`` is None it is 1 / n. Left never fails, and states 1 and n cannot be left.
    """

    def __init__(
        self, n: int = 10, slip: float | None = None, render_mode: str | None = None
    ) -> None:
        """Make a chain of ``n`` states (3 to 10,000).

        Raises:
            ConfigError: ``n`` is out of range.
        """
        super().__init__(ChainEnv(n, render_mode))
        self._length, self._chance = episode_length(n), 1 / n if slip is None else slip
        self._slips = slips(0, self._length, 0.0)
        self._step = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Start an episode; ``seed`` names its chances."""
        number = int(self.np_random.integers(2**31)) if seed is None else seed
        self._slips, self._step = slips(number, self._length, self._chance), 0
        return self.env.reset(seed=seed, options=options)

    def step(
        self, action: int | np.int64
    ) -> tuple[npt.NDArray[np.float32], Any, bool, bool, dict[str, Any]]:
        """Go left (0), or try to go right (1).

        Raises:
            ValueError: The action is neither.
            RuntimeError: The episode is over, or was never started.
        """
        slipped = action == RIGHT and self._step < self._length and self._slips[self._step]
        self._step += 1
        return self.env.step(LEFT if slipped else action)


class StochasticChainBatch:
    """An ``EnvBatch`` of such chains; observations and columns are those of ``ChainBatch``."""

    def __init__(self, n: int, slip: float | None, seeds: Sequence[int]) -> None:
        """Make one chain of ``n`` states a seed.

        Raises:
            ConfigError: ``n`` is out of range.
        """
        self._chains = ChainBatch(n, len(seeds))
        self.spec = replace(self._chains.spec, label=f"stochastic_chain-{n}")
        self._n, self._slip = n, slip
        self._chance = 1 / n if slip is None else slip
        self._seeds = list(seeds)
        self._episode = np.full(len(self._seeds), -1, np.int64)
        self._step = np.zeros(len(self._seeds), np.int64)
        self._slips = np.zeros((len(self._seeds), episode_length(n)), np.bool_)

    def fresh(self, seeds: Sequence[int]) -> "StochasticChainBatch":
        """Return new chains of as many states, one a seed."""
        return StochasticChainBatch(self._n, self._slip, seeds)

    def reset(self, rows: IntArray) -> None:
        """Start a new episode in these rows."""
        for row in rows.tolist():
            self._start(row, int(self._episode[row]) + 1)
        self._chains.reset(rows)

    def observe(self) -> StoredArray:
        """Return the states' numbers, uint16 [S]; 0 in a row that has had no episode yet."""
        return self._chains.observe()

    def step(self, actions: IntArray) -> StepResult:
        """Take one step in every row; ``actions`` [S] are 0 (left) or 1 (right).

        Raises:
            RuntimeError: A row's episode is over, or was never started.
        """
        # A row whose episode is over has no step left to look up; the chains refuse it.
        step = np.minimum(self._step, self._slips.shape[1] - 1)
        slipped = self._slips[np.arange(len(actions)), step]
        self._step += 1
        return self._chains.step(np.where(slipped, LEFT, actions))

    def best_actions(self) -> IntArray:
        """Return the actions [S] of the policy that heads for the last state: right."""
        return np.ones(len(self._seeds), np.int64)

    def extras(self) -> dict[str, BoolArray]:
        """Return what ``ChainBatch.extras`` does."""
        return self._chains.extras()

    def select(self, rows: IntArray) -> None:
        """Keep only these rows, in this order."""
        self._chains.select(rows)
        self._seeds = [self._seeds[row] for row in rows.tolist()]
        self._episode, self._step = self._episode[rows], self._step[rows]
        self._slips = self._slips[rows]

    def state(self, row: int) -> dict[str, Any]:
        """Return the row's episode, which names its chances, its step and the chain's state."""
        return {
            "episode": int(self._episode[row]),
            "step": int(self._step[row]),
            "chain": self._chains.state(row),
        }

    def load_state(self, row: int, state: Mapping[str, Any]) -> None:
        """Put a row where ``state`` was taken."""
        if state["episode"] >= 0:
            self._start(row, state["episode"])
        self._step[row] = state["step"]
        self._chains.load_state(row, state["chain"])

    def close(self) -> None:
        """Do nothing: chains hold no resources."""

    def _start(self, row: int, episode: int) -> None:
        self._episode[row], self._step[row] = episode, 0
        number = episode_seed(self._seeds[row], episode)
        self._slips[row] = slips(number, self._slips.shape[1], self._chance)
