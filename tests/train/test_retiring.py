"""Seeds leave a batch in any order, at any step, and a kill may come in between."""

import functools

import gymnasium
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import Stop, broken_off, logs, run

ID = "test_retiring:Whim-v0"


class Whim(gymnasium.Env):
    """Episodes of a length that only their seed decides: 1 to 12 steps, some cut by no limit."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(1, 13))
        self.cut = bool(self.np_random.random() < 0.5)
        return self._observation(), {}

    def step(self, action):
        self.left -= 1
        over = self.left == 0
        reward = float(action) - 1.0 + self.left
        return self._observation(), reward, over and not self.cut, over and self.cut, {}

    def _observation(self):
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)


gymnasium.register("Whim-v0", entry_point="test_retiring:Whim")

SETTINGS = {
    "env": {"kind": "gym", "id": ID},
    "settings": {"learning_starts": 20, "batch_size": 4, "network": {"hidden": [5]}},
    "episodes": 11,
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The logs of one seed trained by itself, by algorithm and seed."""

    @functools.cache
    def trained(algo, seed):
        out = tmp_path_factory.mktemp("alone")
        return logs(run(out, algo=algo, seed=seed, n_seeds=1, **SETTINGS))[seed]

    return trained


@pytest.mark.parametrize("algo", ["vdqn", "dqn", "noisynet"])
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    first=st.integers(0, 6),
    n_seeds=st.integers(2, 6),
    every=st.integers(3, 40),
    at=st.lists(st.integers(2, 70), max_size=2),
)
def test_logs_are_those_of_a_seed_alone(
    alone, monkeypatch, tmp_path_factory, algo, first, n_seeds, every, at
):
    out = tmp_path_factory.mktemp("together")
    asked = {"algo": algo, "seed": first, "n_seeds": n_seeds, "checkpoint_every": every}
    for step in sorted(at):
        with broken_off(monkeypatch, step):
            try:
                run(out, **asked, **SETTINGS)
            except Stop:
                continue
    found = logs(run(out, **asked, **SETTINGS))
    assert {len(seed.episodes.splitlines()) for seed in found.values()} == {1 + 11}
    for seed, bytes_ in found.items():
        assert bytes_ == alone(algo, seed)
