"""Deep sea (Osband et al., 2019), as bsuite defines it, as a gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from vdqn_runner.envs.spec import IntArray
from vdqn_runner.errors import ConfigError

ENV_ID = "vdqn_runner/DeepSea-v0"
MOVE_COST = 0.01
TREASURE = 1.0

_SMALLEST, _LARGEST = 2, 100
_PICTURE = 400  # pixels a side, about
_DIVER, _WATER = (213, 94, 0), (222, 235, 247)


def check_size(n: int) -> None:
    """Raise ConfigError unless a sea of ``n`` by ``n`` cells is allowed."""
    if not _SMALLEST <= n <= _LARGEST:
        raise ConfigError(f"env.n={n}: a deep sea is {_SMALLEST} to {_LARGEST} cells deep")


def right_actions(n: int, mapping_seed: int) -> IntArray:
    """Return which action goes right in each cell, [n, n] of 0 and 1 (the other one goes left).

    The numbers are those of bsuite for the same ``mapping_seed``.
    """
    drawn = np.random.RandomState(mapping_seed).binomial(1, 0.5, (n, n))
    return drawn.astype(np.int64)


def chances(number: int, n: int) -> tuple[npt.NDArray[np.float64], float]:
    """Return what is random in an episode: a uniform number for each step, [n], and a normal.

    ``number`` (0 or more) names the episode.
    """
    stream = np.random.Generator(np.random.SFC64(number))
    return stream.random(n), float(stream.standard_normal())


class DeepSeaEnv(gymnasium.Env[npt.NDArray[np.float32], int | np.int64]):
    """A dive through a square of n by n cells, from the left end of the surface to the bottom.

    Every step goes one row down and one column to the left or to the right (not beyond the sides),
    so an episode has n steps, and the last is ``terminated``. Which action goes right differs from
    cell to cell, by a table drawn once. Going right costs 0.01 / n. Going right in the last column,
    which only n - 1 steps to the right lead to, pays 1: the best return is 0.99, and a random
    policy earns it once in 2^n episodes.

    In a ``stochastic`` sea, going right fails with probability 1 / n (the column stays), and the
    last step of an episode pays a standard normal on top where it begins in the first or the last
    column.

    The observation is the cell as a one-hot code, float32 [n * n], row after row; below the bottom
    it is 0. ``info["state"]`` is the cell's number: 1 + row * n + column, 0 below the bottom.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}

    def __init__(
        self,
        n: int = 10,
        stochastic: bool = False,
        mapping_seed: int = 42,
        render_mode: str | None = None,
    ) -> None:
        """Make a sea of ``n`` by ``n`` cells (2 to 100).

        Raises:
            ConfigError: ``n`` is out of range.
        """
        check_size(n)
        self.n, self.stochastic = n, stochastic
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (n * n,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self._right = right_actions(n, mapping_seed)
        self._row, self._column = n, 0
        self._winds, self._gift = chances(0, n)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Start an episode at the left end of the surface; ``seed`` names its chances."""
        super().reset(seed=seed, options=options)
        number = int(self.np_random.integers(2**31)) if seed is None else seed
        self._winds, self._gift = chances(number, self.n)
        self._row = self._column = 0
        return self._observation(), self._info()

    def step(
        self, action: int | np.int64
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Dive to the next row.

        Raises:
            ValueError: The action is neither 0 nor 1.
            RuntimeError: The episode is over, or was never started.
        """
        if action not in (0, 1):
            raise ValueError(f"action {action!r}: 0 or 1")
        if self._row == self.n:
            raise RuntimeError("step() without a running episode: call reset() first")
        last = self.n - 1
        reward = 0.0
        if self.stochastic and self._row == last and self._column in (0, last):
            reward += self._gift
        if action == self._right[self._row, self._column]:
            reward += TREASURE if self._column == last else 0.0
            reward -= MOVE_COST / self.n
            if not self.stochastic or self._winds[self._row] >= 1 / self.n:
                self._column = min(self._column + 1, last)
        else:
            self._column = max(self._column - 1, 0)
        self._row += 1
        return self._observation(), reward, self._row == self.n, False, self._info()

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Return the sea as lines of text or as a picture; None without a mode."""
        if self.render_mode is None:
            return None
        here = np.zeros((self.n, self.n), np.bool_)
        if self._row < self.n:
            here[self._row, self._column] = True
        if self.render_mode == "ansi":
            return "\n".join("".join(".o"[cell] for cell in row) for row in here.astype(int))
        side = max(_PICTURE // self.n, 4)
        colours = np.where(here[..., None], _DIVER, _WATER).astype(np.uint8)
        return colours.repeat(side, axis=0).repeat(side, axis=1)

    def _info(self) -> dict[str, Any]:
        over = self._row == self.n
        return {"state": 0 if over else 1 + self._row * self.n + self._column}

    def _observation(self) -> npt.NDArray[np.float32]:
        observation = np.zeros(self.n * self.n, np.float32)
        if self._row < self.n:
            observation[self._row * self.n + self._column] = 1.0
        return observation
