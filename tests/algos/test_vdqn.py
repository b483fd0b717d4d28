"""VDQN: its objective against torch.distributions, its limits, and where its noise is fresh."""

import math

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
    sigmas,
    unpacked,
)
from scipy import stats
from torch.distributions import Normal

from vdqn_runner.layout import Layout

pytestmark = pytest.mark.usefixtures("engine")

LAYOUT = Layout(SIZES)
REPLICAS = 400
KINDS = ["per_tuple", "per_batch"]


def wide(seeds=(0, 1), sigma_init=0.3, **settings):
    """An agent with wide sigmas, a different one for each weight, and another target."""
    algo = agent("vdqn", seeds, sigma_init=sigma_init, **settings)
    length = LAYOUT.length
    set_rows(
        algo,
        "online",
        mu=normal(1, length, seed=1, scale=0.4),
        rho=normal(1, length, seed=2, scale=0.5) - 1.0,
    )
    set_rows(
        algo,
        "target",
        mu=normal(1, length, seed=3, scale=0.4),
        rho=normal(1, length, seed=4, scale=0.5) - 1.0,
    )
    return algo


def without_noise(seeds=(0, 1), **settings):
    algo = wide(seeds, **settings)
    for group in ("online", "target"):
        set_rows(algo, group, rho=-200.0)
    return algo


def entropy_of(sigma):
    """Entropy of normals with these deviations [P], less its constant, padding left out."""
    parts = [part for pair in unpacked(LAYOUT, sigma) for part in pair]
    total = sum(Normal(torch.zeros_like(p), p).entropy().sum() for p in parts)
    return total.item() - LAYOUT.n_parameters / 2 * math.log(2 * math.pi * math.e)


# The limit sigma = 0.


@pytest.mark.parametrize("theta_samples", KINDS)
def test_without_noise_the_update_is_dqns_with_a_summed_loss(theta_samples):
    lam, size = 0.5, 32
    algo = without_noise(lam=lam, theta_samples=theta_samples)
    dqn = agent("dqn", (0, 1))
    set_rows(dqn, "online", theta=algo.learner.online["mu"].detach())
    set_rows(dqn, "target", theta=algo.learner.target["mu"])
    batch = minibatch(2, size)
    got, like = gradients(algo, batch)["mu"], gradients(dqn, batch)["theta"]
    torch.testing.assert_close(got * lam, like * size, rtol=1e-4, atol=1e-4)
    direction = torch.nn.functional.cosine_similarity(got, like)
    assert (direction > 0.99999).all()

    mu = algo.learner.online["mu"].detach().clone().requires_grad_()
    for k in range(2):
        best = plain_q(LAYOUT, algo.learner.target["mu"][k], batch.next_obs[k]).amax(dim=1)
        d = batch.reward[k] + batch.discount[k] * best
        error = pick(plain_q(LAYOUT, mu[k], batch.obs[k]), batch.action[k]) - d
        (plain,) = torch.autograd.grad(error.square().sum(), mu)
        torch.testing.assert_close(got[k] * lam, plain[k], rtol=1e-4, atol=1e-4)
        reported = algo.loss(batch, clock(2)).reported["bellman_error"][k].item()
        assert reported == pytest.approx(error.square().mean().item(), rel=1e-4)


@pytest.mark.parametrize("theta_samples", KINDS)
def test_without_noise_acts_as_greedily_as_dqn(theta_samples):
    algo = without_noise(theta_samples=theta_samples)
    obs = normal(2, 1, SIZES[0], seed=8)
    best = plain_q(LAYOUT, algo.learner.online["mu"].detach(), obs)[:, 0].argmax(dim=1)
    for _ in range(50):
        assert algo.act(obs, clock(2)).tolist() == best.tolist()


# The objective.


