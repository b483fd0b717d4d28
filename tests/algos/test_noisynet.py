"""NoisyNet: its expected loss and gradient, and which noise is fresh, shared or absent."""

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
    sampled_errors,
    set_rows,
)
from scipy import stats
from torch.distributions import Normal

from vdqn_runner.layout import Layout

pytestmark = pytest.mark.usefixtures("engine")

LAYOUT = Layout(SIZES)
GROUPS = ("online", "target")
KINDS = {
    "independent": {},
    "independent, per tuple": {"theta_samples": "per_tuple"},
    "factorised": {"noise": "factorised"},
}
EXPLICIT = ["independent", "independent, per tuple"]


def noisy(kind, seeds=(0, 1), sizes=SIZES, scale=0.4, **settings):
    """An agent with wide sigmas, a different one for each weight, and another target."""
    algo = agent("noisynet", seeds, sizes, **KINDS[kind], **settings)
    length = Layout(sizes).length
    for i, group in enumerate(GROUPS):
        mu = normal(1, length, seed=2 * i + 1, scale=scale)
        set_rows(algo, group, mu=mu, sigma=normal(1, length, seed=2 * i + 2, scale=0.3))
    return algo


def reported(algo, batch, column, calls=30):
    values = [algo.loss(batch, clock(len(batch.obs))).reported[column] for _ in range(calls)]
    return torch.stack(values).double()


@pytest.mark.parametrize("kind", KINDS)
def test_without_sigma_no_noise_is_left(kind):
    algo = noisy(kind)
    dqn = agent("dqn", (0, 1))
    for group in GROUPS:
        set_rows(algo, group, sigma=0.0)
        set_rows(dqn, group, theta=getattr(algo.learner, group)["mu"].detach())
    batch = minibatch(2, 16)
    wanted = dqn.loss(batch, clock(2)).total.detach()
    for _ in range(3):
        torch.testing.assert_close(algo.loss(batch, clock(2)).total.detach(), wanted)
    torch.testing.assert_close(
        gradients(algo, batch)["mu"], gradients(dqn, batch)["theta"], rtol=1e-4, atol=1e-5
    )
    obs = normal(2, 1, SIZES[0], seed=8)
    best = plain_q(LAYOUT, algo.learner.online["mu"].detach(), obs)[:, 0].argmax(dim=1)
    for _ in range(30):
        assert algo.act(obs, clock(2)).tolist() == best.tolist()


def explicit_rows(algo):
    """(mu, |sigma|) of the first seed, online and target, in float64."""
    return [
        (rows["mu"][0].detach().double(), rows["sigma"][0].detach().double().abs())
        for rows in (algo.learner.online, algo.learner.target)
    ]


@pytest.mark.parametrize("kind", EXPLICIT)
def test_the_loss_is_the_mean_square_under_explicit_noise(kind):
    algo = noisy(kind, range(400))
    batch = minibatch(400, 6, repeat=True)
    own = kind != "independent"
    errors = sampled_errors(LAYOUT, *explicit_rows(algo), batch, 4000, own, targets=own)
    got = reported(algo, batch, "loss", 10).ravel().numpy()
    assert stats.ks_2samp(got, errors.square().mean(dim=1).numpy()).pvalue > 1e-3


@pytest.mark.parametrize("kind", EXPLICIT)
def test_the_expected_gradient_is_that_of_explicit_noise(kind):
    algo = noisy(kind, range(400))
    batch = minibatch(400, 4, repeat=True)
    got = [gradients(algo, batch) for _ in range(10)]
    (mu, sigma), target = explicit_rows(algo)
    mu.requires_grad_()
    sigma.requires_grad_()
    own = kind != "independent"
    parts = []
    for repeat in range(8):
        errors = sampled_errors(LAYOUT, (mu, sigma), target, batch, 1000, own, repeat, targets=own)
        parts.append(torch.autograd.grad(errors.square().mean(dim=1).mean(), [mu, sigma]))
    sign = algo.learner.online["sigma"][0].detach().sign().double()
    for i, (name, turn) in enumerate([("mu", 1.0), ("sigma", sign)]):
        ours = torch.cat([g[name] for g in got]).double()
        theirs = torch.stack([p[i] for p in parts]) * turn
        assert (ours[:, LAYOUT.mask == 0] == 0).all()
        for direction_seed in range(6):
            direction = normal(LAYOUT.length, seed=direction_seed).double() * LAYOUT.mask
            a, b = (ours @ direction).numpy(), (theirs @ direction).numpy()
            standard_error = np.hypot(a.std() / len(a) ** 0.5, b.std(ddof=1) / len(b) ** 0.5)
            assert abs(a.mean() - b.mean()) < 5.0 * standard_error


