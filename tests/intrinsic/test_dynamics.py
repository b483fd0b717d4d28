"""The dynamics model's lower bound: against written-out weights, and numeric gradients."""

import math

import pytest
import torch
from models import ACTIONS, OBS, SIZES, normal, posterior, written_out
from torch.distributions import Normal, kl_divergence

from vdqn_runner.config import build
from vdqn_runner.envs import make_envs
from vdqn_runner.intrinsic.dynamics import (
    dynamics_layout,
    negative_lower_bound,
    observation_action,
)
from vdqn_runner.nets import kl_to_prior, sigma_of, softplus_inverse, variance_and_entropy

B = 4
PRIOR = {"sigma_prior": 0.7, "held": 50}


def batch(n_seeds=2, size=B):
    return normal(n_seeds, size, SIZES[0], seed=7), normal(n_seeds, size, OBS, seed=8)


def test_the_divergence_from_the_prior_is_that_of_two_normals(engine):
    layout, mu, rho = posterior()
    each = kl_divergence(Normal(mu, sigma_of(rho)), Normal(0.0, 0.7)) * layout.mask
    found = kl_to_prior(mu, *variance_and_entropy(rho, layout), 0.7, layout)
    torch.testing.assert_close(found, each.double().sum(dim=1))
    zero, at_prior = torch.zeros_like(mu), torch.full_like(mu, softplus_inverse(0.7))
    at_prior = variance_and_entropy(at_prior, layout)
    assert kl_to_prior(zero, *at_prior, 0.7, layout).abs().max() < 1e-5


def test_it_is_the_bound_of_written_out_weights(engine):
    """E_q[log p(D | theta)] by weights drawn for every transition; no local reparameterisation."""
    layout, mu, rho = posterior()
    x, next_obs = batch()
    count = 4000
    many, next_many = (part.repeat(1, count, 1) for part in (x, next_obs))
    eps = normal(2, B * count * layout.n_units)
    bound = negative_lower_bound(mu, rho, layout, many, next_many, eps, **PRIOR)
    torch.manual_seed(0)
    q = Normal(mu, sigma_of(rho))
    theta = q.rsample((count, B)).movedim(1, 2)  # [count, S, B, P]
    f = written_out(layout, theta, x[:, :, None]).squeeze(3)
    log_p = Normal(f, 1.0).log_prob(next_obs.double()).sum(dim=3).mean(dim=2)
    log_p = log_p + OBS / 2 * math.log(2 * math.pi)
    kl = (kl_divergence(q, Normal(0.0, 0.7)) * layout.mask).double().sum(dim=1)
    off = bound - (kl / 50 - log_p.mean(dim=0))
    spread = (2 * log_p.var(dim=0) / count).sqrt()
    assert (off.abs() < 4 * spread).all()
    assert (spread < 0.05 * bound).all()


def test_its_gradient_is_the_numeric_one():
    layout, mu, rho = posterior(n_seeds=1)
    x, next_obs = batch(1)
    eps = normal(1, B * layout.n_units, seed=9).double()
    mu, rho = (rows.double().requires_grad_() for rows in (mu, rho))

    def bound(mu, rho):
        return negative_lower_bound(
            mu, rho, layout, x.double(), next_obs.double(), eps, **PRIOR
        ).sum()

    assert torch.autograd.gradcheck(bound, (mu, rho), atol=1e-4)


def test_in_32_bits_it_has_the_gradient_of_64(engine):
    layout, mu, rho = posterior()
    eps = normal(2, B * layout.n_units, seed=9)
    found = []
    for dtype in (torch.float32, torch.float64):
        rows = [part.to(dtype).requires_grad_() for part in (mu, rho)]
        x, next_obs = (part.to(dtype) for part in batch())
        loss = negative_lower_bound(*rows, layout, x, next_obs, eps.to(dtype), **PRIOR)
        found.append(torch.autograd.grad(loss.sum(), rows))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-3, atol=1e-4)
        assert (one[:, layout.mask == 0] == 0).all()


def test_an_action_is_one_of_so_many_numbers():
    x = observation_action(normal(2, 5, OBS), torch.tensor([[0, 1, 1, 0, 1]] * 2), ACTIONS)
    assert x.shape == (2, 5, SIZES[0])
    assert torch.equal(x[..., :OBS], normal(2, 5, OBS))
    assert torch.equal(x[0, :, OBS:].argmax(dim=1), torch.tensor([0, 1, 1, 0, 1]))
    assert (x[..., OBS:].sum(dim=2) == 1).all()


@pytest.mark.parametrize("env", [{"kind": "chain", "n": 9}, {"kind": "gym", "id": "CartPole-v1"}])
def test_the_network_goes_from_observation_and_action_to_observation(env):
    spec = make_envs(build({"episodes": 1, "env": env, "algo": {"name": "dqn"}}).env, [0]).spec
    assert dynamics_layout(spec, (32, 8)).sizes == (spec.obs_dim + 2, 32, 8, spec.obs_dim)
