"""A combination lock: a chain on which the right action differs from state to state.

``vdqn-run env=gym env.id=lock:Lock10-v0`` imports this module, which registers the environments,
wherever it can be imported: in a folder of PYTHONPATH, or installed.
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

SIZES = (5, 10, 20)


class Lock(gymnasium.Env[npt.NDArray[np.float32], np.int64]):
    """N dials, of which each has two positions.

    The right one leads to the next dial, the wrong one back to the first. Opening the last dial
    pays 1 and ends the episode; nothing else pays. The combination depends on N alone.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, n: int = 10, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (n,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self._combination = np.random.default_rng(n).integers(2, size=n)
        self._dial = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Start at the first dial; what is random in an environment must come from ``seed``."""
        super().reset(seed=seed)
        self._dial = 0
        return self._observation(), {}

    def step(
        self, action: np.int64
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Turn the dial to 0 or 1."""
        right = action == self._combination[self._dial]
        self._dial = self._dial + 1 if right else 0
        opened = self._dial == len(self._combination)
        return self._observation(), float(opened), opened, False, {}

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Return a row of dials, the present one dark; only ``vdqn-play`` asks for it."""
        if self.render_mode is None:
            return None
        row = np.full((1, len(self._combination), 3), 220, np.uint8)
        row[0, min(self._dial, len(self._combination) - 1)] = (0, 114, 178)
        return row.repeat(32, axis=0).repeat(32, axis=1)

    def _observation(self) -> npt.NDArray[np.float32]:
        return (np.arange(len(self._combination)) == self._dial).astype(np.float32)


for size in SIZES:
    gymnasium.register(
        id=f"Lock{size}-v0",
        entry_point="lock:Lock",
        kwargs={"n": size},
        max_episode_steps=3 * size,
    )
