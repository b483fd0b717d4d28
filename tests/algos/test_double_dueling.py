"""Double targets, dueling heads and weights of transitions, against formulas in plain torch."""

import numpy as np
import pytest
import torch
from agents import (
    SIZES,
    agent,
    clock,
    equal_tuples,
    gradients,
    minibatch,
    normal,
    pick,
    plain_q,
    set_rows,
    sigmas,
)
from torch.distributions import Normal

from vdqn_runner.layout import Layout
from vdqn_runner.nets import gaussian_mlp, mlp

QUIET = {"vdqn": {"rho": -80.0}, "noisynet": {"sigma": 0.0}, "dqn": {}}
FIRST = {"vdqn": "mu", "noisynet": "mu", "dqn": "theta"}


def plain_values(layout, theta, x):
    """Q-values by the formula, heads included, in float64."""
    outputs = plain_q(layout, theta, x)
    if not layout.dueling:
        return outputs
    value, advantage = outputs[..., :1], outputs[..., 1:]
    return value + advantage - advantage.sum(dim=-1, keepdim=True) / advantage.shape[-1]


def quiet(name, **settings):
    """An agent without noise whose target differs from its network."""
    algo = agent(name, (0, 1), **settings)
    length = algo._layout.length
    for i, group in enumerate(("online", "target")):
        rows = getattr(algo.learner, group)[FIRST[name]].detach()
        noise = normal(2, length, seed=i, scale=0.4) * algo._layout.mask
        set_rows(algo, group, **{FIRST[name]: rows + noise}, **QUIET[name])
    return algo