def paper_surrogate(algo, batch, per_tuple, lam, count=4000):
    """E[sum_j error_j^2] - lam H of paper eq. 5: (samples of the first term, the second)."""
    rows = {g: (getattr(algo.learner, g)["mu"][0].detach(), sigmas(algo, g)[0]) for g in GROUPS}
    errors = sampled_errors(
        LAYOUT, rows["online"], rows["target"], batch, count, per_tuple
    ).detach()
    return errors.square().sum(dim=1).numpy(), lam * entropy_of(rows["online"][1])


GROUPS = ("online", "target")


@pytest.mark.parametrize("theta_samples", KINDS)
@pytest.mark.parametrize("lam", [0.02, 3.0])
def test_the_loss_is_the_papers_kl_and_surrogate(theta_samples, lam):
    """Means over fresh noise against explicit samples; eq. 5 is lambda times eq. 6."""
    algo = wide(range(REPLICAS), theta_samples=theta_samples, lam=lam)
    batch = minibatch(REPLICAS, 6, repeat=True)
    first, second = paper_surrogate(algo, batch, theta_samples == "per_tuple", lam)
    losses = [algo.loss(batch, clock(REPLICAS)) for _ in range(10)]
    total = torch.cat([loss.total.detach() for loss in losses]).double().numpy()
    surrogate = torch.cat([loss.reported["surrogate"] for loss in losses]).double().numpy()
    bellman = torch.cat([loss.reported["bellman_error"] for loss in losses]).double().numpy()
    np.testing.assert_allclose(total * lam, surrogate, rtol=1e-4, atol=1e-3)
    h = losses[0].reported["entropy"].double().numpy()
    np.testing.assert_allclose(h * lam, second, rtol=1e-4)
    np.testing.assert_allclose(surrogate, bellman * 6 - second, rtol=1e-3, atol=1e-3)
    standard_error = np.hypot(first.std() / len(first) ** 0.5, surrogate.std() / len(total) ** 0.5)
    assert abs(surrogate.mean() - (first.mean() - second)) < 4.5 * standard_error


@pytest.mark.parametrize("theta_samples", KINDS)
def test_the_loss_has_the_spread_of_its_noise(theta_samples):
    """The law of one loss, and not its mean alone, is that of explicit samples."""
    algo = wide(range(REPLICAS), theta_samples=theta_samples)
    batch = minibatch(REPLICAS, 6, repeat=True)
    first, _ = paper_surrogate(algo, batch, theta_samples == "per_tuple", 0.0)
    sums = [6 * algo.loss(batch, clock(REPLICAS)).reported["bellman_error"] for _ in range(10)]
    assert stats.ks_2samp(torch.cat(sums).numpy(), first).pvalue > 1e-3


@pytest.mark.parametrize("theta_samples", KINDS)
def test_the_expected_gradient_is_the_kls(theta_samples):
    """Along random directions, against reparameterised explicit samples and the entropy's own."""
    lam, size, count = 0.5, 4, 1000
    algo = wide(range(REPLICAS), theta_samples=theta_samples, lam=lam)
    batch = minibatch(REPLICAS, size, repeat=True)
    got = [gradients(algo, batch) for _ in range(10)]
    mu = algo.learner.online["mu"][0].detach().double().requires_grad_()
    rho = algo.learner.online["rho"][0].detach().double().requires_grad_()
    sigma = torch.log1p(torch.exp(rho))
    target = (algo.learner.target["mu"][0], sigmas(algo, "target")[0])
    parts = []
    for repeat in range(10):
        errors = sampled_errors(
            LAYOUT, (mu, sigma), target, batch, count, theta_samples == "per_tuple", repeat
        )
        kl = errors.square().sum(dim=1).mean() / lam - (LAYOUT.mask * sigma.log()).sum()
        parts.append(torch.autograd.grad(kl, [mu, rho], retain_graph=True))
    for i, name in enumerate(("mu", "rho")):
        ours = torch.cat([g[name] for g in got]).double()
        theirs = torch.stack([p[i] for p in parts])
        assert (ours[:, LAYOUT.mask == 0] == 0).all()
        for direction_seed in range(6):
            direction = normal(LAYOUT.length, seed=direction_seed).double() * LAYOUT.mask
            a, b = (ours @ direction).numpy(), (theirs @ direction).numpy()
            standard_error = np.hypot(a.std() / len(a) ** 0.5, b.std(ddof=1) / len(b) ** 0.5)
            assert abs(a.mean() - b.mean()) < 5.0 * standard_error


