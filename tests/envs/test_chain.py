"""The chain as a gymnasium environment, against the paper's numbers and value iteration."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from vdqn_runner.envs import ChainEnv
from vdqn_runner.envs.chain import ENV_ID
from vdqn_runner.errors import ConfigError

SIZES = [3, 4, 5, 8, 10, 33, 100]


def probe(n, state, action):
    """Walk to ``state`` from a fresh start, take ``action``, and return (reward, next state)."""
    env = ChainEnv(n)
    env.reset()
    walk = [0] if state == 1 else [1] * (state - 2)
    for step in walk:
        env.step(step)
    observation, reward, *_ = env.step(action)
    return reward, int(observation.sum())


def rollout(n, policy):
    """Return the rewards of one whole episode."""
    env = ChainEnv(n)
    env.reset()
    rewards, terminated = [], False
    while not terminated:
        _, reward, terminated, truncated, _ = env.step(policy(len(rewards)))
        assert not truncated
        rewards.append(reward)
    return rewards


@pytest.mark.parametrize("n", SIZES)
def test_value_iteration_over_the_horizon_gives_eleven(n):
    model = {(s, a): probe(n, s, a) for s in range(1, n + 1) for a in (0, 1)}
    value = dict.fromkeys(range(1, n + 1), 0.0)
    for _ in range(n + 9):
        value = {s: max(r + value[nxt] for r, nxt in (model[s, a] for a in (0, 1))) for s in value}
    assert value[2] == 11.0
    assert sum(rollout(n, lambda t: 1)) == 11.0


@pytest.mark.parametrize("n", [*SIZES, 10_000])
def test_returns_of_the_two_constant_policies(n):
    left, right = rollout(n, lambda t: 0), rollout(n, lambda t: 1)
    assert len(left) == len(right) == n + 9
    assert sum(left) == pytest.approx((n + 8) / 1000)
    assert right == [0.0] * (n - 2) + [1.0] * 11


def test_ends_are_absorbing_and_reward_is_that_of_the_state_left():
    assert [probe(5, s, 0) for s in range(1, 6)] == [(0.001, 1), (0, 1), (0, 2), (0, 3), (1, 5)]
    assert [probe(5, s, 1) for s in range(1, 6)] == [(0.001, 1), (0, 3), (0, 4), (0, 5), (1, 5)]


def test_observation_is_a_thermometer():
    env = ChainEnv(4)
    observation, info = env.reset()
    assert observation.dtype == np.float32
    seen = {info["state"]: observation.tolist()}
    for action in (1, 1):
        observation, _, _, _, info = env.step(action)
        seen[info["state"]] = observation.tolist()
    env.reset()
    observation, _, _, _, info = env.step(0)
    seen[info["state"]] = observation.tolist()
    assert seen == {1: [1, 0, 0, 0], 2: [1, 1, 0, 0], 3: [1, 1, 1, 0], 4: [1, 1, 1, 1]}


@pytest.mark.parametrize("n", [3, 50])
def test_passes_the_checker_of_gymnasium_without_warnings(n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ENV_ID, n=n, render_mode="ansi")
        check_env(env.unwrapped)


def test_render_draws_one_line_with_the_state_marked():
    env = ChainEnv(5, render_mode="ansi")
    env.reset()
    assert env.render() == "1 |-o---| 5  state 2, step 0"
    env.step(1)
    assert env.render() == "1 |--o--| 5  state 3, step 1"
    assert ChainEnv(5).render() is None


@pytest.mark.parametrize("walk", [[], [0], [1] * 998])
def test_render_of_a_long_chain_is_short_and_marks_both_ends(walk):
    env = ChainEnv(1000, render_mode="ansi")
    env.reset()
    for action in walk:
        env.step(action)
    strip = env.render().split("|")[1]
    assert len(strip) == 60
    assert strip.index("o") == (59 if len(walk) > 1 else 0)


@pytest.mark.parametrize("n", [-1, 2, 10_001])
def test_impossible_sizes_are_refused_with_one_line(n):
    with pytest.raises(ConfigError, match=rf"^env\.n={n}: .*3 to 10000 states$"):
        ChainEnv(n)


def test_steps_outside_an_episode_and_unknown_actions_raise():
    env = ChainEnv(3)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)
    env.reset()
    with pytest.raises(ValueError, match="2"):
        env.step(2)
    for _ in range(12):
        env.step(0)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)


def test_import_registers_the_chain_and_leaves_torch_out():
    program = (
        "import sys, gymnasium, vdqn_runner.envs\n"
        "assert 'torch' not in sys.modules\n"
        "print(gymnasium.make('vdqn_runner/Chain-v0', n=50).observation_space.shape)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "(50,)\n"), done.stderr
