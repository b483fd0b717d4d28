"""The chain on which going right may fail."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdqn_runner.envs import ENV_IDS, ChainBatch, StochasticChainBatch
from vdqn_runner.envs.stochastic_chain import StochasticChainEnv
from vdqn_runner.streams import episode_seed


def test_right_fails_as_often_as_asked_and_left_never():
    n, episodes = 30, 3000
    env = StochasticChainEnv(n, slip=0.3)
    moves = {0: [], 1: []}
    rng = np.random.default_rng(0)
    for seed in range(episodes // 30):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            state, action = info["state"], int(rng.random() < 0.8)
            *_, over, _, info = env.step(action)
            if 1 < state < n:
                moves[action].append(info["state"] - state)
    assert set(moves[0]) == {-1}
    share = np.mean(np.array(moves[1]) == -1)
    assert abs(share - 0.3) < 4 * np.sqrt(0.21 / len(moves[1]))


def test_it_fails_once_in_n_steps_unless_told():
    n = 50
    batch = StochasticChainBatch(n, None, range(400))
    batch.reset(np.arange(400))
    before = batch.observe().astype(int)
    moves = batch.step(np.ones(400, np.int64)).next_obs.astype(int) - before
    assert 0 < np.mean(moves == -1) < 1 / n + 4 * np.sqrt(1 / n / 400)


@pytest.mark.parametrize("n", [3, 8])
def test_without_slips_it_is_the_chain(n):
    ours, chain = StochasticChainBatch(n, 0.0, range(3)), ChainBatch(n, 3)
    rng = np.random.default_rng(n)
    for batch in (ours, chain):
        batch.reset(np.arange(3))
    for _ in range(n + 9):
        actions = rng.integers(0, 2, 3)
        one, two = ours.step(actions), chain.step(actions)
        assert [a.tolist() for a in one] == [a.tolist() for a in two]
        assert {k: v.tolist() for k, v in ours.extras().items()} == {
            k: v.tolist() for k, v in chain.extras().items()
        }
    with pytest.raises(RuntimeError, match="no running episode"):
        ours.step(np.ones(3, np.int64))


@given(
    n=st.integers(3, 12), slip=st.one_of(st.none(), st.floats(0, 1)),
    seeds=st.lists(st.integers(0, 2**63), min_size=1, max_size=3), salt=st.integers(0, 99),
)  # fmt: skip
def test_a_batch_is_environment_by_environment_and_goes_on(n, slip, seeds, salt):
    envs = [StochasticChainEnv(n, slip) for _ in seeds]
    batch = StochasticChainBatch(n, slip, seeds)
    rng = np.random.default_rng(salt)
    for number in range(2):
        batch.reset(np.arange(len(seeds)))
        for env, seed in zip(envs, seeds, strict=True):
            env.reset(seed=episode_seed(seed, number))
        for _ in range(n + 9):
            if rng.random() < 0.2:
                moved = batch.fresh(seeds)
                for row in range(len(seeds)):
                    moved.load_state(row, batch.state(row))
                batch = moved
            actions = (rng.random(len(seeds)) < 0.8).astype(np.int64)
            result = batch.step(actions)
            for row, env in enumerate(envs):
                _, reward, over, _, info = env.step(int(actions[row]))
                assert result.next_obs[row] == info["state"]
                assert result.reward[row] == reward
                assert result.terminated[row] == over


def test_gymnasium_knows_it():
    env = gymnasium.make(ENV_IDS["stochastic_chain"], n=4, slip=1.0)
    env.reset(seed=0)
    assert env.step(1)[4]["state"] == 1
