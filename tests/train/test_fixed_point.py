"""Learning reaches the fixed point of the Bellman operator, computed exactly beside it.

The agents see a state and no clock, so with the horizon as a terminal transition the chain has
no Q* of the state alone; and with gamma = 1 its inner states, between which an agent may go to
and fro at no cost, allow every large constant as a fixed point. So gamma is below 1 here, where
two things are well defined:

- With every (state, action) pair of the chain once in a minibatch and no terminals the fixed
  point is Q* of the chain without an end, by plain value iteration.
- Through the training loop, squared errors over the replay have as fixed point that of the
  *empirical* operator: Q(s, a) is the mean, over the stored transitions from (s, a), of
  r + gamma max Q(s') where the transition was not terminal, and r where it was. Value iteration
  over the counts in the very same replay gives it.

Networks are as small as a table for five states. Values of noisy agents are those of mu.
"""

import numpy as np
import pytest
import torch
from running import config

from vdqn_runner.algos import make_algorithm
from vdqn_runner.algos.base import Batch, Clock, Context
from vdqn_runner.layout import Layout
from vdqn_runner.train import Lockstep

N = 5
SETTINGS = {
    # The maximum over noisy targets lifts values, so the posterior is kept narrow.
    "vdqn": {"lam": 1e-6, "sigma_init": 0.005},
    "vdqn, theta for a minibatch": {
        "lam": 1e-6,
        "sigma_init": 0.005,
        "theta_samples": "per_batch",
    },
    "dqn": {},
    "noisynet": {"sigma_init": 0.005},
}
THERMOMETER = np.tril(np.ones((N, N), np.float32))


def step(state, action):
    """(reward, next state) of the chain, states from 1 (paper, appendix "Chain MDP")."""
    reward = {1: 1 / 1000, N: 1.0}.get(state, 0.0)
    return reward, state if state in (1, N) else state + (1 if action else -1)


PAIRS = [(state, action) for state in range(1, N + 1) for action in (0, 1)]


def value_iteration(rewards, follows, discounts, sweeps=3000):
    """Q [N, 2] with Q = rewards + discounts * max Q(follows), each [N, 2]."""
    q = np.zeros((N, 2))
    for _ in range(sweeps):
        q = rewards + discounts * q.max(axis=1)[follows]
    return q


def mean_values(algo, layout):
    """Q [S, N, 2] of the parameters without noise, written out."""
    rows = algo.learner.online
    row = next(rows[name] for name in ("theta", "mu") if name in rows).detach().double()
    h = torch.from_numpy(THERMOMETER).double().expand(len(row), N, N)
    parts = list(zip(layout.shapes, layout.weight_at, layout.bias_at, strict=True))
    for i, ((n_in, n_out), at_w, at_b) in enumerate(parts):
        weight = row[:, at_w : at_w + n_in * n_out].reshape(-1, n_in, n_out)
        h = h @ weight + row[:, None, at_b : at_b + n_out]
        if i < len(parts) - 1:
            h = torch.relu(h)
    return h.numpy()


@pytest.mark.parametrize("name", SETTINGS)
def test_all_transitions_give_the_chains_exact_values(name):
    gamma, seeds = 0.9, [0, 1]
    layout = Layout([N, 40, 2])
    settings = {"lr": 3e-3, "network": {"hidden": [40]}} | SETTINGS[name]
    algo = make_algorithm(
        config("unused", algo=name.split(",")[0], settings=settings).algo,
        Context(seeds, layout),
    )
    outcomes = [step(*pair) for pair in PAIRS]

    def spread(values, dtype=torch.float32):
        tensor = torch.as_tensor(np.array(values)).to(dtype)
        return tensor.expand(len(seeds), *tensor.shape).contiguous()

    batch = Batch(
        obs=spread([state for state, _ in PAIRS], torch.int32),
        action=spread([action for _, action in PAIRS], torch.int64),
        reward=spread([reward for reward, _ in outcomes]),
        discount=spread(np.full(len(PAIRS), gamma)),
        next_obs=spread([after for _, after in outcomes], torch.int32),
        weight=spread(np.ones(len(PAIRS))),
        number=np.tile(np.arange(len(PAIRS)), (len(seeds), 1)),
        held=len(PAIRS),
    )
    rate = 3e-3
    for update in range(1, 2801):
        # The last updates take ever smaller steps, to settle.
        rate *= 0.994 if update > 2000 else 1.0
        algo.update(batch, Clock(update, np.zeros(2)), np.full(2, rate))
        if update % 40 == 0:
            algo.learner.copy_target()
            algo.target_changed()
    exact = value_iteration(
        np.array([reward for reward, _ in outcomes]).reshape(N, 2),
        np.array([after - 1 for _, after in outcomes]).reshape(N, 2),
        np.full((N, 2), gamma),
    )
    assert exact[N - 1, 0] == pytest.approx(1.0 / (1.0 - gamma))
    learned = mean_values(algo, layout)
    np.testing.assert_allclose(learned, np.stack([exact] * 2), atol=0.03 * exact.max())
    inner = slice(1, N - 1)
    assert (learned.argmax(axis=2)[:, inner] == exact.argmax(axis=1)[inner]).all()


def empirical(batch, row, gamma):
    """(rewards, follows, discounts) [N, 2] of the transitions that a seed's replay holds."""
    held = len(batch.replay)
    uniform = np.tile((np.arange(held) + 0.5) / held, (len(batch.seeds), 1))
    drawn = batch.replay.sample(uniform, batch.step, batch.episodes)
    rewards, discounts = np.zeros((N, 2)), np.zeros((N, 2))
    follows = np.zeros((N, 2), np.int64)
    for state, action in PAIRS:
        here = (drawn.obs[row] == state) & (drawn.action[row] == action)
        assert here.any()
        (after,) = set(drawn.next_obs[row][here].tolist())
        rewards[state - 1, action] = drawn.reward[row][here].mean()
        discounts[state - 1, action] = gamma * (1.0 - drawn.terminal[row][here].mean())
        follows[state - 1, action] = after - 1
    return rewards, follows, discounts


def test_the_loop_reaches_the_fixed_point_of_its_own_data(tmp_path):
    """DQN on what a uniform policy, which tries every pair, has put into the replay."""
    collect, updates = 1500, 3000
    points = [[collect, 5e-3], [collect + 1500, 5e-3], [collect + updates, 1e-4]]
    settings = {
        "epsilon": 1.0,
        "lr": {"kind": "piecewise", "points": points},
        "batch_size": 128,
        "target_period": 25,
        "learning_starts": collect,
        "network": {"hidden": [40]},
    }
    env = {"kind": "chain", "n": N, "gamma": 0.9}
    batch = Lockstep(config(tmp_path, env=env, algo="dqn", settings=settings, episodes=200), [0, 1])
    while batch.step < collect:
        batch.begin_episodes()
        ended = batch.advance()
        batch.learn()
        batch.episodes[ended] += 1
        batch.starting[ended] = True
    # From here on the data stay as they are.
    for _ in range(updates):
        batch.step += 1
        batch.learn()
    learned = mean_values(batch.algo, Layout([N, 40, 2]))
    for row in range(2):
        exact = value_iteration(*empirical(batch, row, 0.9))
        # Ends make state N worth less than the 10 of a chain without an end.
        assert 4.0 < exact[N - 1].max() < 9.0
        np.testing.assert_allclose(learned[row], exact, atol=0.04 * exact.max())
        inner = slice(1, N - 1)
        assert (learned[row].argmax(axis=1)[inner] == exact.argmax(axis=1)[inner]).all()
