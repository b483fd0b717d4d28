"""Multilayer perceptrons for S seeds, differentiable in their flat parameter rows.

Shapes: S seeds, B minibatch, P parameters of one seed's row (padded), ``[S, B, in]`` inputs.

The gradients are written by hand, because they go straight into flat rows; they are tested
against autograd and against numerical differentiation.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from vdqn_runner import passes
from vdqn_runner.layout import Layout
from vdqn_runner.streams import Purpose, generator


class _MLP(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, layout: Layout, x: Tensor) -> Tensor:
        q, saved = passes.mlp_forward(layout, rows, x, keep=True)
        ctx.context = (layout, rows, x, saved)
        return q

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        layout, rows, x, saved = ctx.context
        grad_q = grad_outputs[0].contiguous()
        return passes.mlp_backward(layout, rows, x, saved, grad_q), None, None


class _GaussianMLP(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, mu: Tensor, sigma: Tensor, layout: Layout, x: Tensor, eps: Tensor
    ) -> Tensor:
        variance = sigma * sigma
        q, saved = passes.gaussian_forward(layout, mu, variance, x, eps, keep=True)
        ctx.context, ctx.sigma = (layout, mu, variance, x, eps, saved), sigma
        return q

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        layout, mu, variance, x, eps, saved = ctx.context
        grad_q = grad_outputs[0].contiguous()
        grad_mu, grad = passes.gaussian_backward(layout, mu, variance, x, eps, saved, grad_q)
        return grad_mu, grad.mul_(ctx.sigma).mul_(2.0), None, None, None


class _VariationalMLP(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, mu: Tensor, rho: Tensor, posterior: "Posterior", x: Tensor, eps: Tensor
    ) -> tuple[Tensor, Tensor]:
        layout, variance = posterior.layout, posterior.gaussian.variance
        q, saved = passes.gaussian_forward(layout, mu, variance, x, eps, keep=True)
        ctx.context = (layout, mu, variance, posterior.slope, x, eps, saved)
        return q, posterior.entropy.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        grad_q, grad_entropy = (grad.contiguous() for grad in grad_outputs)
        layout, mu, variance, slope, x, eps, saved = ctx.context
        grad_mu, grad_rho = passes.variational_backward(
            layout, mu, variance, slope, x, eps, saved, grad_q, grad_entropy
        )
        return grad_mu, grad_rho, None, None, None


class _Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sigma: Tensor, mask: Tensor) -> Tensor:
        ctx.context = (sigma, mask)
        return passes.log_sum(sigma, mask)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        sigma, mask = ctx.context
        return grad_outputs[0].unsqueeze(1) * mask / sigma, None


def mlp(rows: Tensor, layout: Layout, x: Tensor) -> Tensor:
    """Q-values ``[S, B, A]`` of an MLP with parameters ``rows`` [S, P] at inputs ``x`` [S, B, in].

    ReLU between layers. Differentiable once with respect to ``rows``.
    """
    q: Tensor = _MLP.apply(rows, layout, x)  # type: ignore[no-untyped-call]
    return q


def mlp_values(rows: Tensor, layout: Layout, x: Tensor) -> Tensor:
    """Q-values as ``mlp``, without a gradient."""
    return passes.mlp_forward(layout, rows.detach(), x, keep=False)[0]


def gaussian_mlp(mu: Tensor, sigma: Tensor, layout: Layout, x: Tensor, eps: Tensor) -> Tensor:
    """Q-values ``[S, B, A]``, each of the B rows with its own theta ~ N(mu, sigma^2).

    Local reparameterisation (Kingma, Salimans and Welling, 2015): given a layer's input h, the
    pre-activations under an independent Gaussian on every weight and bias are independent
    Gaussians with mean ``h mu_W + mu_b`` and variance ``h^2 sigma_W^2 + sigma_b^2``. Drawing
    those has exactly the law of drawing theta anew for each row of the batch.

    ``eps`` [S, >= B * n_units] holds a standard normal for each unit, layer by layer
    (``Layout.split_units``). Differentiable once with respect to ``mu`` and ``sigma`` ([S, P]).
    """
    q: Tensor = _GaussianMLP.apply(mu, sigma, layout, x, eps)  # type: ignore[no-untyped-call]
    return q


class Gaussian:
    """N(mu, sigma^2) on every parameter, for one state of the rows ``mu`` and ``sigma`` [S, P].

    What follows from the rows is computed once; make a new one when they change.
    """

    def __init__(
        self, layout: Layout, mu: Tensor, sigma: Tensor, variance: Tensor | None = None
    ) -> None:
        """``variance`` is the square of ``sigma``, where it is known."""
        self.layout, self.mu, self.sigma = layout, mu.detach(), sigma.detach()
        self.variance = self.sigma.square() if variance is None else variance

    def q(self, x: Tensor, eps: Tensor) -> Tensor:
        """Return Q-values as ``gaussian_mlp``, without a gradient."""
        return passes.gaussian_forward(self.layout, self.mu, self.variance, x, eps, keep=False)[0]


class Posterior:
    """q_phi(theta): a ``Gaussian`` with sigma = softplus(rho), differentiable in mu and rho."""

    def __init__(self, layout: Layout, mu: Tensor, rho: Tensor) -> None:
        """``mu`` and ``rho`` are rows [S, P]; make a new one when they change."""
        self.layout, self.mu, self.rho = layout, mu, rho
        sigma, variance, self.slope, self.entropy = passes.softplus(rho.detach(), layout.mask)
        self.gaussian = Gaussian(layout, mu, sigma, variance)

    def q_and_entropy(self, x: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        """Return Q-values as ``gaussian_mlp`` and the entropy as ``entropy``.

        Both are differentiable once with respect to mu and rho.
        """
        both: tuple[Tensor, Tensor] = _VariationalMLP.apply(  # type: ignore[no-untyped-call]
            self.mu, self.rho, self, x, eps
        )
        return both


def entropy(sigma: Tensor, layout: Layout) -> Tensor:
    """Entropy ``[S]`` of N(mu, sigma^2) up to a constant: the sum of log sigma_i (paper eq. 5).

    The constant left out is ``n_parameters / 2 * log(2 pi e)``; padding does not count.
    Differentiable once with respect to ``sigma`` [S, P].
    """
    value: Tensor = _Entropy.apply(sigma, layout.mask)  # type: ignore[no-untyped-call]
    return value


def softplus_inverse(sigma: float) -> float:
    """Return the rho for which softplus gives ``sigma`` (> 0)."""
    return sigma + math.log(-math.expm1(-sigma))


def uniform_rows(
    layout: Layout,
    seeds: Sequence[int],
    weight_bound: Callable[[int], float],
    bias_bound: Callable[[int], float],
) -> Tensor:
    """Return rows ``[S, P]``: U(-bound(fan_in), bound(fan_in)) for each parameter, padding 0.

    Seed k's row comes from its stream (k, INIT) alone, layer by layer, weight before bias.
    """
    rows = torch.zeros(len(seeds), layout.length)
    layers = layout.layers(rows)
    for row, seed in enumerate(seeds):
        stream = generator(seed, Purpose.INIT)
        for layer, (n_in, n_out) in zip(layers, layout.shapes, strict=True):
            weight = stream.uniform(-1.0, 1.0, (n_in, n_out)) * weight_bound(n_in)
            bias = stream.uniform(-1.0, 1.0, n_out) * bias_bound(n_in)
            layer.weight[row] = torch.from_numpy(weight)
            layer.bias[row, 0] = torch.from_numpy(bias)
    return rows


def rows_by_fan_in(layout: Layout, n_seeds: int, value: Callable[[int], float]) -> Tensor:
    """Return rows ``[S, P]`` that hold ``value(fan_in)`` at every parameter, padding 0."""
    rows = torch.zeros(n_seeds, layout.length)
    for layer, (n_in, _) in zip(layout.layers(rows), layout.shapes, strict=True):
        layer.weight.fill_(value(n_in))
        layer.bias.fill_(value(n_in))
    return rows
