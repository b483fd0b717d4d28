"""Multilayer perceptrons for S seeds on flat parameter rows, differentiable, on any device.

The torch code is the reference. Where ``kernels`` are compiled they give the same values and
gradients within rounding, faster.

Shapes: S seeds, B minibatch, P parameters of one seed's row (padded). Inputs ``x`` are vectors
``[S, B, in]``, or int32 numbers ``[S, B]`` of which the network sees the thermometer code.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from vdqn_runner import kernels
from vdqn_runner.layout import Layer, Layout
from vdqn_runner.streams import Purpose, generator

SMALLEST_SIGMA = 1e-30
_SMALLEST_VARIANCE = 1e-36


def features(layout: Layout, x: Tensor) -> Tensor:
    """Return what the network sees, ``[S, B, in]``: vectors as they are, numbers s as a code."""
    return vectors(x, layout.sizes[0])


def vectors(x: Tensor, length: int) -> Tensor:
    """Return ``x`` as vectors ``[S, B, length]``, numbers s as their thermometer code.

    The thermometer code of s is x_i = 1 for i <= s, else 0 (i from 1; appendix "Chain MDP").
    """
    if x.is_floating_point():
        return x
    places = torch.arange(length, device=x.device)
    return (places < x.unsqueeze(-1)).to(torch.float32)


def mlp(rows: Tensor, layout: Layout, x: Tensor) -> Tensor:
    """Q-values ``[S, B, A]`` of an MLP with parameters ``rows`` [S, P]; ReLU between layers."""
    if _compiled(rows, layout):
        return layout.values(_CompiledMLP.apply(rows, layout, x))  # type: ignore[no-untyped-call]
    layers = layout.layers(rows)
    h = features(layout, x)
    for i, layer in enumerate(layers):
        h = _affine(h, layer)
        if i < len(layers) - 1:
            h = torch.relu(h)
    return layout.values(h)


def gaussian_mlp(mu: Tensor, variance: Tensor, layout: Layout, x: Tensor, eps: Tensor) -> Tensor:
    """Q-values ``[S, B, A]``, each of the B rows with its own theta ~ N(mu, variance).

    Local reparameterisation (Kingma, Salimans and Welling, 2015): given a layer's input h, the
    pre-activations under an independent Gaussian on every weight and bias are independent
    Gaussians with mean ``h mu_W + mu_b`` and variance ``h^2 sigma_W^2 + sigma_b^2``. Drawing
    those has exactly the law of drawing theta anew for each row of the batch.

    ``mu`` and ``variance`` are rows [S, P]; ``eps`` [S, >= B * n_units] holds a standard normal
    for each unit, layer by layer (``Layout.split_units``).
    """
    if _compiled(mu, layout):
        outputs = _CompiledGaussian.apply(mu, variance, layout, x, eps)  # type: ignore[no-untyped-call]
        return layout.values(outputs)
    means, variances = layout.layers(mu), layout.layers(variance)
    h = features(layout, x)
    noise = layout.split_units(eps, h.shape[1])
    for i in range(len(means)):
        spread = _affine(h.square(), variances[i])
        # The floor keeps the root's slope finite where sigma is exactly 0.
        std = spread.clamp_min(_SMALLEST_VARIANCE).sqrt()
        h = torch.addcmul(_affine(h, means[i]), std, noise[i])
        if i < len(means) - 1:
            h = torch.relu(h)
    return layout.values(h)


class _CompiledMLP(torch.autograd.Function):
    """The outputs of an MLP and, backwards, the gradient rows, in the compiled kernels."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, layout: Layout, x: Tensor) -> Tensor:
        ctx.save_for_backward(rows, x)
        ctx.net = layout.net
        return kernels.mlp_forward(layout.net, rows, x)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        rows, x = ctx.saved_tensors
        return kernels.mlp_backward(ctx.net, rows, x, slopes[0].contiguous()), None, None


class _CompiledGaussian(torch.autograd.Function):
    """The same by local reparameterisation; gradients are of means and variances."""

    @staticmethod
    def forward(
        ctx: Any, mu: Tensor, variance: Tensor, layout: Layout, x: Tensor, eps: Tensor
    ) -> Tensor:
        ctx.save_for_backward(mu, variance, x, eps)
        ctx.net = layout.net
        return kernels.gaussian_forward(layout.net, mu, variance, x, eps)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        mu, variance, x, eps = ctx.saved_tensors
        grads = kernels.gaussian_backward(ctx.net, mu, variance, x, eps, slopes[0].contiguous())
        return *grads, None, None, None