def test_sigma_noise_is_a_tenth_at_the_usual_lambda():
    """Eq. 6 with sigma_noise = 0.1: the squared errors are divided by 2 * 0.1^2."""
    algo = without_noise(lam=0.02)
    batch = minibatch(2, 8)
    loss = algo.loss(batch, clock(2))
    kl = 8 * loss.reported["bellman_error"] / (2 * 0.1**2) - loss.reported["entropy"]
    torch.testing.assert_close(loss.total.detach(), kl, rtol=1e-4, atol=1e-3)


def test_lambda_zero_is_the_summed_bellman_error():
    algo = wide(lam=0.0)
    batch = minibatch(2, 8)
    loss = algo.loss(batch, clock(2))
    torch.testing.assert_close(loss.total.detach(), 8 * loss.reported["bellman_error"])
    torch.testing.assert_close(loss.total.detach(), loss.reported["surrogate"])
    for gradient in gradients(algo, batch).values():
        assert torch.isfinite(gradient).all()


def test_lambda_follows_its_schedule_for_each_seed():
    schedule = {"kind": "piecewise", "points": [[0, 1.0], [10, 0.0]], "unit": "episodes"}
    algo = without_noise(lam=schedule)
    at = clock(2)
    at.episodes[:] = [5, 10]
    assert algo.scheduled(at)["lam"].tolist() == [0.5, 0.0]
    reported = algo.loss(minibatch(2, 8), at).reported
    squares = 8 * reported["bellman_error"]
    torch.testing.assert_close(
        reported["surrogate"], squares - torch.tensor([0.5, 0.0]) * reported["entropy"]
    )


def test_the_entropy_alone_widens_every_sigma():
    """Where the error's gradient vanishes (no input, no noise), d KL / d rho = -sigmoid / sigma."""
    algo = wide(lam=0.5)
    batch = minibatch(2, 4, terminal=True, reward=0.0)
    batch.obs[:] = 0.0
    set_rows(algo, "online", mu=0.0)
    rho = algo.learner.online["rho"].detach()
    weights = LAYOUT.layers(gradients(algo, batch)["rho"])[0].weight
    expected = -torch.sigmoid(rho) / torch.nn.functional.softplus(rho)
    torch.testing.assert_close(weights, LAYOUT.layers(expected)[0].weight, rtol=1e-4, atol=0.0)


@pytest.mark.parametrize("theta_samples", KINDS)
@pytest.mark.parametrize("rho", [-200.0, -50.0, 50.0])
def test_rho_far_out_gives_finite_losses_and_gradients(rho, theta_samples):
    algo = wide(lam=0.02, theta_samples=theta_samples)
    for group in GROUPS:
        set_rows(algo, group, rho=rho)
    loss = algo.loss(minibatch(2, 8), clock(2))
    assert torch.isfinite(loss.total).all()
    for gradient in gradients(algo, minibatch(2, 8)).values():
        assert torch.isfinite(gradient).all()


# Which noise is fresh, and which is shared.


def test_acting_samples_a_fresh_theta_at_every_step():
    """Actions come as often as explicit samples say, one after another independently."""
    count = 4000
    algo = wide()
    obs = normal(2, 1, SIZES[0], seed=9).abs()
    taken = np.stack([algo.act(obs, clock(2)) for _ in range(count)])
    torch.manual_seed(0)
    for k in range(2):
        theta = Normal(algo.learner.online["mu"][k].detach(), sigmas(algo, "online")[k]).sample(
            (40_000,)
        )
        chance = (plain_q(LAYOUT, theta, obs[k])[:, 0].argmax(dim=1) == 1).double().mean().item()
        assert 0.05 < chance < 0.95
        spread = np.sqrt(chance * (1 - chance) / count)
        assert abs(taken[:, k].mean() - chance) < 5 * spread
        lagged = np.corrcoef(taken[1:, k], taken[:-1, k])[0, 1]
        assert abs(lagged) < 5 / np.sqrt(count)
    assert abs(np.corrcoef(taken.T)[0, 1]) < 5 / np.sqrt(count)