def plain_errors(algo, name, batch):
    """(errors Q - d [S, B], the parameters) with targets by the formulas, in float64."""
    layout, config = algo._layout, algo._config
    theta = algo.learner.online[FIRST[name]].detach().double().requires_grad_()
    target = algo.learner.target[FIRST[name]].double()
    errors = []
    for k in range(len(batch.obs)):
        q = pick(plain_values(layout, theta[k], batch.obs[k]), batch.action[k])
        q_next = plain_values(layout, target[k], batch.next_obs[k])
        chooser = theta[k].detach() if config.double else target[k]
        best = plain_values(layout, chooser, batch.next_obs[k]).argmax(dim=1)
        errors.append(q - (batch.reward[k] + batch.discount[k] * pick(q_next, best)))
    return torch.stack(errors), theta


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("name", ["dqn", "noisynet", "vdqn"])
def test_loss_errors_and_gradient_are_those_of_the_formulas(engine, name, double, dueling):
    algo = quiet(name, double=double, network={"dueling": dueling})
    batch = minibatch(2, 32)
    batch.weight[:] = torch.from_numpy(np.random.default_rng(5).random((2, 32))) + 0.1
    errors, theta = plain_errors(algo, name, batch)
    weighted = (batch.weight * errors.square()).sum(dim=1)
    # Of VDQN, the part of the loss that moves mu: 1 / lambda times the sum.
    total = weighted / 0.02 if name == "vdqn" else weighted / 32
    (gradient,) = torch.autograd.grad(total.sum(), theta)
    loss = algo.loss(batch, clock(2))
    torch.testing.assert_close(loss.errors.double(), errors.detach(), rtol=1e-4, atol=1e-4)
    got = gradients(algo, batch)[FIRST[name]].double()
    torch.testing.assert_close(got, gradient, rtol=1e-3, atol=1e-3 * float(gradient.abs().max()))
    mean = errors.detach().square().mean(dim=1)
    torch.testing.assert_close(loss.reported["bellman_error"].double(), mean, rtol=1e-4, atol=1e-4)
    if name != "vdqn":
        torch.testing.assert_close(
            loss.total.detach().double(), total.detach(), rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("name", ["dqn", "noisynet", "vdqn"])
def test_double_targets_choose_otherwise(name):
    """Or the tests of them would say nothing."""
    batch = minibatch(2, 32)
    one, two = (quiet(name, double=double).loss(batch, clock(2)).errors for double in (False, True))
    assert 3 < (one != two).sum() < 64 - 3
    # The target's own best action has the largest value: Q - d can only grow.
    assert (two >= one - 1e-6).all()


@pytest.mark.parametrize("per", ["per_tuple", "per_batch"])
@pytest.mark.parametrize("name", ["vdqn", "noisynet"])
def test_double_targets_of_sampled_networks(engine, name, per):
    """E[Q - d] by writing three independent weight samples out: theta, theta^- and the chooser."""
    settings = {"theta_samples": per, "double": True}
    algo = agent(name, (0,), **settings)
    layout, size = Layout(SIZES), 4000
    for i, group in enumerate(("online", "target")):
        mu = normal(1, layout.length, seed=i, scale=0.5)
        spread = {"rho": -1.0} if name == "vdqn" else {"sigma": 0.3}
        set_rows(algo, group, mu=mu, **spread)
    batch = equal_tuples(1, size, terminal=False)
    draws = [algo.loss(batch, clock(1)).errors[0] for _ in range(60 if per == "per_batch" else 5)]
    # Of NoisyNet per minibatch every tuple has the same noise.
    own_targets = name == "vdqn" or per == "per_tuple"
    found = torch.stack(draws).double()
    found = found.flatten() if own_targets and per == "per_tuple" else found.mean(dim=1)
    torch.manual_seed(0)
    count = 60_000

    def sampled(group, x):
        rows = getattr(algo.learner, group)["mu"][0].detach()
        theta = Normal(rows, sigmas(algo, group)[0]).sample((count,))
        return plain_q(layout, theta, x[0, :1].expand(count, 1, -1))[:, 0]

    q = sampled("online", batch.obs)[:, batch.action[0, 0]]
    chosen = sampled("online", batch.next_obs).argmax(dim=1)
    q_next = pick(sampled("target", batch.next_obs), chosen)
    wanted = q - batch.reward[0, 0] - batch.discount[0, 0] * q_next
    deviation = (found.var() / len(found) + wanted.var() / count) ** 0.5
    assert abs(found.mean() - wanted.mean()) < 5 * deviation


def test_a_duel_gives_values_whose_advantages_have_mean_zero(engine):
    layout = Layout((3, 6, 5, 4), dueling=True)
    assert layout.sizes == (3, 6, 5, 5) and layout.n_actions == 4
    rows, x = normal(2, layout.length, scale=0.5), normal(2, 7, 3, seed=1)
    q = mlp(rows, layout, x)
    for k in range(2):
        wanted = plain_values(layout, rows[k], x[k])
        torch.testing.assert_close(q[k].double(), wanted, rtol=1e-4, atol=1e-4)
        # The mean over actions is the value, the first output.
        value = plain_q(layout, rows[k], x[k])[:, 0]
        torch.testing.assert_close(q[k].double().mean(dim=1), value, rtol=1e-4, atol=1e-4)


def test_heads_are_cut_one_after_another(engine):
    plain = Layout((3, 6, 6))
    layout = Layout((3, 6, 2), heads=3)
    assert layout.sizes == plain.sizes
    rows, x = normal(2, layout.length, scale=0.5), normal(2, 7, 3, seed=1)
    assert torch.equal(mlp(rows, layout, x), mlp(rows, plain, x))
    duel = Layout((3, 6, 2), heads=2, dueling=True)
    outputs = mlp(rows, plain, x)
    q = duel.values(outputs)
    for head in range(2):
        value, one, two = (outputs[..., 3 * head + i] for i in range(3))
        torch.testing.assert_close(q[..., 2 * head], value + (one - two) / 2)
        torch.testing.assert_close(q[..., 2 * head + 1], value + (two - one) / 2)


@pytest.mark.parametrize("sizes", [(3, 6, 5, 2), (4, 20, 3), (17, 16, 48, 33, 3)])
@pytest.mark.parametrize("states", [False, True])
def test_gradients_of_all_outputs_are_numeric_ones(engine, sizes, states):
    """By random directions: (L(rows + h v) - L(rows - h v)) / 2 h in float64 by plain torch."""
    layout = Layout(sizes, dueling=True)
    mu = normal(2, layout.length, seed=1, scale=0.4)
    x = normal(2, 9, sizes[0], seed=3)
    given = x
    if states:
        given = torch.from_numpy(np.random.default_rng(0).integers(0, sizes[0] + 1, (2, 9)))
        given = given.to(torch.int32)
        x = (torch.arange(sizes[0]) < given.unsqueeze(-1)).float()
    weights = normal(2, 9, sizes[-1], seed=4)
    rows = mu.clone().requires_grad_()
    (gradient,) = torch.autograd.grad((mlp(rows, layout, given) * weights).sum(), rows)

    def total(rows):
        parts = [(plain_values(layout, rows[k], x[k]) * weights[k]).sum() for k in range(2)]
        return torch.stack(parts).sum()

    exact = torch.autograd.functional.jvp
    for seed in range(3):
        v = normal(2, layout.length, seed=20 + seed).double()
        _, slope = exact(total, mu.double(), v)
        got = (gradient.double() * v).sum()
        assert float(got) == pytest.approx(float(slope), rel=1e-3, abs=1e-2)


def test_gaussian_gradients_of_all_outputs_are_those_of_written_out_noise(engine):
    """Given the noise of every unit the network is a plain function of mu and variance."""
    layout = Layout((3, 6, 5, 2), heads=2, dueling=True)
    mu = normal(2, layout.length, seed=1, scale=0.4)
    variance = normal(2, layout.length, seed=2, scale=0.3).square() + 0.01
    x, weights = normal(2, 9, 3, seed=3), normal(2, 9, 4, seed=4)
    eps = normal(2, 9 * layout.n_units, seed=5)
    rows = [mu.clone().requires_grad_(), variance.clone().requires_grad_()]
    q = gaussian_mlp(*rows, layout, x, eps)
    got = torch.autograd.grad((q * weights).sum(), rows)
    plain = [row.detach().double().requires_grad_() for row in rows]
    h, noise = x.double(), layout.split_units(eps.double(), 9)
    means, variances = layout.layers(plain[0]), layout.layers(plain[1])
    for i in range(3):
        std = (h.square() @ variances[i].weight + variances[i].bias).sqrt()
        h = h @ means[i].weight + means[i].bias + std * noise[i]
        h = torch.relu(h) if i < 2 else h
    value = layout.values(h)
    torch.testing.assert_close(q.double(), value, rtol=1e-4, atol=1e-4)
    wanted = torch.autograd.grad((value * weights).sum(), plain)
    for one, two in zip(got, wanted, strict=True):
        torch.testing.assert_close(one.double(), two, rtol=1e-3, atol=1e-3)
