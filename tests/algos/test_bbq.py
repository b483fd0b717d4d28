"""BBQ networks: divergence, free energy and replay spiking against independent values."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from agents import SIZES, agent, clock, equal_tuples, minibatch, normal, plain_q, set_rows, sigmas
from torch.distributions import Normal, kl_divergence

from vdqn_runner.config import ReplayConfig, build
from vdqn_runner.envs import make_envs
from vdqn_runner.errors import ConfigError
from vdqn_runner.layout import Layout
from vdqn_runner.nets import entropy, kl_to_prior
from vdqn_runner.replay import make_replay
from vdqn_runner.spikes import spike

LAYOUT = Layout(SIZES)


def grown(seeds=(0,), **settings):
    """An agent with wide sigmas whose target differs from its network."""
    algo = agent("bbq", seeds, **settings)
    for i, group in enumerate(("online", "target")):
        mu = normal(len(seeds), LAYOUT.length, seed=i, scale=0.5) * LAYOUT.mask
        rho = (normal(len(seeds), LAYOUT.length, seed=9 + i) - 1.0) * LAYOUT.mask
        set_rows(algo, group, mu=mu, rho=rho)
    return algo


@pytest.mark.parametrize("prior_sigma", [0.1, 1.0, 30.0])
def test_the_divergence_from_the_prior_and_its_gradient_are_those_of_torch(prior_sigma):
    mu = normal(3, LAYOUT.length, seed=1, scale=2.0).requires_grad_()
    sigma = (normal(3, LAYOUT.length, seed=2).abs() * 3 + 1e-2).requires_grad_()
    kl = kl_to_prior(mu, sigma.square(), entropy(sigma, LAYOUT), prior_sigma, LAYOUT)
    real = LAYOUT.mask.bool()
    prior = Normal(*(torch.tensor([value], dtype=torch.float64) for value in (0.0, prior_sigma)))
    plain = [row.detach().double().requires_grad_() for row in (mu, sigma)]
    wanted = kl_divergence(Normal(*(row[:, real] for row in plain)), prior).sum(dim=1)
    torch.testing.assert_close(kl.double(), wanted, rtol=1e-4, atol=1e-3)
    got = torch.autograd.grad(kl.sum(), [mu, sigma])
    exact = torch.autograd.grad(wanted.sum(), plain)
    for one, two in zip(got, exact, strict=True):
        torch.testing.assert_close(one.double(), two, rtol=1e-3, atol=1e-4)
        assert (one[:, ~real] == 0).all()


@pytest.mark.parametrize("double", [False, True])
def test_free_energy_is_that_of_written_out_weights(engine, double):
    size, count = 3000, 40_000
    algo = grown(double=double, noise_sigma=0.5, kl_weight=0.25)
    batch = equal_tuples(1, size, terminal=False)
    found = torch.stack([algo.loss(batch, clock(1)).total.detach() for _ in range(10)]).double()
    online, target = algo.learner.online, algo.learner.target["mu"][0]
    q_next = plain_q(LAYOUT, target, batch.next_obs[0, :1])[0]
    chooser = online["mu"][0].detach() if double else target
    best = plain_q(LAYOUT, chooser, batch.next_obs[0, :1])[0].argmax()
    y = batch.reward[0, 0] + batch.discount[0, 0] * q_next[best]
    torch.manual_seed(0)
    sigma = sigmas(algo, "online")[0]
    theta = Normal(online["mu"][0].detach(), sigma).sample((count,))
    q = plain_q(LAYOUT, theta, batch.obs[0, :1].expand(count, 1, -1))[:, 0, batch.action[0, 0]]
    errors = (q - y).square() / (2 * 0.5**2)
    kl = (kl_divergence(Normal(online["mu"][0].detach(), sigma), Normal(0, 1)) * LAYOUT.mask).sum()
    wanted = size * errors.mean() + 0.25 * kl
    deviation = size * errors.std() * (1 / count + 1 / (10 * size)) ** 0.5
    assert abs(found.mean() - wanted) < 5 * deviation


def test_the_divergence_counts_once_for_all_data():
    """A minibatch of B of N transitions carries B / N of it, unless a schedule says otherwise."""
    batch, algo = minibatch(2, 16), grown((0, 1))
    for held in (16, 64, 1600):
        loss = algo.loss(replace(batch, held=held), clock(2)).reported
        errors = 16 * loss["bellman_error"] / (2 * 0.1**2)
        share = ((loss["loss"] - errors) / loss["kl"]).numpy()
        np.testing.assert_allclose(share, 16 / held, rtol=2e-2)
    falling = {"kind": "linear", "start": 1.0, "end": 0.0, "duration": 10}
    scheduled = grown((0, 1), kl_weight=falling).scheduled(clock(2, step=5))
    assert scheduled["kl_weight"].tolist() == [0.5, 0.5]
    assert algo.scheduled(clock(2)) == {}


def test_a_prior_draws_the_weights_to_itself():
    """Where the likelihood says nothing the posterior goes to the prior."""
    algo = agent("bbq", (0,), prior_sigma=0.3, noise_sigma=1e4, kl_weight=1.0)
    for step in range(2500):
        algo.update(minibatch(1, 4, seed=step), clock(1, step), np.full(1, 0.01))
    real = LAYOUT.mask.bool()
    sigma = sigmas(algo, "online")[0][real]
    torch.testing.assert_close(sigma, torch.full_like(sigma, 0.3), rtol=0.02, atol=0.0)
    assert algo.learner.online["mu"][0].detach()[real].abs().max() < 0.02


def test_acts_by_weights_drawn_anew():
    algo = grown()
    obs = normal(1, 1, 3, seed=4)
    taken = np.array([algo.act(obs, clock(1))[0] for _ in range(4000)])
    torch.manual_seed(0)
    theta = Normal(algo.learner.online["mu"][0].detach(), sigmas(algo, "online")[0])
    q = plain_q(LAYOUT, theta.sample((40_000,)), obs[0].expand(40_000, 1, -1))[:, 0]
    share = float((q.argmax(dim=1) == 1).double().mean())
    assert 0.05 < share < 0.95
    assert abs(taken.mean() - share) < 5 * (share * (1 - share) / 4000) ** 0.5


ENVS = [
    {"kind": "chain", "n": 7},
    {"kind": "stochastic_chain", "n": 7},
    {"kind": "deep_sea", "n": 6},
    {"kind": "deep_sea", "n": 6, "stochastic": True},
]


@pytest.mark.parametrize("env", ENVS, ids=str)
def test_spikes_are_episodes_that_find_the_treasure(env):
    config = build({"episodes": 1, "env": env, "algo": {"name": "bbq"}})
    envs = make_envs(config.env, [3, 4])
    length = envs.spec.max_episode_steps
    replay = make_replay(2, envs.spec, ReplayConfig(), 20)
    spike(replay, envs, [3, 4], 20)
    assert len(replay) == 20 * length
    everything = (np.arange(20 * length) + 0.5) / (20 * length)
    drawn = replay.sample(np.stack([everything] * 2), 0, np.zeros(2, np.int64))
    returns = drawn.reward.reshape(2, 20, length).sum(axis=2)
    assert drawn.terminal.reshape(2, 20, length).sum() == 40
    if env["kind"] == "chain":
        assert (drawn.action == 1).all()
        assert (returns == 11.0).all()
    elif env.get("stochastic"):
        assert 0.1 < (returns > 0.5).mean() < 0.9
    elif env["kind"] == "deep_sea":
        np.testing.assert_allclose(returns, 0.99, rtol=1e-6)
    else:
        assert (returns > 1.0).mean() > 0.3
    alone = make_replay(1, envs.spec, ReplayConfig(), 20)
    spike(alone, envs, [4], 20)
    again = alone.sample(everything[None], 0, np.zeros(1, np.int64))
    assert np.array_equal(again.obs[0], drawn.obs[1])


def test_spikes_where_nobody_knows_the_best_policy_are_refused():
    wrong = {
        "episodes": 1,
        "env": {"kind": "gym", "id": "CartPole-v1"},
        "algo": {"name": "bbq", "spike_episodes": 3},
    }
    with pytest.raises(ConfigError, match="algo.spike_episodes=3: must be 0 on gymnasium"):
        build(wrong)