def test_resample_episode_keeps_one_theta_for_an_episode():
    algo = wide(resample="episode")
    obs = normal(2, 1, SIZES[0], seed=9).abs()
    several = [normal(2, 1, SIZES[0], seed=s).abs() for s in range(20, 30)]
    episodes = 600
    first, policies = [], set()
    for episode in range(episodes):
        algo.begin_episodes(np.array([0, 1]), clock(2, episodes=episode))
        first.append(algo.act(obs, clock(2)))
        assert (algo.act(obs, clock(2)) == first[-1]).all()
        policies.add(tuple(algo.act(o, clock(2))[0] for o in several))
    assert len(policies) > 10
    taken = np.stack(first)
    torch.manual_seed(0)
    for k in range(2):
        theta = Normal(algo.learner.online["mu"][k].detach(), sigmas(algo, "online")[k]).sample(
            (40_000,)
        )
        chance = (plain_q(LAYOUT, theta, obs[k])[:, 0].argmax(dim=1) == 1).double().mean().item()
        assert abs(taken[:, k].mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / episodes)
    assert abs(np.corrcoef(taken.T)[0, 1]) < 5 / np.sqrt(episodes)


def test_resample_episode_leaves_other_seeds_theta_alone():
    algo = wide(resample="episode")
    obs = normal(2, 1, SIZES[0], seed=9).abs()
    algo.begin_episodes(np.array([0, 1]), clock(2))
    kept = algo.act(obs, clock(2))[0]
    others = []
    for episode in range(1, 40):
        algo.begin_episodes(np.array([1]), clock(2, episodes=episode))
        action = algo.act(obs, clock(2))
        assert action[0] == kept
        others.append(action[1])
    assert len(set(others)) == 2


def test_resample_episode_holds_its_theta_through_updates():
    algo = wide(resample="episode")
    obs = normal(2, 1, SIZES[0], seed=9).abs()
    algo.begin_episodes(np.array([0, 1]), clock(2))
    before = algo.act(obs, clock(2))
    set_rows(algo, "online", mu=-algo.learner.online["mu"].detach())
    assert (algo.act(obs, clock(2)) == before).all()


def spread_of(algo, batch, column, calls=30):
    """Standard deviation of a reported figure over seeds and calls."""
    values = [algo.loss(batch, clock(len(batch.obs))).reported[column] for _ in range(calls)]
    assert len(torch.cat(values).unique()) > 0.9 * calls * len(batch.obs)
    return torch.cat(values).double().std().item()


@pytest.mark.parametrize(("theta_samples", "ratio"), [("per_tuple", 8.0), ("per_batch", 1.0)])
def test_one_theta_for_each_tuple_or_one_for_all(theta_samples, ratio):
    """64 equal tuples: the spread of their mean Q shrinks by sqrt(64), or not at all."""
    algo = wide(range(60), theta_samples=theta_samples)
    one = spread_of(algo, equal_tuples(60, 1, terminal=True, reward=0.0), "q_mean")
    many = spread_of(algo, equal_tuples(60, 64, terminal=True, reward=0.0), "q_mean")
    assert one / many == pytest.approx(ratio, rel=0.15)


@pytest.mark.parametrize("theta_samples", KINDS)
def test_equal_tuples_have_equal_values_only_under_one_theta(theta_samples):
    """With d = 0 the mean square exceeds the squared mean by the spread over tuples."""
    algo = wide(theta_samples=theta_samples)
    reported = algo.loss(equal_tuples(2, 64, terminal=True, reward=0.0), clock(2)).reported
    excess = reported["bellman_error"] - reported["q_mean"].square()
    if theta_samples == "per_batch":
        torch.testing.assert_close(excess, torch.zeros(2), rtol=0.0, atol=1e-4)
    else:
        assert (excess > 1e-2).all()


