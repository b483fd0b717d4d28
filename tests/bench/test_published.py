"""The published procedure, against the paper's formulas written out in NumPy."""

import numpy as np
import pytest
import torch

from scripts.bench import published
from scripts.bench.published import Agent, Posterior, kl, q_values, targets
from scripts.bench.work import BATCH, Contestant

SIZES = (3, 4, 5, 2)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def numpy_q(theta, j, x):
    """Q-values of network ``j`` of ``theta`` at one observation, in float64."""
    layers = [layer[j].detach().double().numpy() for layer in theta]
    h = np.asarray(x, np.float64)
    for i in range(0, len(layers), 2):
        h = h @ layers[i] + layers[i + 1]
        if i < len(layers) - 2:
            h = np.maximum(h, 0.0)
    return h


def test_a_network_is_drawn_as_mu_plus_softplus_of_rho_times_a_standard_normal():
    posterior = Posterior(SIZES, generator(1))
    with torch.no_grad():
        for rho in posterior.rho:
            rho += torch.randn(rho.shape, generator=generator(2))
    draws = posterior.draw(4000)
    for mu, rho, drawn in zip(posterior.mu, posterior.rho, draws, strict=True):
        sigma = np.log1p(np.exp(rho.detach().double().numpy()))
        z = (drawn.detach().double().numpy() - mu.detach().double().numpy()) / sigma
        # Five standard errors of a mean and of a variance.
        assert np.abs(z.mean(axis=0)).max() < 5 / 4000**0.5
        assert np.abs(z.var(axis=0) - 1.0).max() < 5 * (2 / 4000) ** 0.5


def test_each_tuple_has_a_target_network_of_its_own():
    posterior = Posterior(SIZES, generator(3))
    with torch.no_grad():
        for rho in posterior.rho:
            rho.fill_(0.5)
    x = torch.tensor([0.3, -1.0, 2.0])
    reward = torch.arange(6.0)
    terminal = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    posterior._generator.manual_seed(4)
    theta = posterior.draw(6)
    posterior._generator.manual_seed(4)
    d = targets(posterior, reward, terminal, x.repeat(6, 1), 0.9)
    expected = [
        j + (0.9 * numpy_q(theta, j, x).max() if terminal[j] == 0.0 else 0.0) for j in range(6)
    ]
    np.testing.assert_allclose(d.numpy(), expected, rtol=1e-5)
    # The same next observation, so one network for all would add the same to every reward.
    bootstrapped = (d - reward)[terminal == 0.0]
    assert len(bootstrapped.unique()) == 5


def test_the_loss_is_the_kl_divergence_with_one_theta_for_the_minibatch():
    posterior = Posterior(SIZES, generator(5))
    theta = posterior.draw(1)
    obs = torch.randn(7, 3, generator=generator(6))
    action = torch.tensor([0, 1, 1, 0, 1, 0, 0])
    d = torch.randn(7, generator=generator(7))
    q = np.array([numpy_q(theta, 0, x)[a] for x, a in zip(obs, action, strict=True)])
    sigmas = [np.log1p(np.exp(rho.detach().double().numpy())) for rho in posterior.rho]
    entropy = sum(np.log(sigma).sum() for sigma in sigmas)
    expected = ((q - d.numpy()) ** 2).sum() / (2 * 0.1**2) - entropy
    assert kl(posterior, theta, obs, action, d).item() == pytest.approx(expected, rel=1e-5)


def test_acting_draws_anew_at_every_step():
    agent = Agent(SIZES, 1.0)
    with torch.no_grad():
        for rho in agent.online.rho:
            rho.fill_(3.0)
    assert {agent.act(np.array([1.0, -1.0, 0.5])) for _ in range(60)} == {0, 1}


def test_updates_fit_the_rewards_of_terminal_steps():
    agent = Agent((2, 16, 16, 2), 0.99)
    observations = np.eye(2, dtype=np.float32)
    rewards = np.array([[0.5, -0.5], [-1.0, 1.0]])
    for i in range(BATCH):
        s, a = i % 2, i // 2 % 2
        agent.store(observations[s], a, rewards[s, a], True, observations[s])
    for _ in range(600):
        agent.update()
    means = [mu.detach().unsqueeze(0) for mu in agent.online.mu]
    q = q_values(means, torch.from_numpy(observations).unsqueeze(0))[0]
    np.testing.assert_allclose(q.numpy(), rewards, atol=0.1)


def test_a_target_is_copied_every_100_steps_and_learning_starts_at_500(monkeypatch):
    updates, copies = [], []
    advance = published.make(Contestant("published", "chain-10", "vdqn", width=8))
    monkeypatch.setattr(Agent, "update", lambda agent: updates.append(agent.count))
    monkeypatch.setattr(Posterior, "copy_from", lambda mine, its: copies.append(len(updates)))
    advance(700)
    assert updates == list(range(500, 701))
    assert copies == [0, 0, 0, 0, 1, 101, 201]
