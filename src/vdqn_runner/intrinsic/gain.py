"""How much a transition would teach the dynamics model (Houthooft et al. 2016, section 2.5).

Shapes: S seeds, B samples, D components of an observation, A actions, P parameters of a row.
"""

import torch
from torch import Tensor

from vdqn_runner.layout import Layout
from vdqn_runner.nets import gaussian_mlp, row_sums


def information_gain(
    mu: Tensor,
    variance: Tensor,
    layout: Layout,
    x: Tensor,
    next_obs: Tensor,
    eps: Tensor,
    step: float,
) -> Tensor:
    """Return D_KL[q(theta; phi') || q(theta; phi)] ``[S]`` for one transition of each seed.

    phi' = phi + lambda delta is one step of Newton's method on

        l(phi') = D_KL[q(theta; phi') || q(theta; phi)] - E_q[log p(s' | s, a; theta)]

    from phi, where the divergence has no slope and the diagonal curvature H: 1 / sigma^2 for mu and
    2 (d sigma / d rho)^2 / sigma^2 for rho. With the slope g of the expected log-likelihood the
    step is delta = H^-1 g, and to second order the divergence is lambda^2 / 2 g^T H^-1 g. As
    g_rho = g_sigma d sigma / d rho and g_sigma = 2 sigma g_variance, rho cancels::

        g^T H^-1 g = sum_i sigma_i^2 g_mu_i^2 + 2 sigma_i^4 g_variance_i^2

    Args:
        mu: Means of the posterior, [S, P].
        variance: Squares of its sigma, [S, P].
        layout: Where the dynamics model's parameters lie.
        x: (s, a), B times the same, [S, B, D + A]: the expectation is a mean over B samples.
        next_obs: s', [S, 1, D].
        eps: Standard normals, [S, >= B * n_units].
        step: lambda.
    """
    mu, variance = mu.detach().requires_grad_(), variance.detach().requires_grad_()
    prediction = gaussian_mlp(mu, variance, layout, x, eps)
    # Of the mean over samples of log N(s'; f, 1), in f.
    slopes = (next_obs - prediction.detach()) / x.shape[1]
    g_mu, g_variance = torch.autograd.grad(prediction, [mu, variance], slopes)
    with torch.no_grad():
        terms = variance * g_mu.square() + 2.0 * (variance * g_variance).square()
        return 0.5 * step**2 * row_sums(terms)
