"""Batched multilayer perceptrons whose parameters are one flat row per seed.

Shapes: S seeds, B minibatch, P parameters of one seed's row (padded), ``[S, B, in]`` inputs.

Every row starts and every parameter block lies on a multiple of 16 floats, and rows are a
multiple of 64 floats long. So a pointwise operation on whole rows treats each seed's numbers in
the same vector lanes whatever S is, and a batched matrix product sees the same alignment: seed
k's bits do not depend on the seeds beside it.

Gradients of the two network functions are written by hand, because they go straight into flat
rows; they are tested against autograd and against numerical differentiation.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vdqn_runner import pointwise
from vdqn_runner.streams import Purpose, generator

_BLOCK = 16
_ROW = 64


def _padded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


@dataclass(frozen=True)
class Layer:
    """Views of a layer's parameters inside rows: weight ``[S, in, out]``, bias ``[S, 1, out]``."""

    weight: Tensor
    bias: Tensor


class Layout:
    """Where the weights and biases of an MLP lie inside a flat row.

    ``sizes`` are the layer widths, inputs and outputs included: ``[obs, 100, 100, A]``.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.weight_at: list[int] = []
        self.bias_at: list[int] = []
        end = 0
        for n_in, n_out in self.shapes:
            self.weight_at.append(end)
            end += _padded(n_in * n_out, _BLOCK)
            self.bias_at.append(end)
            end += _padded(n_out, _BLOCK)
        self.length = _padded(end, _ROW)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of each layer."""
        return list(zip(self.sizes[:-1], self.sizes[1:], strict=True))

    @property
    def n_parameters(self) -> int:
        """How many parameters one seed has, padding not counted."""
        return sum(n_in * n_out + n_out for n_in, n_out in self.shapes)

    @property
    def n_units(self) -> int:
        """How many pre-activations one forward pass has: the hidden units and the outputs."""
        return sum(self.sizes[1:])

    def layers(self, rows: Tensor) -> list[Layer]:
        """Return views of ``rows`` [S, P], one ``Layer`` for each layer."""
        n_seeds, length = rows.shape
        views = []
        for (n_in, n_out), at_w, at_b in zip(
            self.shapes, self.weight_at, self.bias_at, strict=True
        ):
            offset = rows.storage_offset()
            weight = rows.as_strided((n_seeds, n_in, n_out), (length, n_out, 1), offset + at_w)
            bias = rows.as_strided((n_seeds, 1, n_out), (length, n_out, 1), offset + at_b)
            views.append(Layer(weight, bias))
        return views

    def mask(self) -> Tensor:
        """Return ``[P]``: 1 where a parameter lies, 0 in the padding."""
        mask = torch.zeros(1, self.length)
        for layer in self.layers(mask):
            layer.weight.fill_(1.0)
            layer.bias.fill_(1.0)
        return mask[0]

    def split_units(self, draws: Tensor, batch: int) -> list[Tensor]:
        """Cut ``draws`` [S, >= batch * n_units] into one ``[S, batch, out]`` for each layer."""
        n_seeds, length = draws.shape
        parts = []
        at = 0
        for n_out in self.sizes[1:]:
            parts.append(
                draws.as_strided(
                    (n_seeds, batch, n_out), (length, n_out, 1), draws.storage_offset() + at
                )
            )
            at += batch * n_out
        return parts


class _MLP(torch.autograd.Function):
    """Q-values of an MLP with ReLU between layers; gradient with respect to the rows only."""

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any, rows: Tensor, layout: Layout, layers: list[Layer], x: Tensor
    ) -> Tensor:
        inputs = []
        h = x
        for i, layer in enumerate(layers):
            inputs.append(h)
            h = torch.baddbmm(layer.bias, h, layer.weight)
            if i < len(layers) - 1:
                h = h.relu_()
        ctx.layout, ctx.layers, ctx.inputs, ctx.rows = layout, layers, inputs, rows
        return h

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # noqa: D102
        (g,) = grad_outputs
        grad = torch.zeros_like(ctx.rows)
        grads = ctx.layout.layers(grad)
        for i in reversed(range(len(grads))):
            h = ctx.inputs[i]
            torch.bmm(h.transpose(1, 2), g, out=grads[i].weight)
            torch.sum(g, dim=1, keepdim=True, out=grads[i].bias)
            if i > 0:
                g = torch.bmm(g, ctx.layers[i].weight.transpose(1, 2))
                g = torch.ops.aten.threshold_backward(g, h, 0.0)
        return grad, None, None, None


