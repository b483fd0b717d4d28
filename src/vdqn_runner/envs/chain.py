"""The chain MDP of section "Chain MDP" (Osband et al., 2016), as a gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from vdqn_runner.envs.chain_strip import strip
from vdqn_runner.errors import ConfigError

ENV_ID = "vdqn_runner/Chain-v0"
START = 2
LEFT, RIGHT = 0, 1
REWARD_FIRST, REWARD_LAST = 0.001, 1.0

_SMALLEST, _LARGEST = 3, 10_000
_STRIP_WIDTH = 60


def check_size(n: int) -> None:
    """Raise ConfigError unless a chain of ``n`` states is allowed."""
    if not _SMALLEST <= n <= _LARGEST:
        raise ConfigError(f"env.n={n}: a chain has {_SMALLEST} to {_LARGEST} states")


def episode_length(n: int) -> int:
    """Return the number of steps in every episode of the chain of ``n`` states."""
    return n + 9


class ChainEnv(gymnasium.Env[npt.NDArray[np.float32], int | np.int64]):
    """A walk on states 1 .. n which pays little on the left and much on the far right.

    An episode starts in state 2 and lasts n + 9 steps. Action 0 goes left and 1 goes right, both
    without fail; states 1 and n cannot be left. A step pays the reward of the state that it is
    taken *from*: 0.001 in state 1, 1 in state n, 0 elsewhere. The horizon is part of the problem,
    so the last step is ``terminated``, not ``truncated``.

    The best return is n + 9 - (n - 2) = 11, and going left at once gives (n + 8) / 1000. Osband
    et al. (2016) count 10 for the same chain, because they stop counting one step earlier.

    The observation is the thermometer of the state, float32 [n]; ``info["state"]`` is its number.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 20}

    def __init__(self, n: int = 10, render_mode: str | None = None) -> None:
        """Make a chain of ``n`` states (3 to 10,000).

        Raises:
            ConfigError: ``n`` is out of range.
        """
        check_size(n)
        self.n = n
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (n,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self._state = START
        self._left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Start an episode in state 2; nothing is random."""
        super().reset(seed=seed, options=options)
        self._state = START
        self._left = episode_length(self.n)
        return self._observation(), {"state": self._state}

    def step(
        self, action: int | np.int64
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Go left (0) or right (1).

        Raises:
            ValueError: The action is neither.
            RuntimeError: The episode is over, or was never started.
        """
        if action not in (LEFT, RIGHT):
            raise ValueError(f"action {action!r}: 0 (left) or 1 (right)")
        if self._left == 0:
            raise RuntimeError("step() without a running episode: call reset() first")
        reward = {1: REWARD_FIRST, self.n: REWARD_LAST}.get(self._state, 0.0)
        if 1 < self._state < self.n:
            self._state += 1 if action == RIGHT else -1
        self._left -= 1
        return self._observation(), reward, self._left == 0, False, {"state": self._state}

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Return the chain as one line of at most 60 cells or as a picture; None without a mode."""
        step = episode_length(self.n) - self._left
        text = f"state {self._state}, step {step}"
        if self.render_mode == "rgb_array":
            return strip(self.n, self._state, text)
        if self.render_mode is None:
            return None
        cells = ["-"] * min(self.n, _STRIP_WIDTH)
        cells[(self._state - 1) * len(cells) // self.n] = "o"
        return f"1 |{''.join(cells)}| {self.n}  {text}"

    def _observation(self) -> npt.NDArray[np.float32]:
        return (np.arange(1, self.n + 1) <= self._state).astype(np.float32)
