"""VDQN's objective under other families and estimators: gradients, limits and what is fresh."""

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
)

from vdqn_runner.algos.estimators import mean_of, score_function
from vdqn_runner.algos.families import laplace
from vdqn_runner.config import build
from vdqn_runner.errors import ConfigError
from vdqn_runner.layout import Layout
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

LAYOUT = Layout(SIZES)
MASK = LAYOUT.mask.bool()
RANK = 2
FAMILIES = {"gaussian": {}, "laplace": {}, "low_rank": {"rank": RANK}}


def wide(family, seeds=(0, 1), mu_scale=0.4, **settings):
    """An agent with wide distributions, another one for each weight, and another target."""
    algo = agent("variational", seeds, family=family, **(FAMILIES.get(family, {}) | settings))
    for g, group in enumerate(("online", "target")):
        rows = {}
        for i, kind in enumerate(algo.learner.online):
            noise = normal(1, LAYOUT.length, seed=10 * g + i)
            rows[kind] = {"mu": mu_scale * noise, "rho": 0.5 * noise - 1.5}.get(kind, 0.2 * noise)
        set_rows(algo, group, **rows)
    return algo


def theta_of(family, rows, draws):
    """Theta [P] in float64 from one seed's rows and the normals that it was made of."""
    sigma = torch.log1p(rows["rho"].exp())
    eps = draws[: LAYOUT.length].double()
    if family == "laplace":
        return rows["mu"] + sigma * laplace(draws[: LAYOUT.length]).double()
    theta = rows["mu"] + sigma * eps
    if family == "low_rank":
        for k in range(RANK):
            theta = theta + rows[f"u{k + 1}"] * draws[LAYOUT.length + k].double()
    return theta


def plain_kl(family, rows, prior_sigma):
    """-H + E |theta|^2 / (2 prior_sigma^2) up to a constant, float64, with covariances in full."""
    part = {kind: values[MASK] for kind, values in rows.items()}
    sigma = torch.log1p(part["rho"].exp())
    if family == "low_rank":
        u = torch.stack([part[f"u{k + 1}"] for k in range(RANK)], dim=1)
        covariance = torch.diag(sigma.square()) + u @ u.T
        h, variance = 0.5 * torch.logdet(covariance), covariance.diagonal()
    else:
        h = sigma.log().sum()
        variance = sigma.square() * (2 if family == "laplace" else 1)
    if prior_sigma is None:
        return -h
    return (part["mu"].square() + variance).sum() / (2 * prior_sigma**2) - h


