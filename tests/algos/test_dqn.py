"""DQN: its loss against torch's, and how often it explores."""

import numpy as np
import pytest
import torch
from agents import SIZES, agent, clock, gradients, minibatch, normal, pick, plain_q
from scipy import stats

from vdqn_runner.layout import Layout

LAYOUT = Layout(SIZES)


def diverged(name="dqn", seeds=(0, 1), **settings):
    """An agent whose target differs from its network."""
    algo = agent(name, seeds, **settings)
    with torch.no_grad():
        algo.learner.target["theta"] += normal(len(seeds), LAYOUT.length, seed=5, scale=0.5)
    return algo


def plain_loss(algo, batch, kind):
    """The loss [S] by plain torch in float64, and its gradient."""
    theta = algo.learner.online["theta"].detach().clone().requires_grad_()
    losses = []
    for k in range(len(batch.obs)):
        q = pick(plain_q(LAYOUT, theta[k], batch.obs[k]), batch.action[k])
        q_next = plain_q(LAYOUT, algo.learner.target["theta"][k], batch.next_obs[k])
        d = batch.reward[k] + batch.discount[k] * q_next.max(dim=1).values
        losses.append(kind(q, d.double()))
    total = torch.stack(losses)
    return total.detach(), torch.autograd.grad(total.sum(), theta)[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("mse", torch.nn.functional.mse_loss), ("huber", torch.nn.functional.huber_loss)],
)
def test_loss_and_gradient_are_torchs(engine, name, kind):
    algo = diverged(loss=name)
    batch = minibatch(2, 32)
    batch.reward[:, ::2] *= 5.0
    total, gradient = plain_loss(algo, batch, kind)
    loss = algo.loss(batch, clock(2))
    torch.testing.assert_close(loss.total.double().detach(), total, rtol=1e-5, atol=1e-6)
    got = gradients(algo, batch)["theta"]
    torch.testing.assert_close(got, gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["mse", "huber"])
def test_reports_the_squared_bellman_error_whatever_the_loss(name):
    algo, batch = diverged(loss=name), minibatch(2, 32)
    expected, _ = plain_loss(algo, batch, torch.nn.functional.mse_loss)
    reported = algo.loss(batch, clock(2)).reported
    assert set(reported) == set(algo.reported)
    torch.testing.assert_close(reported["bellman_error"].double(), expected, rtol=1e-5, atol=1e-6)
    q = torch.stack(
        [
            pick(
                plain_q(LAYOUT, algo.learner.online["theta"].detach()[k], batch.obs[k]),
                batch.action[k],
            )
            for k in range(2)
        ]
    )
    torch.testing.assert_close(reported["q_mean"].double(), q.mean(dim=1), rtol=1e-4, atol=1e-5)


def test_nothing_follows_a_terminal_transition():
    algo = diverged()
    batch = minibatch(2, 16, terminal=True)
    before = algo.loss(batch, clock(2)).total.detach()
    batch.next_obs[:] = 1e3
    assert torch.equal(algo.loss(batch, clock(2)).total.detach(), before)


def test_gamma_zero_leaves_rewards_alone():
    algo, batch = diverged(), minibatch(2, 16, terminal=False, gamma=0.0)
    before = algo.loss(batch, clock(2)).total.detach()
    torch.testing.assert_close(
        algo.loss(minibatch(2, 16, terminal=True), clock(2)).total.detach(), before
    )


def actions(algo, count, obs, at):
    return np.stack([algo.act(obs, at) for _ in range(count)])


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.6, 1.0])
def test_explores_as_often_as_epsilon_says(epsilon):
    """A greedy action comes with 1 - epsilon + epsilon / A, any other with epsilon / A."""
    sizes, count = (3, 6, 5, 4), 8000
    algo = agent("dqn", (0, 1), sizes, epsilon=epsilon)
    obs = normal(2, 1, 3, seed=1)
    taken = actions(algo, count, obs, clock(2))
    for k in range(2):
        theta = algo.learner.online["theta"].detach()[k]
        best = int(plain_q(Layout(sizes), theta, obs[k]).argmax())
        seen = np.bincount(taken[:, k], minlength=4)
        shares = np.full(4, epsilon / 4)
        shares[best] += 1.0 - epsilon
        if epsilon == 0.0:
            assert seen[best] == count
        else:
            assert stats.chisquare(seen, shares * count).pvalue > 1e-3
    if epsilon == 1.0:
        same = (taken[:, 0] == taken[:, 1]).mean()
        assert abs(same - 0.25) < 5 * np.sqrt(0.25 * 0.75 / count)
        again = (taken[1:] == taken[:-1]).mean()
        assert abs(again - 0.25) < 5 * np.sqrt(0.25 * 0.75 / count)


def test_epsilon_follows_its_schedule_for_each_seed():
    schedule = {"kind": "linear", "start": 1.0, "end": 0.0, "duration": 10, "unit": "episodes"}
    algo = agent("dqn", (0, 1), epsilon=schedule)
    at = clock(2)
    at.episodes[:] = [0, 10]
    assert algo.scheduled(at)["epsilon"].tolist() == [1.0, 0.0]
    taken = actions(algo, 1000, normal(2, 1, 3, seed=1), at)
    assert 0.4 < taken[:, 0].mean() < 0.6
    assert len(set(taken[:, 1])) == 1


def test_first_weights_have_the_bounds_of_torchs_linear_layers():
    algo = agent("dqn", (0,), (16, 100, 100, 2))
    layout = Layout((16, 100, 100, 2))
    for layer, (n_in, _) in zip(
        layout.layers(algo.learner.online["theta"].detach()), layout.shapes, strict=True
    ):
        for values in (layer.weight, layer.bias):
            bound = n_in**-0.5
            assert values.abs().max() <= bound
            assert values.numel() < 50 or values.abs().max() > 0.95 * bound
    assert torch.equal(algo.learner.target["theta"], algo.learner.online["theta"])
