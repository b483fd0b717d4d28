"""Families of distributions over the weights, against torch.distributions and by sampling."""

import math

import numpy as np
import pytest
import torch
from agents import agent, normal, plain_q
from scipy import stats
from torch.distributions import (
    Laplace,
    LowRankMultivariateNormal,
    MultivariateNormal,
    Normal,
    kl_divergence,
)

from vdqn_runner.algos.families import laplace, second_moment
from vdqn_runner.layout import Layout
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

SIZES = (3, 6, 5, 2)
LAYOUT = Layout(SIZES)
MASK = LAYOUT.mask.bool()
N = LAYOUT.n_parameters
SEEDS = 30
RANK = 3
# What entropies and log densities of a family leave out.
CONSTANT = {
    "gaussian": N / 2 * math.log(2 * math.pi * math.e),
    "laplace": N * math.log(2 * math.e),
    "low_rank": N / 2 * math.log(2 * math.pi * math.e),
}
OF_DENSITY = {
    "gaussian": N / 2 * math.log(2 * math.pi),
    "laplace": N * math.log(2),
    "low_rank": N / 2 * math.log(2 * math.pi),
}
FAMILIES = list(CONSTANT)


def family_and_rows(name, n_seeds=SEEDS, seed=0, width=1.0):
    """A family with random rows [S, P], padding included."""
    algo = agent(
        "variational", (0,), SIZES, family=name, **({"rank": RANK} if name == "low_rank" else {})
    )
    kinds = list(algo.learner.online)
    rows = {
        kind: normal(n_seeds, LAYOUT.length, seed=10 * seed + i, scale=width)
        for i, kind in enumerate(kinds)
    }
    return algo._family, rows


def independent(name, rows, row):
    """The same distribution over the parameters [n] of one seed, by torch, in float64."""
    mu, rho = (rows[kind][row][MASK].double() for kind in ("mu", "rho"))
    sigma = torch.log1p(rho.exp())
    if name == "gaussian":
        return torch.distributions.Independent(Normal(mu, sigma), 1)
    if name == "laplace":
        return torch.distributions.Independent(Laplace(mu, sigma), 1)
    factor = torch.stack([rows[f"u{k}"][row][MASK].double() for k in range(1, RANK + 1)], dim=1)
    return LowRankMultivariateNormal(mu, factor, sigma.square())