@pytest.mark.parametrize("theta_samples", KINDS)
def test_targets_have_a_theta_of_their_own_for_each_tuple(theta_samples):
    """Only the target is noisy: the error of 64 equal tuples averages the target's noise out."""
    algo = wide(range(60), theta_samples=theta_samples)
    set_rows(algo, "online", rho=-200.0)
    one = spread_of(algo, equal_tuples(60, 1, terminal=False), "bellman_error")
    many = spread_of(algo, equal_tuples(60, 64, terminal=False), "bellman_error")
    assert one / many == pytest.approx(8.0, rel=0.15)


@pytest.mark.parametrize("theta_samples", KINDS)
def test_targets_do_not_share_the_online_noise(theta_samples):
    """Same rows, same observation, one action, gamma 1: Q - d vanishes under shared noise.

    Under independent noise its variance is twice that of Q.
    """
    sizes = (3, 6, 5, 1)
    algo = agent("vdqn", range(100), sizes, sigma_init=0.5, theta_samples=theta_samples)
    layout = Layout(sizes)
    for group in GROUPS:
        set_rows(algo, group, mu=normal(1, layout.length, seed=1, scale=0.4))
    batch = equal_tuples(100, 1, sizes, terminal=False, reward=0.0, gamma=1.0)
    batch.next_obs[:] = batch.obs
    reported = [algo.loss(batch, clock(100)).reported for _ in range(40)]
    q = torch.cat([r["q_mean"] for r in reported]).double()
    squares = torch.cat([r["bellman_error"] for r in reported]).double()
    assert squares.mean().item() == pytest.approx(2 * q.var().item(), rel=0.15)


def test_every_update_draws_anew():
    algo, batch = wide(), minibatch(2, 8)
    q = torch.stack([algo.loss(batch, clock(2)).reported["q_mean"] for _ in range(500)]).double()
    assert len(q.unique()) == q.numel()
    for k in range(2):
        assert abs(np.corrcoef(q[1:, k], q[:-1, k])[0, 1]) < 5 / np.sqrt(500)
    assert abs(np.corrcoef(q.T)[0, 1]) < 5 / np.sqrt(500)


def test_starts_from_the_usual_rows():
    sizes = (16, 100, 100, 2)
    algo = agent("vdqn", (0,), sizes, sigma_init=0.017)
    layout = Layout(sizes)
    mask = layout.mask.bool()
    torch.testing.assert_close(
        sigmas(algo, "online")[0][mask], torch.full((int(mask.sum()),), 0.017), rtol=1e-4, atol=0.0
    )
    for layer, (n_in, _) in zip(
        layout.layers(algo.learner.online["mu"].detach()), layout.shapes, strict=True
    ):
        bound = (3.0 / n_in) ** 0.5
        assert 0.95 * bound < layer.weight.abs().max() <= bound
        assert (layer.bias == 0).all()


def test_logs_quantiles_of_sigma():
    algo = wide()
    figures = algo.snapshot(1)
    parts = [
        torch.cat([w.reshape(-1), b.reshape(-1)]).numpy()
        for w, b in unpacked(LAYOUT, sigmas(algo, "online")[1])
    ]
    everything = np.concatenate(parts)
    assert figures["sigma_min"] == pytest.approx(everything.min())
    assert figures["sigma_median"] == pytest.approx(np.median(everything))
    assert figures["sigma_max"] == pytest.approx(everything.max())
    for number, part in enumerate(parts, start=1):
        for name, level in [("q10", 0.1), ("q50", 0.5), ("q90", 0.9)]:
            wanted = np.quantile(part, level)
            assert figures[f"sigma_layer{number}_{name}"] == pytest.approx(wanted)