class _GaussianMLP(torch.autograd.Function):
    """Q-values of an MLP with Gaussian weights, by local reparameterisation."""

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any, mu: Tensor, sigma: Tensor, gaussian: "Gaussian", x: Tensor, eps: list[Tensor]
    ) -> Tensor:
        mu_layers, var_layers = gaussian.mu_layers, gaussian.variance_layers
        inputs, squares, stds = [], [], []
        h = x
        square = x * x
        for i in range(len(mu_layers)):
            inputs.append(h)
            squares.append(square)
            std = torch.baddbmm(var_layers[i].bias, square, var_layers[i].weight)
            h = torch.baddbmm(mu_layers[i].bias, h, mu_layers[i].weight)
            square = pointwise.gaussian_layer(h, std, eps[i], relu=i < len(mu_layers) - 1)
            stds.append(std)
        ctx.layout, ctx.mu, ctx.sigma, ctx.eps = gaussian.layout, mu, sigma, eps
        ctx.mu_layers, ctx.var_layers = mu_layers, var_layers
        ctx.inputs, ctx.squares, ctx.stds = inputs, squares, stds
        return h

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # noqa: D102
        (g,) = grad_outputs
        grad_mu = torch.zeros_like(ctx.mu)
        grad_var = torch.zeros_like(ctx.sigma)
        mu_grads, var_grads = ctx.layout.layers(grad_mu), ctx.layout.layers(grad_var)
        for i in reversed(range(len(mu_grads))):
            h, square, std = ctx.inputs[i], ctx.squares[i], ctx.stds[i]
            g_var = pointwise.gaussian_variance(g, ctx.eps[i], std)
            torch.bmm(h.transpose(1, 2), g, out=mu_grads[i].weight)
            torch.sum(g, dim=1, keepdim=True, out=mu_grads[i].bias)
            torch.bmm(square.transpose(1, 2), g_var, out=var_grads[i].weight)
            torch.sum(g_var, dim=1, keepdim=True, out=var_grads[i].bias)
            if i > 0:
                g = torch.bmm(g, ctx.mu_layers[i].weight.transpose(1, 2))
                through_square = torch.bmm(g_var, ctx.var_layers[i].weight.transpose(1, 2))
                g = pointwise.gaussian_input(g, through_square, h)
        grad_sigma = grad_var.mul_(ctx.sigma).mul_(2.0)
        return grad_mu, grad_sigma, None, None, None


@dataclass(frozen=True)
class Gaussian:
    """What is derived once from the rows of a Gaussian on the weights: views and variances."""

    layout: Layout
    mu_layers: list[Layer]
    variance_layers: list[Layer]

    @classmethod
    def of(cls, layout: Layout, mu: Tensor, sigma: Tensor) -> "Gaussian":
        """Derive them from ``mu`` and ``sigma`` [S, P]; stale once either changes."""
        with torch.no_grad():
            return cls(layout, layout.layers(mu), layout.layers(sigma * sigma))


def mlp(rows: Tensor, layout: Layout, x: Tensor, layers: list[Layer] | None = None) -> Tensor:
    """Q-values ``[S, B, A]`` of an MLP with parameters ``rows`` [S, P] at inputs ``x`` [S, B, in].

    ``layers`` may hand in ``layout.layers(rows)`` where it is at hand. Differentiable once with
    respect to ``rows``.
    """
    q: Tensor = _MLP.apply(rows, layout, layers or layout.layers(rows), x)  # type: ignore[no-untyped-call]
    return q


def gaussian_mlp(
    mu: Tensor,
    sigma: Tensor,
    layout: Layout,
    x: Tensor,
    eps: list[Tensor],
    gaussian: Gaussian | None = None,
) -> Tensor:
    """Q-values ``[S, B, A]``, each of the B rows with its own theta ~ N(mu, sigma^2).

    Local reparameterisation (Kingma, Salimans and Welling, 2015): given a layer's input h, the
    pre-activations under an independent Gaussian on every weight and bias are independent
    Gaussians with mean ``h mu_W + mu_b`` and variance ``h^2 sigma_W^2 + sigma_b^2``. Drawing
    those has exactly the law of drawing theta anew for each row of the batch.

    ``eps`` holds one standard normal ``[S, B, out]`` for each layer (``Layout.split_units``);
    ``gaussian`` may hand in ``Gaussian.of(layout, mu, sigma)`` where it is at hand.
    Differentiable once with respect to ``mu`` and ``sigma`` (both [S, P]).
    """
    ready = gaussian or Gaussian.of(layout, mu, sigma)
    q: Tensor = _GaussianMLP.apply(mu, sigma, ready, x, eps)  # type: ignore[no-untyped-call]
    return q


class _LogSum(torch.autograd.Function):
    """Sum of log sigma over each row."""

    @staticmethod
    def forward(ctx: Any, sigma: Tensor, mask: Tensor) -> Tensor:  # noqa: D102
        ctx.save_for_backward(sigma, mask)
        return pointwise.log_sum(sigma, mask)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # noqa: D102
        return pointwise.log_sum_backward(grad_outputs[0].contiguous(), *ctx.saved_tensors), None


def entropy(sigma: Tensor, mask: Tensor) -> Tensor:
    """Entropy ``[S]`` of q_phi up to a constant: the sum of log sigma_i (paper eq. 5).

    The constant left out is ``n_parameters / 2 * log(2 pi e)``. ``mask`` [P] leaves out padding.
    """
    value: Tensor = _LogSum.apply(sigma, mask)  # type: ignore[no-untyped-call]
    return value


class _Softplus(torch.autograd.Function):
    """sigma = softplus(rho) whose value is already known."""

    @staticmethod
    def forward(ctx: Any, rho: Tensor, value: Tensor) -> Tensor:  # noqa: D102
        ctx.save_for_backward(rho)
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # noqa: D102
        return pointwise.softplus_backward(grad_outputs[0].contiguous(), *ctx.saved_tensors), None


def softplus_inverse(sigma: float) -> float:
    """Return the rho for which softplus gives ``sigma`` (> 0)."""
    return sigma + math.log(-math.expm1(-sigma))


def differentiable_sigma(rho: Tensor, sigma: Tensor) -> Tensor:
    """Return ``sigma``, the known value of softplus(rho), as a function of ``rho`` for autograd."""
    value: Tensor = _Softplus.apply(rho, sigma)  # type: ignore[no-untyped-call]
    return value


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