@pytest.mark.parametrize("width", [0.3, 3.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_entropy_is_torchs(name, width):
    family, rows = family_and_rows(name, width=width)
    found = family.entropy(rows).double() + CONSTANT[name]
    wanted = torch.stack([independent(name, rows, row).entropy() for row in range(SEEDS)])
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("width", [0.3, 3.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_log_density_is_torchs(name, width):
    family, rows = family_and_rows(name, width=width)
    thetas = [normal(SEEDS, LAYOUT.length, seed=50 + m) for m in range(3)]
    for theta, found in zip(thetas, family.log_densities(rows, thetas), strict=True):
        wanted = [
            independent(name, rows, k).log_prob(theta[k][MASK].double()) for k in range(SEEDS)
        ]
        torch.testing.assert_close(
            found.double() - OF_DENSITY[name], torch.stack(wanted), rtol=1e-5, atol=1e-3
        )


def test_low_rank_is_the_full_covariance_too():
    """The same once more with D + U U^T written out."""
    family, rows = family_and_rows("low_rank")
    theta = normal(SEEDS, LAYOUT.length, seed=50)
    for k in range(4):
        u = torch.stack([rows[f"u{i}"][k][MASK].double() for i in range(1, RANK + 1)], dim=1)
        sigma = torch.nn.functional.softplus(rows["rho"][k][MASK].double())
        whole = MultivariateNormal(rows["mu"][k][MASK].double(), torch.diag(sigma**2) + u @ u.T)
        one = {kind: values[k : k + 1] for kind, values in rows.items()}
        h = family.entropy(one).item() + CONSTANT["low_rank"]
        assert h == pytest.approx(whole.entropy().item(), rel=1e-5)
        (log_q,) = family.log_densities(one, [theta[k : k + 1]])
        found = log_q.item() - OF_DENSITY["low_rank"]
        assert found == pytest.approx(whole.log_prob(theta[k][MASK].double()).item(), rel=1e-4)


@pytest.mark.parametrize("prior_sigma", [0.2, 5.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_kl_to_the_prior(name, prior_sigma):
    """Up to the constants of the entropy and of the prior: closed form, or by a million weights."""
    family, rows = family_and_rows(name, n_seeds=4)
    kl = second_moment(family, rows) / (2 * prior_sigma**2) - family.entropy(rows)
    found = kl.double() - CONSTANT[name] + N / 2 * math.log(2 * math.pi * prior_sigma**2)
    scales = torch.full((N,), prior_sigma, dtype=torch.float64)
    for k in range(4):
        q = independent(name, rows, k)
        prior = Normal(torch.zeros_like(scales), scales)
        if name == "gaussian":
            wanted = kl_divergence(q.base_dist, prior).sum()
        elif name == "low_rank":
            wanted = kl_divergence(
                MultivariateNormal(q.mean, q.covariance_matrix),
                MultivariateNormal(torch.zeros_like(scales), torch.diag(scales**2)),
            )
        else:
            torch.manual_seed(k)
            theta = q.sample((20_000,))
            values = q.log_prob(theta) - prior.log_prob(theta).sum(dim=1)
            assert abs(values.mean() - found[k]) < 4.5 * values.std() / len(values) ** 0.5
            continue
        torch.testing.assert_close(found[k], wanted, rtol=1e-4, atol=1e-3)


def test_a_points_distance_from_the_prior_is_its_squared_length():
    family, rows = family_and_rows("point")
    wanted = rows["mu"][:, MASK].double().square().sum(dim=1)
    torch.testing.assert_close(second_moment(family, rows).double(), wanted, rtol=1e-5, atol=0.0)
    assert (family.entropy(rows) == 0).all()


# Samples.


@pytest.mark.parametrize("name", FAMILIES)
def test_samples_have_the_familys_moments(name):
    family, rows = family_and_rows(name, n_seeds=2, width=0.7)
    draws = NormalStreams.of(range(2), Purpose.UPDATE_NOISE)
    count = 6000
    thetas = torch.stack(
        [family.sample(rows, draws.draw(family.count(LAYOUT))) for _ in range(count)]
    )
    thetas = thetas[:, :, MASK].double()
    for k in range(2):
        q = independent(name, rows, k)
        error = (thetas[:, k].mean(dim=0) - q.mean) / q.stddev
        assert error.abs().max() < 5 / count**0.5
        ratio = thetas[:, k].var(dim=0) / q.variance
        assert (ratio - 1).abs().max() < 5 * (5 if name == "laplace" else 2) ** 0.5 / count**0.5
        marginal = family.variance(rows)[k, MASK].double()
        torch.testing.assert_close(marginal, q.variance, rtol=1e-4, atol=1e-6)
        correlation = torch.corrcoef(thetas[:, k].T)
        if name == "low_rank":
            wanted = q.covariance_matrix / torch.outer(q.stddev, q.stddev)
        else:
            wanted = torch.eye(N, dtype=torch.float64)
        assert (correlation - wanted).abs().max() < 6 / count**0.5


def test_laplace_numbers_have_laplaces_law():
    found = laplace(NormalStreams.of([1], Purpose.UPDATE_NOISE).draw(200_000))[0].double().numpy()
    assert stats.kstest(found, "laplace").pvalue > 1e-3
    assert np.isfinite(found).all()
    # The largest normal that is ever drawn, and 0.
    extremes = laplace(torch.tensor([6.01, -6.01, 0.0]))
    assert torch.isfinite(extremes).all()
    wanted = -math.log(math.erfc(6.01 / 2**0.5))
    torch.testing.assert_close(extremes, torch.tensor([wanted, -wanted, 0.0]), rtol=1e-4, atol=0.0)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_step_has_the_law_of_writing_theta_out(name, engine):
    """Q-values of 3000 seeds with the same rows, one observation each."""
    count = 3000
    family, one = family_and_rows(name, n_seeds=1, width=0.6)
    rows = {kind: values.repeat(count, 1) for kind, values in one.items()}
    obs = normal(1, 1, SIZES[0], seed=3)
    draws = NormalStreams.of(range(count), Purpose.ACTING).draw(family.count_of_step(LAYOUT))
    q = family.q_of_step(rows, obs.repeat(count, 1, 1), draws)[:, 0].double()
    assert q.shape == (count, 2)
    torch.manual_seed(0)
    theta = torch.zeros(20_000, LAYOUT.length, dtype=torch.float64)
    theta[:, MASK] = independent(name, one, 0).sample((20_000,))
    plain = plain_q(LAYOUT, theta, obs[0].repeat(20_000, 1, 1))[:, 0]
    for values in (lambda x: x[:, 0], lambda x: x[:, 1], lambda x: x[:, 0] - x[:, 1]):
        assert stats.ks_2samp(values(q).numpy(), values(plain).numpy()).pvalue > 1e-3


@pytest.mark.parametrize("name", FAMILIES)
def test_one_seeds_theta_is_its_row_of_a_sample(name):
    family, rows = family_and_rows(name, n_seeds=3)
    draws = NormalStreams.of(range(3), Purpose.ACTING).draw(family.count(LAYOUT))
    together = family.sample(rows, draws)
    for row in range(3):
        assert torch.equal(family.theta(rows, row, draws[row : row + 1]), together[row])


@pytest.mark.parametrize("name", FAMILIES)
def test_every_weight_starts_with_the_given_deviation(name):
    sizes = (16, 100, 100, 2)
    algo = agent("variational", (0, 1), sizes, family=name, sigma_init=0.05)
    layout = Layout(sizes)
    mask = layout.mask.bool()
    deviation = algo._family.variance(algo._law).sqrt()[:, mask]
    torch.testing.assert_close(deviation, torch.full_like(deviation, 0.05), rtol=1e-4, atol=0.0)
    for layer, (n_in, _) in zip(layout.layers(algo._law["mu"]), layout.shapes, strict=True):
        bound = (3.0 / n_in) ** 0.5
        assert 0.95 * bound < layer.weight.abs().max() <= bound
        assert (layer.bias == 0).all()
    for values in algo._law.values():
        assert not torch.equal(values[0], values[1]) or (values[0][mask].unique().numel() == 1)


def test_columns_of_a_covariance_start_with_signs_of_their_own():
    algo = agent("variational", (0, 1), (16, 100, 100, 2), family="low_rank", rank=3)
    mask = algo._layout.mask.bool()
    columns = torch.cat([algo._law[f"u{k}"][:, mask].sign().double() for k in (1, 2, 3)])
    n = int(mask.sum())
    products = columns @ columns.T / n - torch.eye(6)
    assert products.abs().max() < 5 / n**0.5
    assert columns.mean(dim=1).abs().max() < 5 / n**0.5


@pytest.mark.parametrize("rho", [-200.0, -50.0, 50.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_rho_far_out_gives_finite_numbers(name, rho):
    family, rows = family_and_rows(name, n_seeds=2)
    rows["rho"][:] = rho
    assert torch.isfinite(family.entropy(rows)).all()
    theta = family.sample(rows, normal(2, family.count(LAYOUT)))
    assert torch.isfinite(theta).all()
    # Where U alone is left, theta is rounded to more than sigma: it has no density.
    if name != "low_rank" or rho > -200:
        assert torch.isfinite(family.log_densities(rows, [theta])[0]).all()


def test_one_seed_that_is_not_finite_leaves_the_others_as_they_are():
    family, rows = family_and_rows("low_rank", n_seeds=2)
    wanted = family.entropy(rows)
    rows["u1"][0, 0] = math.nan
    found = family.entropy(rows)
    assert torch.isnan(found[0]) and found[1] == wanted[1]
