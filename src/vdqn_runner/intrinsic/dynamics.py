"""The dynamics model of VIME: a Bayesian neural network p(s' | s, a; theta).

The posterior is q(theta; phi) = N(mu, sigma^2) on every weight and bias, sigma = softplus(rho), the
prior N(0, sigma_prior^2), and the likelihood N(s'; f_theta(s, a), 1) in every component of s'
(Houthooft et al. 2016, sections 2.3 and 2.5).

Shapes: S seeds, B minibatch, D components of an observation, A actions, P parameters of a row.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from vdqn_runner.envs import EnvSpec
from vdqn_runner.layout import Layout
from vdqn_runner.nets import gaussian_mlp, kl_to_prior, row_sums, variance_and_entropy


def dynamics_layout(spec: EnvSpec, hidden: Sequence[int], device: str = "cpu") -> Layout:
    """Return the layout of f_theta, which maps (s, a) to the mean of s'."""
    return Layout([spec.obs_dim + spec.n_actions, *hidden, spec.obs_dim], device)


def observation_action(obs: Tensor, action: Tensor, n_actions: int) -> Tensor:
    """Return ``[S, B, D + A]``: ``obs`` [S, B, D], then ``action`` [S, B] as one of A."""
    one_hot = torch.nn.functional.one_hot(action, n_actions).to(obs)
    return torch.cat([obs, one_hot], dim=2)


def negative_lower_bound(
    mu: Tensor,
    rho: Tensor,
    layout: Layout,
    x: Tensor,
    next_obs: Tensor,
    eps: Tensor,
    *,
    sigma_prior: float,
    held: int,
) -> Tensor:
    """Return ``[S]``, minus the variational lower bound for each transition seen (section 2.3).

    ::

        L = E_q[log p(D | theta)] - D_KL[q(theta; phi) || p(theta)]

    with the mean over a minibatch, drawn from the ``held`` transitions of D, in place of that over
    D. One theta is drawn for each of its B transitions (section 2.5: local reparameterisation). The
    likelihood's constant, D / 2 log(2 pi), is left out.

    Args:
        mu: Means, [S, P].
        rho: sigma = softplus(rho), [S, P].
        layout: Where f_theta's parameters lie.
        x: (s, a), [S, B, D + A].
        next_obs: s', [S, B, D].
        eps: Standard normals, [S, >= B * n_units].
        sigma_prior: Standard deviation of the prior.
        held: How many transitions there are.
    """
    variance, h = variance_and_entropy(rho, layout)
    errors = next_obs - gaussian_mlp(mu, variance, layout, x, eps)
    log_likelihood = -0.5 * row_sums(errors.square().flatten(1)) / x.shape[1]
    return kl_to_prior(mu, variance, h, sigma_prior, layout) / held - log_likelihood