@pytest.mark.parametrize("prior_sigma", [None, 0.7])
@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_pathwise_gradients_given_the_noise(engine, family, samples, prior_sigma):
    """Loss and gradient against autograd in float64, theta, theta^- and the KL written out."""
    lam = 0.3
    algo = wide(family, samples=samples, lam=lam, prior_sigma=prior_sigma)
    batch = minibatch(2, 16)
    batch.weight[:, ::3] = 0.25
    count = algo._family.count(LAYOUT)
    update = NormalStreams.of((0, 1), Purpose.UPDATE_NOISE).draw(samples * count)
    target = NormalStreams.of((0, 1), Purpose.TARGET_NOISE).draw(count)
    online = {
        kind: rows.detach().double().requires_grad_() for kind, rows in algo.learner.online.items()
    }
    losses = []
    for k in range(2):
        own = {kind: rows[k] for kind, rows in online.items()}
        other = {kind: rows[k].double() for kind, rows in algo.learner.target.items()}
        best = plain_q(LAYOUT, theta_of(family, other, target[k]), batch.next_obs[k]).amax(dim=1)
        d = batch.reward[k] + batch.discount[k] * best
        cost = 0.0
        for m in range(samples):
            theta = theta_of(family, own, update[k, m * count : (m + 1) * count])
            error = pick(plain_q(LAYOUT, theta, batch.obs[k]), batch.action[k]) - d
            cost = cost + (batch.weight[k] * error.square()).sum() / samples
        losses.append(cost / lam + plain_kl(family, own, prior_sigma))
    wanted = torch.stack(losses)
    slopes = dict(
        zip(online, torch.autograd.grad(wanted.sum(), list(online.values())), strict=True)
    )
    loss = algo.loss(batch, clock(2))
    assert set(loss.reported) == set(algo.reported)
    torch.testing.assert_close(loss.total.detach().double(), wanted.detach(), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(loss.reported["loss"], loss.total.detach())
    torch.testing.assert_close(loss.reported["surrogate"], lam * loss.total.detach())
    again = wide(family, samples=samples, lam=lam, prior_sigma=prior_sigma)
    for kind, found in gradients(again, batch).items():
        scale = float(slopes[kind].abs().max())
        torch.testing.assert_close(found.double(), slopes[kind], rtol=1e-3, atol=1e-4 * scale)
        assert (found[:, ~MASK] == 0).all()


# The score function.

REPLICAS = 200


@pytest.mark.parametrize("family", FAMILIES)
def test_both_estimators_have_the_same_expectation(family):
    """Along random directions, many seeds with the same rows and targets without noise."""
    found = {}
    for estimator, samples in (("pathwise", 1), ("score", 4)):
        algo = wide(family, range(REPLICAS), estimator=estimator, samples=samples, lam=0.5)
        set_rows(algo, "target", rho=-80.0)
        for kind in algo.learner.target:
            if kind.startswith("u"):
                set_rows(algo, "target", **{kind: 0.0})
        batch = minibatch(REPLICAS, 4, repeat=True)
        many = [gradients(algo, batch) for _ in range(12)]
        found[estimator] = {kind: torch.cat([g[kind] for g in many]).double() for kind in many[0]}
    for kind in found["score"]:
        for seed in range(6):
            direction = normal(LAYOUT.length, seed=seed).double() * LAYOUT.mask
            a, b = ((found[e][kind] @ direction).numpy() for e in ("score", "pathwise"))
            error = np.hypot(a.std() / len(a) ** 0.5, b.std() / len(b) ** 0.5)
            assert abs(a.mean() - b.mean()) < 5 * error


def test_score_function_by_hand():
    """1/M sum_m (f_m - mean of the others) grad log q(theta_m); its value is the mean cost."""
    f = [torch.tensor([v, -v]) for v in (1.0, 4.0, 10.0)]
    log_q = [torch.tensor([0.3, 0.2], requires_grad=True) for _ in f]
    total = score_function(f, log_q)
    torch.testing.assert_close(total.detach(), torch.tensor([5.0, -5.0]))
    slopes = torch.autograd.grad(total.sum(), log_q)
    for slope, advantage in zip(slopes, (1 - 7.0, 4 - 5.5, 10 - 2.5), strict=True):
        torch.testing.assert_close(slope, torch.tensor([advantage, -advantage]) / 3)


@pytest.mark.parametrize("samples", [2, 8])
def test_the_other_samples_lower_the_variance(samples):
    """Against the same estimator with no control variate, for costs that are far from 0."""
    draws = np.random.default_rng(0).normal(size=(20_000, samples))
    mu = torch.zeros(20_000, dtype=torch.float64, requires_grad=True)
    thetas = [torch.from_numpy(draws[:, m]) for m in range(samples)]
    log_q = [-0.5 * (theta - mu).square() for theta in thetas]
    costs = [(theta - 1.0).square() + 5.0 for theta in thetas]
    (with_others,) = torch.autograd.grad(score_function(costs, log_q).sum(), mu, retain_graph=True)
    plain = mean_of([cost * log_density for cost, log_density in zip(costs, log_q, strict=True)])
    (without,) = torch.autograd.grad(plain.sum(), mu)
    # d/dmu E (theta - 1)^2 = 2 (mu - 1) = -2.
    for values in (with_others, without):
        assert abs(values.mean() + 2.0) < 5 * values.std() / len(values) ** 0.5
    assert with_others.var() < 0.5 * without.var()


def test_the_entropys_gradient_is_analytic_under_the_score_function():
    """With equal costs nothing is left of it but that of the KL."""
    algo = wide("gaussian", estimator="score", samples=2, lam=0.5)
    set_rows(algo, "online", mu=0.0)
    batch = minibatch(2, 4, terminal=True, reward=0.0)
    batch.weight[:] = 0.0
    rho = algo.learner.online["rho"].detach()
    expected = -torch.sigmoid(rho) / torch.nn.functional.softplus(rho) * LAYOUT.mask
    torch.testing.assert_close(gradients(algo, batch)["rho"], expected, rtol=1e-4, atol=1e-6)


# VDQN, and DQN as a limit.


def test_the_gaussian_family_is_vdqn_with_a_theta_a_minibatch():
    """Where the target has no noise, the two are the same numbers."""
    one = agent("variational", (0, 1), lam=0.3)
    two = agent("vdqn", (0, 1), lam=0.3, theta_samples="per_batch")
    assert torch.equal(one.learner.online["mu"], two.learner.online["mu"])
    assert torch.equal(one.learner.online["rho"], two.learner.online["rho"])
    batch = minibatch(2, 16, terminal=True)
    ours, theirs = one.loss(batch, clock(2)), two.loss(batch, clock(2))
    assert one.reported == two.reported
    torch.testing.assert_close(ours.total, theirs.total)
    for name in one.reported:
        torch.testing.assert_close(ours.reported[name], theirs.reported[name])
    again = (
        agent("variational", (0, 1), lam=0.3),
        agent("vdqn", (0, 1), lam=0.3, theta_samples="per_batch"),
    )
    a, b = (gradients(algo, batch) for algo in again)
    for kind in a:
        torch.testing.assert_close(a[kind], b[kind], rtol=1e-4, atol=1e-4)
    assert one.snapshot(0) == pytest.approx(two.snapshot(0), rel=1e-5)


def test_with_noisy_targets_it_has_vdqns_expectation():
    """A theta^- a minibatch in place of one a tuple: the same mean, another spread."""
    sums = {}
    for name in ("variational", "vdqn"):
        settings = {} if name == "variational" else {"theta_samples": "per_batch"}
        algo = agent(name, range(400), sigma_init=0.3, **settings)
        for i, group in enumerate(("online", "target")):
            set_rows(algo, group, mu=normal(1, LAYOUT.length, seed=i, scale=0.4))
        batch = equal_tuples(400, 8, terminal=False)
        losses = [algo.loss(batch, clock(400)).reported["bellman_error"] for _ in range(20)]
        sums[name] = torch.cat(losses).double().numpy()
    a, b = sums.values()
    assert abs(a.mean() - b.mean()) < 5 * np.hypot(a.std(), b.std()) / len(a) ** 0.5
    assert a.std() > 1.1 * b.std()


@pytest.mark.parametrize("settings", [{}, {"double": True, "network": {"dueling": True}}], ids=str)
@pytest.mark.parametrize("size", [64, 13])
def test_a_point_mass_is_dqn(engine, size, settings):
    """lambda = batch_size: the same first rows, actions, losses and steps as DQN's.

    Bit for bit where 1 / batch_size is exact; otherwise the minibatch's mean is rounded otherwise.
    """
    point = agent("variational", (0, 1), family="point", lam=size, batch_size=size, **settings)
    dqn = agent("dqn", (0, 1), epsilon=0.0, batch_size=size, **settings)
    exact = {"rtol": 0.0, "atol": 0.0} if size == 64 else {"rtol": 1e-3, "atol": 1e-5}
    assert torch.equal(point.learner.online["mu"], dqn.learner.online["theta"])
    for step in range(30):
        batch = minibatch(2, size, seed=step)
        batch.weight[:] = 1.0 if not settings else 0.5
        figures, wanted = (
            algo.update(batch, clock(2, step), np.full(2, 0.01)).figures for algo in (point, dqn)
        )
        for name in ("loss", "bellman_error", "q_mean"):
            a, b = (torch.as_tensor(np.asarray(f[name], np.float64)) for f in (figures, wanted))
            torch.testing.assert_close(a, b, **exact)
        np.testing.assert_allclose(figures["surrogate"], size * wanted["loss"], rtol=1e-3)
        if size == 64:
            obs = normal(2, 1, SIZES[0], seed=step)
            assert (point.act(obs, clock(2)) == dqn.act(obs, clock(2))).all()
        if step % 10 == 9:
            for algo in (point, dqn):
                algo.learner.copy_target()
                algo.target_changed()
    torch.testing.assert_close(point.learner.online["mu"], dqn.learner.online["theta"], **exact)


def test_a_points_prior_is_weight_decay():
    algo = agent("variational", (0, 1), family="point", prior_sigma=0.5, lam=2.0)
    plain = agent("variational", (0, 1), family="point", lam=2.0)
    batch = minibatch(2, 16)
    mu = algo.learner.online["mu"].detach()
    difference = gradients(algo, batch)["mu"] - gradients(plain, batch)["mu"]
    torch.testing.assert_close(difference, mu / 0.25, rtol=1e-3, atol=1e-4)
    assert algo._compiled is None


def test_a_point_reports_nothing_that_it_has_not():
    algo = agent("variational", (0, 1), family="point")
    assert "entropy" not in algo.reported
    assert algo.snapshot(0) == {}
    assert set(algo.q_functions(0, NormalStreams.of([0], Purpose.EVALUATION_NOISE))) == {"mean"}


def test_lambda_zero_is_the_summed_bellman_error():
    algo = wide("gaussian", lam=0.0, prior_sigma=1.0)
    loss = algo.loss(minibatch(2, 8), clock(2))
    torch.testing.assert_close(loss.total.detach(), 8 * loss.reported["bellman_error"])
    torch.testing.assert_close(loss.reported["surrogate"], loss.total.detach())


# What is fresh.


@pytest.mark.parametrize("family", FAMILIES)
def test_acting_samples_anew_at_every_step_or_episode(family):
    obs = normal(2, 1, SIZES[0], seed=9).abs()
    algo = wide(family)
    taken = np.stack([algo.act(obs, clock(2)) for _ in range(2000)])
    for k in range(2):
        assert 0.02 < taken[:, k].mean() < 0.98
        assert abs(np.corrcoef(taken[1:, k], taken[:-1, k])[0, 1]) < 5 / 2000**0.5
    assert abs(np.corrcoef(taken.T)[0, 1]) < 5 / 2000**0.5
    kept = wide(family, resample="episode")
    first = []
    for episode in range(400):
        kept.begin_episodes(np.array([0, 1]), clock(2, episodes=episode))
        first.append(kept.act(obs, clock(2)))
        assert (kept.act(obs, clock(2)) == first[-1]).all()
    error = 0.5 * (1 / 400 + 1 / 2000) ** 0.5
    assert (abs(np.stack(first).mean(axis=0) - taken.mean(axis=0)) < 5 * error).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_minibatch_shares_its_thetas(family):
    """Equal tuples have equal values, and another minibatch has others."""
    algo = wide(family)
    batch = equal_tuples(2, 16)
    one, two = (algo.loss(batch, clock(2)).errors for _ in range(2))
    torch.testing.assert_close(one, one[:, :1].expand_as(one), rtol=1e-4, atol=1e-5)
    assert (one[:, 0] != two[:, 0]).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_more_samples_narrow_the_loss(family):
    """Var of the mean of M costs is 1/M of one's; targets are without noise."""
    spread = {}
    for samples in (1, 9):
        algo = wide(family, range(150), samples=samples)
        batch = minibatch(150, 4, repeat=True, terminal=True)
        errors = [algo.loss(batch, clock(150)).reported["q_mean"] for _ in range(10)]
        spread[samples] = torch.cat(errors).double().std().item()
    assert spread[1] / spread[9] == pytest.approx(3.0, rel=0.15)


@pytest.mark.parametrize("family", FAMILIES)
def test_trials_of_an_evaluation_have_a_theta_each(family):
    algo = wide(family)
    found = algo.q_functions(1, NormalStreams.of([1], Purpose.EVALUATION_NOISE))
    obs = normal(1, 1, SIZES[0], seed=9).expand(1, 500, SIZES[0]).contiguous()
    q = found["sample"](obs)
    assert q.shape == (1, 500, 2)
    assert len(q[0, :, 0].unique()) > 490
    mu = algo.learner.online["mu"].detach()[1]
    torch.testing.assert_close(
        found["mean"](obs)[0].double(), plain_q(LAYOUT, mu, obs[0]), rtol=1e-4, atol=1e-4
    )


# Refusals.


@pytest.mark.parametrize(
    ("settings", "start", "part"),
    [
        ({"family": "point", "estimator": "score"}, "algo.estimator='score'", "must be pathwise"),
        ({"family": "point", "samples": 2}, "algo.samples=2", "must be 1 where family is point"),
        ({"family": "point", "resample": "episode"}, "algo.resample='episode'", "must be step"),
        ({"family": "point", "sigma_init": 0.5}, "algo.sigma_init=0.5", "has no effect"),
        ({"rank": 2}, "algo.rank=2", "has no effect unless algo.family is low_rank"),
        ({"estimator": "score", "samples": 1}, "algo.samples=1", "at least 2"),
        ({"prior_sigma": 0.0}, "algo.prior_sigma=0.0", "or null"),
        ({"family": "gauss"}, "algo.family='gauss'", "did you mean gaussian?"),
        ({"family": "low_rank", "rank": 65}, "algo.rank=65", "from 1 to 64"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused_in_a_line(settings, start, part):
    mapping = {"episodes": 1, "env": {"kind": "chain", "n": 5}}
    with pytest.raises(ConfigError) as caught:
        build(mapping | {"algo": {"name": "variational"} | settings})
    line = str(caught.value)
    assert line.startswith(start) and part in line and line.isprintable()


@pytest.mark.parametrize(("estimator", "usual"), [("pathwise", 1), ("score", 10)])
def test_samples_follow_the_estimator(estimator, usual):
    mapping = {"episodes": 1, "env": {"kind": "chain", "n": 5}}
    for given, wanted in (({}, usual), ({"samples": None}, usual), ({"samples": 3}, 3)):
        algo = {"name": "variational", "estimator": estimator} | given
        assert build(mapping | {"algo": algo}).algo.samples == wanted
