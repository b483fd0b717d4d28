"""Deep sea against what bsuite's own does (scripts/bsuite_episodes.py), and against chance."""

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdqn_runner.envs import ENV_IDS, DeepSeaBatch
from vdqn_runner.envs.deep_sea import DeepSeaEnv, right_actions
from vdqn_runner.errors import ConfigError
from vdqn_runner.streams import episode_seed

BSUITE = json.loads((Path(__file__).parent / "bsuite_deep_sea.json").read_text())["episodes"]


def episode(env, actions, seed=0):
    """Play; return the rewards and the columns after each step, None below the bottom."""
    env.reset(seed=seed)
    rewards, columns = [], []
    for action in actions:
        obs, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        columns.append((info["state"] - 1) % env.unwrapped.n if info["state"] else None)
        assert not truncated
        assert np.flatnonzero(obs).tolist() == ([info["state"] - 1] if info["state"] else [])
    assert terminated
    return rewards, columns


def ways_right(n, mapping_seed=42):
    """The actions of the dive that always goes right."""
    return [int(right_actions(n, mapping_seed)[row, row]) for row in range(n)]


@pytest.mark.parametrize("n", [2, 10, 50])
def test_only_the_dive_to_the_right_pays(n):
    env = DeepSeaEnv(n)
    rewards, columns = episode(env, ways_right(n))
    assert sum(rewards) == pytest.approx(0.99)
    assert rewards[:-1] == [-0.01 / n] * (n - 1)
    assert columns == [*range(1, n), None]
    wrong = ways_right(n)
    wrong[0] = 1 - wrong[0]
    assert sum(episode(env, wrong)[0]) <= 0


@pytest.mark.parametrize("theirs", BSUITE, ids=lambda e: f"{e['size']}-{e['rewards'][-1]:.3f}")
def test_a_calm_sea_is_bsuites(theirs):
    n, mapping_seed = theirs["size"], theirs["mapping_seed"]
    table = ["".join(map(str, row)) for row in right_actions(n, mapping_seed).tolist()]
    assert table == theirs["right"]
    env = DeepSeaEnv(n, mapping_seed=mapping_seed)
    obs, _ = env.reset(seed=0)
    cells = [np.flatnonzero(obs).tolist()]
    for action, reward, last in zip(
        theirs["actions"], theirs["rewards"], theirs["last"], strict=True
    ):
        obs, *rest = env.step(action)
        assert rest[:2] == [reward, last]
        cells.append(np.flatnonzero(obs).tolist())
    assert [cell[0] if cell else None for cell in cells] == theirs["cells"]


def test_a_stochastic_sea_is_bsuites_in_distribution():
    """The share of dives that stay on the way, and the noise at both ends."""
    n, episodes = 4, 20_000
    env = DeepSeaEnv(n, stochastic=True)
    right = ways_right(n)
    wrong = [1 - int(right_actions(n, 42)[row, 0]) for row in range(n)]
    dives = [episode(env, right, seed) for seed in range(episodes)]
    there = np.array([columns[-2] == n - 1 for _, columns in dives])
    chance = (1 - 1 / n) ** (n - 1)
    assert abs(there.mean() - chance) < 4 * np.sqrt(chance / episodes)
    last = np.array([rewards[-1] for rewards, _ in dives])
    assert np.allclose(last[~there & (np.array([c[-2] for _, c in dives]) != 0)], -0.01 / n)
    for values, mean in (
        (last[there], 1 - 0.01 / n),
        (np.array([episode(env, wrong, seed)[0][-1] for seed in range(episodes)]), 0.0),
    ):
        assert abs(values.mean() - mean) < 4 / np.sqrt(len(values))
        assert abs(values.std() - 1) < 4 / np.sqrt(len(values))


@given(
    n=st.integers(2, 12), stochastic=st.booleans(), mapping=st.integers(0, 2**32 - 1),
    seeds=st.lists(st.integers(0, 2**63), min_size=1, max_size=4), salt=st.integers(0, 99),
)  # fmt: skip
def test_a_batch_is_environment_by_environment(n, stochastic, mapping, seeds, salt):
    envs = [DeepSeaEnv(n, stochastic, mapping) for _ in seeds]
    batch = DeepSeaBatch(n, stochastic, mapping, seeds)
    rng = np.random.default_rng(salt)
    rows = np.arange(len(seeds))
    for number in range(2):
        batch.reset(rows)
        for env, seed in zip(envs, seeds, strict=True):
            env.reset(seed=episode_seed(seed, number))
        found = np.zeros(len(seeds), bool)
        for _ in range(n):
            right = right_actions(n, mapping)
            cells = batch.observe().astype(int) - 1
            best = right[cells // n, cells % n]
            actions = np.where(rng.random(len(seeds)) < 0.8, best, 1 - best)
            found |= (cells % n == n - 1) & (actions == best)
            result = batch.step(actions)
            for row, env in enumerate(envs):
                _, reward, over, _, info = env.step(int(actions[row]))
                assert result.next_obs[row] == info["state"]
                assert result.reward[row] == reward
                assert result.terminated[row] == over
        assert batch.extras()["found"].tolist() == found.tolist()


@given(cut=st.integers(0, 25), stochastic=st.booleans(), salt=st.integers(0, 99))
def test_a_row_goes_on_from_its_state(cut, stochastic, salt):
    n, seeds = 6, [3, 4]
    rng = np.random.default_rng(salt)
    actions = rng.integers(0, 2, (4 * n, 2))

    def play(batch, steps):
        told = []
        for step in steps:
            if step % n == 0:
                batch.reset(np.arange(2))
            result = batch.step(actions[step])
            told.append([column.tolist() for column in (*result, batch.extras()["found"])])
        return told

    whole = DeepSeaBatch(n, stochastic, 42, seeds)
    expected = play(whole, range(4 * n))
    cut = min(cut, 4 * n - 1)
    first, second = DeepSeaBatch(n, stochastic, 42, seeds), DeepSeaBatch(n, stochastic, 42, seeds)
    play(first, range(cut))
    for row in range(2):
        second.load_state(row, first.state(row))
    assert second.observe().tolist() == first.observe().tolist()
    assert play(second, range(cut, 4 * n)) == expected[cut:]


def test_rows_that_stay_are_as_they_were():
    batch = DeepSeaBatch(5, True, 42, [1, 2, 3])
    batch.reset(np.arange(3))
    other = DeepSeaBatch(5, True, 42, [3, 1])
    other.reset(np.arange(2))
    batch.select(np.array([2, 0]))
    for _ in range(5):
        one, two = (b.step(np.array([1, 0])) for b in (batch, other))
        assert [a.tolist() for a in one] == [a.tolist() for a in two]
    with pytest.raises(RuntimeError, match="no running episode"):
        batch.step(np.array([0, 0]))


def test_gymnasium_knows_it():
    env = gymnasium.make(ENV_IDS["deep_sea"], n=3, render_mode="ansi")
    env.reset(seed=1)
    assert env.render() == "o..\n...\n..."
    with pytest.raises(ConfigError, match="2 to 100"):
        DeepSeaEnv(1)
    with pytest.raises(ValueError, match="0 or 1"):
        DeepSeaEnv(3).step(2)
    with pytest.raises(RuntimeError, match="reset"):
        DeepSeaEnv(3).step(1)