def _compiled(rows: Tensor, layout: Layout) -> bool:
    """Whether the kernels can work on ``rows``: they know hidden layers and 32 bits."""
    known = len(layout.shapes) > 1 and rows.dtype == torch.float32 and rows.is_contiguous()
    return known and kernels.serve(rows)


def _affine(x: Tensor, layer: Layer) -> Tensor:
    """Return ``x W + b``, [S, B, out], of ``x`` [S, B, in]."""
    if x.device.type != "cpu":
        return torch.baddbmm(layer.bias, x, layer.weight)
    # Seed by seed: on some processors one product of all seeds is cut differently for other S.
    each = zip(layer.bias, x, layer.weight, strict=True)
    return torch.stack([torch.addmm(bias, inputs, weight) for bias, inputs, weight in each])


def sigma_of(rho: Tensor) -> Tensor:
    """Sigma = softplus(rho) = log(1 + exp(rho)), at least 1e-30 so that its logarithm is finite."""
    return torch.nn.functional.softplus(rho).clamp_min(SMALLEST_SIGMA)


def entropy(sigma: Tensor, layout: Layout) -> Tensor:
    """Entropy ``[S]`` of N(mu, sigma^2) up to a constant: the sum of log sigma_i (paper eq. 5).

    The constant left out is ``n_parameters / 2 * log(2 pi e)``; padding does not count.
    """
    mask = layout.mask
    return row_sums(torch.log(sigma + (1.0 - mask)) * mask).to(sigma.dtype)


