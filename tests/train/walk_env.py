"""An environment of ten steps that gets into trouble on demand, in whichever process it runs.

The environment variable ``WALK`` says what happens when a seed's episode begins: for instance
``fail 1 3`` for seed 1's fourth episode; ``slowly`` and ``speak`` are for all. Rewards and
observations do not depend on it.
"""

import logging
import os
import signal
import time
import warnings

import gymnasium
import numpy as np

from vdqn_runner.streams import episode_seed

ID = "walk_env:Walk-v0"
STEPS = 10


class Walk(gymnasium.Env):
    """A walk on the line; the reward is where it stands."""

    observation_space = gymnasium.spaces.Box(-STEPS, STEPS, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.where, self.when = float(self.np_random.uniform(-1, 1)), 0
        words = os.environ.get("WALK", "").split()
        if words == ["speak"]:
            speak()
        elif len(words) > 2 and seed == episode_seed(int(words[1]), int(words[2])):
            TROUBLE[words[0]](*words[3:])
        return self._observation(), {}

    def step(self, action):
        if os.environ.get("WALK") == "slowly":
            time.sleep(0.02)
        self.where += 2.0 * float(action) - 1.0
        self.when += 1
        return self._observation(), self.where, False, self.when == STEPS, {}

    def _observation(self):
        return np.array([self.where, self.when], np.float32)


def fail():
    raise ArithmeticError("the walker\nstumbled")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def signal_parent(number, pid):
    """Send the parent a signal, and go on once it has passed it on."""
    told = []
    noted = signal.getsignal(signal.SIGTERM)

    def note(*arguments):
        noted(*arguments)
        told.append(True)

    signal.signal(signal.SIGTERM, note)
    os.kill(int(pid), int(number))
    while not told:
        time.sleep(0.01)


def hang_and_signal_parent(number, pid):
    """Never go on, and send the parent a signal a second."""
    while True:
        os.kill(int(pid), int(number))
        time.sleep(1)


def speak():
    """At every episode."""
    warnings.warn("the path is wet", UserWarning, stacklevel=1)
    logging.getLogger("walk").warning("the walker is %s", "tired")


TROUBLE = {
    trouble.__name__: trouble for trouble in (fail, die, signal_parent, hang_and_signal_parent)
}

gymnasium.register("Walk-v0", entry_point=Walk, disable_env_checker=True)
