"""An environment whose observations are long: its replay is what takes memory."""

import gymnasium
import numpy as np

SIZE, STEPS = 5000, 100


class Wide(gymnasium.Env):
    """A hundred steps through a wide space."""

    observation_space = gymnasium.spaces.Box(-1, 1, (SIZE,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.when = 0
        return self._observation(), {}

    def step(self, action):
        self.when += 1
        return self._observation(), 1.0, False, False, {}

    def _observation(self):
        return np.full(SIZE, self.when / STEPS, np.float32)


gymnasium.register("Wide-v0", Wide, max_episode_steps=STEPS)
