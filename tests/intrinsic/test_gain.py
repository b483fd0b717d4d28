"""The information gain: against the exact divergence after the step, and numeric slopes."""

import pytest
import torch
from models import OBS, normal, posterior
from torch.distributions import Normal, kl_divergence

from vdqn_runner.intrinsic.gain import information_gain
from vdqn_runner.nets import gaussian_mlp, sigma_of

SAMPLES = 6


@pytest.fixture
def transition():
    layout, mu, rho = posterior()
    x = normal(2, 1, layout.sizes[0], seed=5).expand(-1, SAMPLES, -1).contiguous()
    return layout, mu, rho, x, normal(2, 1, OBS, seed=6), normal(2, SAMPLES * layout.n_units)


def log_likelihood(mu, rho, layout, x, next_obs, eps):
    """E_q[log p(s' | s, a)] of all seeds together, in float64, by the samples ``eps``."""
    f = gaussian_mlp(mu, sigma_of(rho).square(), layout, x.double(), eps.double())
    return Normal(f, 1.0).log_prob(next_obs.double()).sum(dim=2).mean(dim=1).sum()


def numeric_slopes(mu, rho, *rest, h=1e-5):
    """Central differences in every parameter of mu and rho."""
    slopes = []
    for rows in (mu, rho):
        slope = torch.zeros_like(rows)
        for at in zip(*torch.nonzero(torch.ones_like(rows), as_tuple=True), strict=True):
            ends = []
            for sign in (1.0, -1.0):
                moved = rows.clone()
                moved[at] += sign * h
                both = (moved, rho) if rows is mu else (mu, moved)
                ends.append(log_likelihood(*both, *rest))
            slope[at] = (ends[0] - ends[1]) / (2 * h)
        slopes.append(slope)
    return slopes


def test_it_is_the_divergence_after_the_step(engine, transition):
    layout, mu, rho, *rest = transition
    variance = sigma_of(rho).square()
    mu, rho = mu.double(), rho.double()
    sigma = sigma_of(rho)
    g_mu, g_rho = numeric_slopes(mu, rho, layout, *rest)
    assert (g_rho.abs() > 1e-3).sum() > 50
    # Of the divergence from phi, at phi: 1 / sigma^2, and 2 (d sigma / d rho)^2 / sigma^2.
    curvature = sigma**-2, 2 * torch.sigmoid(rho).square() / sigma.square()
    before = Normal(mu, sigma)
    errors = []
    for step in (0.1, 0.01, 0.001):
        after = Normal(mu + step * g_mu / curvature[0], sigma_of(rho + step * g_rho / curvature[1]))
        exact = kl_divergence(after, before).sum(dim=1)
        gain = information_gain(mu.float(), variance, layout, *rest, step)
        assert gain.shape == (2,) and gain.dtype == torch.float64
        errors.append(float((gain / exact - 1).abs().max()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_the_curvature_is_that_of_the_divergence():
    """The Hessian of D_KL[phi' || phi] at phi' = phi is diagonal, and what was written down."""
    mu, rho = torch.tensor([0.3, -1.2]).double(), torch.tensor([-2.0, 0.7]).double()

    def divergence(moved):
        after = Normal(moved[:2], sigma_of(moved[2:]))
        return kl_divergence(after, Normal(mu, sigma_of(rho))).sum()

    at = torch.cat([mu, rho])
    sigma = sigma_of(rho)
    diagonal = torch.cat([sigma**-2, 2 * torch.sigmoid(rho).square() / sigma.square()])
    hessian = torch.autograd.functional.hessian(divergence, at)
    torch.testing.assert_close(hessian, torch.diag(diagonal))
    slope = torch.autograd.functional.jacobian(divergence, at)
    torch.testing.assert_close(slope, torch.zeros(4).double(), atol=1e-12, rtol=0)


def test_it_grows_with_the_square_of_the_step(engine, transition):
    layout, mu, rho, *rest = transition
    variance = sigma_of(rho).square()
    small, large = (information_gain(mu, variance, layout, *rest, step) for step in (0.01, 0.05))
    torch.testing.assert_close(large, 25 * small)


def test_a_seed_has_the_same_bits_alone(engine, transition):
    layout, mu, rho, *rest = transition
    variance = sigma_of(rho).square()
    both = information_gain(mu, variance, layout, *rest, 0.01)
    alone = information_gain(mu[1:], variance[1:], layout, *(part[1:] for part in rest), 0.01)
    assert torch.equal(alone, both[1:])


def test_the_posterior_is_left_as_it_is(transition):
    layout, mu, rho, *rest = transition
    variance = sigma_of(rho).square()
    kept = mu.clone(), variance.clone()
    gain = information_gain(mu.requires_grad_(), variance, layout, *rest, 0.01)
    assert not gain.requires_grad and mu.grad is None
    assert torch.equal(mu, kept[0]) and torch.equal(variance, kept[1])