def variance_and_entropy(rho: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Squares of sigma = softplus(rho), ``[S, P]``, and ``entropy`` [S]; differentiable."""
    if rho.dtype == torch.float32 and rho.is_contiguous() and kernels.serve(rho):
        pair: tuple[Tensor, Tensor] = _CompiledSpread.apply(rho, layout.mask)  # type: ignore[no-untyped-call]
        return pair
    sigma = sigma_of(rho)
    return sigma.square(), entropy(sigma, layout)


class _CompiledSpread(torch.autograd.Function):
    """The same in the compiled kernels; d sigma^2 / d rho = 2 sigma^2 d log(sigma) / d rho."""

    @staticmethod
    def forward(ctx: Any, rho: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        variance, slope = torch.empty_like(rho), torch.empty_like(rho)
        h = torch.empty(len(rho))
        kernels.softplus(rho, mask, variance, slope, h)
        ctx.save_for_backward(variance, slope)
        return variance, h

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        variance, slope = ctx.saved_tensors
        of_log_sigma = torch.addcmul(slopes[1].unsqueeze(1), variance, slopes[0], value=2.0)
        return of_log_sigma * slope, None


def kl_to_prior(
    mu: Tensor, variance: Tensor, h: Tensor, prior_sigma: float, layout: Layout
) -> Tensor:
    """Return KL(N(mu, sigma^2) || N(0, prior_sigma^2)) ``[S]`` over all parameters, float64.

    The sum of log(sigma_p / sigma) + (sigma^2 + mu^2) / (2 sigma_p^2) - 1 / 2, where ``h`` [S] is
    the sum of log sigma (``variance_and_entropy``).
    """
    constant = layout.n_parameters * (math.log(prior_sigma) - 0.5)
    return second_moment(mu, variance, layout) / (2.0 * prior_sigma**2) - h + constant


def second_moment(mu: Tensor, variance: Tensor, layout: Layout) -> Tensor:
    """Return E |theta|^2 ``[S]`` for these means and variances, float64; padding does not count."""
    return row_sums((mu.square() + variance) * layout.mask)


def row_sums(values: Tensor) -> Tensor:
    """Return the sum of each row of ``values`` [S, P], float64 [S]."""
    if values.device.type != "cpu":
        return values.sum(dim=1, dtype=torch.float64)
    # Row by row: one sum over all rows is cut differently for other S and other thread counts.
    return torch.stack([row.sum(dtype=torch.float64) for row in values])


def mlp_values(rows: Tensor, layout: Layout, x: Tensor) -> Tensor:
    """Q-values as ``mlp``, without a gradient."""
    with torch.no_grad():
        # Not through autograd's function, which takes longer than one observation does.
        if _compiled(rows, layout):
            return layout.values(kernels.mlp_forward(layout.net, rows, x))
        return mlp(rows, layout, x)


class Gaussian:
    """N(mu, sigma^2) on every parameter, as rows [S, P] that may change in place.

    Attributes:
        layout: Where the parameters lie.
        mu: Means.
        variance: Squares of sigma.
    """

    def __init__(
        self, layout: Layout, mu: Tensor, variance: Tensor, sigma: Tensor | None = None
    ) -> None:
        """``sigma`` is needed only where its sign has a meaning: in products of noise."""
        self.layout, self.mu, self.variance = layout, mu.detach(), variance
        self._sigma = None if sigma is None else sigma.detach()

    @property
    def sigma(self) -> Tensor:
        """Standard deviations [S, P]."""
        return self.variance.sqrt() if self._sigma is None else self._sigma

    def q(self, x: Tensor, eps: Tensor) -> Tensor:
        """Return Q-values as ``gaussian_mlp``, without a gradient."""
        layout, mu, variance = self.layout, self.mu, self.variance
        with torch.no_grad():
            if _compiled(mu, layout):
                return layout.values(kernels.gaussian_forward(layout.net, mu, variance, x, eps))
            return gaussian_mlp(mu, variance, layout, x, eps)


class Posterior:
    """What follows from rho, sigma = softplus(rho): kept, because several passes need it.

    Attributes:
        variance: Squares of sigma, [S, P].
        slope: d log(sigma) / d rho, 0 at padding, [S, P]; for the compiled update alone.
        entropy: Sum of log sigma_i, [S].
    """

    def __init__(self, layout: Layout, rho: Tensor) -> None:
        """``rho`` are rows [S, P]; call ``refresh`` when they change."""
        self._layout = layout
        self.variance, self.slope = torch.empty_like(rho), torch.empty_like(rho)
        self.entropy = torch.empty(len(rho), device=rho.device)
        self.refresh(rho)

    def refresh(self, rho: Tensor) -> None:
        """Recompute everything, in place."""
        with torch.no_grad():
            if kernels.serve(rho):
                mask = self._layout.mask
                kernels.softplus(rho, mask, self.variance, self.slope, self.entropy)
            else:
                sigma = sigma_of(rho)
                torch.square(sigma, out=self.variance)
                self.entropy.copy_(entropy(sigma, self._layout))


def softplus_inverse(sigma: float) -> float:
    """Return the rho for which softplus gives ``sigma`` (> 0)."""
    return sigma + math.log(-math.expm1(-sigma))


def uniform_rows(
    layout: Layout,
    seeds: Sequence[int],
    weight_bound: Callable[[int], float],
    bias_bound: Callable[[int], float],
    purpose: Purpose = Purpose.INIT,
    index: int | None = None,
) -> Tensor:
    """Return rows ``[S, P]``: U(-bound(fan_in), bound(fan_in)) for each parameter, padding 0.

    Seed k's row comes from its stream (k, purpose) alone, or (k, purpose, index) where there are
    several, counted from 1; layer by layer, weight before bias.
    """
    rows = torch.zeros(len(seeds), layout.length)
    layers = layout.layers(rows)
    for row, seed in enumerate(seeds):
        stream = generator(seed, purpose, *(() if index is None else (index,)))
        for layer, (n_in, n_out) in zip(layers, layout.shapes, strict=True):
            weight = stream.uniform(-1.0, 1.0, (n_in, n_out)) * weight_bound(n_in)
            bias = stream.uniform(-1.0, 1.0, n_out) * bias_bound(n_in)
            layer.weight[row] = torch.from_numpy(weight)
            layer.bias[row, 0] = torch.from_numpy(bias)
    return rows


def gaussian_rows(layout: Layout, seeds: Sequence[int], sigma: float) -> dict[str, Tensor]:
    """Return rows ``mu`` and ``rho`` to start from, with softplus(rho) = ``sigma``.

    Section "Implementation details": the recipe of Fortunato et al. (2017).
    """
    rho = softplus_inverse(sigma)
    return {
        "mu": uniform_rows(layout, seeds, lambda n_in: (3.0 / n_in) ** 0.5, lambda n_in: 0.0),
        "rho": rows_by_fan_in(layout, len(seeds), lambda n_in: rho),
    }


def rows_by_fan_in(layout: Layout, n_seeds: int, value: Callable[[int], float]) -> Tensor:
    """Return rows ``[S, P]`` that hold ``value(fan_in)`` at every parameter, padding 0."""
    rows = torch.zeros(n_seeds, layout.length)
    for layer, (n_in, _) in zip(layout.layers(rows), layout.shapes, strict=True):
        layer.weight.fill_(value(n_in))
        layer.bias.fill_(value(n_in))
    return rows