@pytest.mark.parametrize("kind", KINDS)
def test_sigma_is_learned(kind):
    algo = noisy(kind)
    gradient = gradients(algo, minibatch(2, 32))["sigma"]
    for layer in LAYOUT.layers(gradient):
        assert (layer.weight != 0).any() and (layer.bias != 0).any()
    assert (gradient[:, LAYOUT.mask == 0] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_update_draws_anew(kind):
    algo, batch = noisy(kind), minibatch(2, 8)
    q = reported(algo, batch, "q_mean", 500)
    assert len(q.unique()) == q.numel()
    for k in range(2):
        assert abs(np.corrcoef(q[1:, k], q[:-1, k])[0, 1]) < 5 / np.sqrt(500)
    assert abs(np.corrcoef(q.T)[0, 1]) < 5 / np.sqrt(500)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_tuples_have_equal_values_under_one_draw(kind):
    """With d = 0 the mean square exceeds the squared mean by the spread over tuples."""
    algo = noisy(kind)
    loss = algo.loss(equal_tuples(2, 64, terminal=True, reward=0.0), clock(2)).reported
    excess = loss["bellman_error"] - loss["q_mean"].square()
    if "tuple" in kind:
        assert (excess > 1e-2).all()
    else:
        torch.testing.assert_close(excess, torch.zeros(2), rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_targets_share_one_draw_or_have_one_each(kind):
    """Only the target is noisy: does the error of 64 equal tuples average the noise out?"""
    algo = noisy(kind, range(60))
    set_rows(algo, "online", sigma=0.0)
    one = reported(algo, equal_tuples(60, 1, terminal=False), "bellman_error").std()
    many = reported(algo, equal_tuples(60, 64, terminal=False), "bellman_error").std()
    assert (one / many).item() == pytest.approx(8.0 if "tuple" in kind else 1.0, rel=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_the_target_does_not_share_the_online_noise(kind):
    """Same rows, same observation, one action, gamma 1: Q - d would vanish under shared noise."""
    sizes = (3, 6, 5, 1)
    algo = noisy(kind, range(100), sizes)
    for name in ("mu", "sigma"):
        set_rows(algo, "target", **{name: algo.learner.online[name].detach()})
    batch = equal_tuples(100, 1, sizes, terminal=False, reward=0.0, gamma=1.0)
    batch.next_obs[:] = batch.obs
    q = reported(algo, batch, "q_mean", 40)
    squares = reported(algo, batch, "bellman_error", 40)
    # Factorised noise has heavy tails, so the mean square is known less well.
    assert squares.mean().item() == pytest.approx(2 * q.var().item(), rel=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_acting_draws_anew_at_every_step(kind):
    count = 3000
    algo = noisy(kind)
    obs = normal(2, 1, SIZES[0], seed=9).abs()
    taken = np.stack([algo.act(obs, clock(2)) for _ in range(count)])
    for k in range(2):
        assert 0.02 < taken[:, k].mean() < 0.98
        assert abs(np.corrcoef(taken[1:, k], taken[:-1, k])[0, 1]) < 5 / np.sqrt(count)
    assert abs(np.corrcoef(taken.T)[0, 1]) < 5 / np.sqrt(count)
    if kind == "factorised":
        return
    torch.manual_seed(0)
    for k in range(2):
        rows = algo.learner.online
        theta = Normal(rows["mu"][k].detach(), rows["sigma"][k].detach().abs()).sample((40_000,))
        chance = (plain_q(LAYOUT, theta, obs[k])[:, 0].argmax(dim=1) == 1).double().mean().item()
        assert abs(taken[:, k].mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / count)


@pytest.mark.parametrize("kind", KINDS)
def test_resample_episode_keeps_one_draw_for_an_episode(kind):
    algo = noisy(kind, resample="episode")
    obs = normal(2, 1, SIZES[0], seed=9).abs()
    first = []
    for episode in range(100):
        algo.begin_episodes(np.array([0, 1]), clock(2, episodes=episode))
        first.append(algo.act(obs, clock(2)))
        for _ in range(3):
            assert (algo.act(obs, clock(2)) == first[-1]).all()
    for k in range(2):
        assert len({actions[k] for actions in first}) == 2


def test_factorised_q_values_have_factorised_noise():
    """A linear network at the origin sees the biases' noise alone: signed roots of normals."""
    sizes, count = (3, 2), 1200
    algo = agent("noisynet", range(count), sizes, noise="factorised")
    for group in GROUPS:
        set_rows(algo, group, mu=0.0, sigma=1.0)
    batch = minibatch(count, 1, sizes, terminal=True, reward=0.0)
    batch.obs[:] = 0.0
    q = algo.loss(batch, clock(count)).reported["q_mean"].numpy()
    result = stats.kstest(q, lambda y: stats.norm.cdf(np.sign(y) * np.square(y)))
    assert result.pvalue > 1e-3


@pytest.mark.parametrize("noise", ["independent", "factorised"])
def test_starts_from_the_usual_rows(noise):
    sizes = (16, 100, 100, 2)
    algo = agent("noisynet", (0,), sizes, noise=noise)
    layout = Layout(sizes)
    online = {k: v.detach() for k, v in algo.learner.online.items()}
    for mu, sigma, (n_in, _) in zip(
        layout.layers(online["mu"]), layout.layers(online["sigma"]), layout.shapes, strict=True
    ):
        if noise == "independent":
            bound, width, of_bias = (3.0 / n_in) ** 0.5, 0.017, 0.0
        else:
            bound, width, of_bias = n_in**-0.5, 0.5 / n_in**0.5, n_in**-0.5
        assert 0.95 * bound < mu.weight.abs().max() <= bound
        assert mu.bias.abs().max() <= of_bias
        for values in (sigma.weight, sigma.bias):
            torch.testing.assert_close(values, torch.full_like(values, width))


def test_loss_has_no_entropy_term():
    algo = noisy("independent")
    loss = algo.loss(minibatch(2, 8), clock(2))
    assert torch.equal(loss.total.detach(), loss.reported["bellman_error"])
    assert algo.scheduled(clock(2)) == {}


def test_terminal_and_reward_by_hand_without_noise():
    algo = noisy("independent")
    for group in GROUPS:
        set_rows(algo, group, sigma=0.0)
    batch = minibatch(2, 8, terminal=True)
    q = pick(plain_q(LAYOUT, algo.learner.online["mu"].detach(), batch.obs), batch.action)
    expected = (q - batch.reward).square().mean(dim=1)
    got = algo.loss(batch, clock(2)).total.detach().double()
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
