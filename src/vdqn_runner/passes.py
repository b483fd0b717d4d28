"""The numerical work of an update: compiled where there is a compiler, else in torch.

Each function here has one meaning and two forms, the torch one being the reference: they agree
within rounding (tested). S seeds, P parameters of a padded row, B minibatch.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.adam import adam as torch_adam

from vdqn_runner import kernels
from vdqn_runner.layout import Layout

SMALLEST_SIGMA = 1e-30
_SMALLEST_STD = 1e-20
_TWO_PI_OVER_2_32 = 2.0 * np.pi / 2.0**32


def box_muller(bits: Tensor) -> Tensor:
    """Turn ``bits`` [S, n] (int32, uniform over all values) into standard normals [S, n].

    The first half of a row gives the radii, the second half the angles (Box and Muller, 1958).
    A radius has 26 bits, so that no draw exceeds 6.01.
    """
    half = bits.shape[1] // 2
    radius = bits[:, :half].to(torch.float32).mul_(2.0**-32).add_(0.5).clamp_min_(2.0**-26)
    radius = radius.log_().mul_(-2.0).sqrt_()
    angle = bits[:, half:].to(torch.float32).mul_(_TWO_PI_OVER_2_32)
    return torch.cat([radius * torch.cos(angle), angle.sin_().mul_(radius)], dim=1)


def softplus(rho: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return sigma = log(1 + exp(rho)) of ``rho`` [S, P], and what follows from it.

    Sigma is at least 1e-30, so that its logarithm is finite. The others are its square, its slope
    mask * d log(sigma) / d rho = mask * sigmoid(rho) / sigma, and ``log_sum(sigma, mask)``.
    """
    if kernels.available():
        return kernels.softplus(rho, mask)
    sigma = torch.nn.functional.softplus(rho).clamp_min_(SMALLEST_SIGMA)
    return sigma, sigma.square(), torch.sigmoid(rho).mul_(mask) / sigma, log_sum(sigma, mask)


def log_sum(sigma: Tensor, mask: Tensor) -> Tensor:
    """Return ``[S]``: the sum over each row of ``sigma`` [S, P] of mask * log(sigma)."""
    # By NumPy, row by row: torch cuts a long sum differently for other S and other thread counts.
    terms = (torch.log(sigma + (1.0 - mask)) * mask).numpy()
    return torch.from_numpy(np.array([row.sum(dtype=np.float64) for row in terms], np.float32))


def mlp_forward(layout: Layout, rows: Tensor, x: Tensor, keep: bool) -> tuple[Tensor, Any]:
    """Return Q-values ``[S, B, A]`` of an MLP with ReLU between layers.

    Beside them, if it is to be kept, what the backward pass needs.
    """
    if kernels.available():
        return kernels.mlp_forward(layout.net, rows, x, keep)
    inputs = []
    layers = layout.layers(rows)
    h = x
    for i, layer in enumerate(layers):
        inputs.append(h)
        h = torch.baddbmm(layer.bias, h, layer.weight)
        if i < len(layers) - 1:
            h = h.relu_()
    return h, inputs


def mlp_backward(layout: Layout, rows: Tensor, x: Tensor, saved: Any, grad_q: Tensor) -> Tensor:
    """Return the gradient rows ``[S, P]`` of a loss whose gradient in Q is ``grad_q``."""
    if kernels.available():
        return kernels.mlp_backward(layout.net, rows, x, saved, grad_q)
    grad = torch.zeros_like(rows)
    grads, layers = layout.layers(grad), layout.layers(rows)
    g = grad_q
    for i in reversed(range(len(grads))):
        h = saved[i]
        torch.bmm(h.transpose(1, 2), g, out=grads[i].weight)
        torch.sum(g, dim=1, keepdim=True, out=grads[i].bias)
        if i > 0:
            g = torch.bmm(g, layers[i].weight.transpose(1, 2)).mul_(h > 0)
    return grad


def gaussian_forward(
    layout: Layout, mu: Tensor, variance: Tensor, x: Tensor, eps: Tensor, keep: bool
) -> tuple[Tensor, Any]:
    """Return Q-values ``[S, B, A]`` by local reparameterisation.

    ``variance`` are rows [S, P] like mu, ``eps`` [S, >= B * units] one normal a unit. Beside the
    values, if it is to be kept, what the backward pass needs.
    """
    if kernels.available():
        return kernels.gaussian_forward(layout.net, mu, variance, x, eps, keep)
    mu_layers, var_layers = layout.layers(mu), layout.layers(variance)
    noise = layout.split_units(eps, x.shape[1])
    inputs, squares, stds = [], [], []
    h = x
    for i in range(len(mu_layers)):
        square = h.square()
        std = torch.baddbmm(var_layers[i].bias, square, var_layers[i].weight).sqrt_()
        inputs.append(h)
        squares.append(square)
        stds.append(std)
        h = torch.baddbmm(mu_layers[i].bias, h, mu_layers[i].weight).addcmul_(std, noise[i])
        if i < len(mu_layers) - 1:
            h = h.relu_()
    return h, (inputs, squares, stds)


def gaussian_backward(
    layout: Layout, mu: Tensor, variance: Tensor, x: Tensor, eps: Tensor, saved: Any, grad_q: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradient rows ``[S, P]`` with respect to mu and to the variances."""
    if kernels.available():
        return kernels.gaussian_backward(layout.net, mu, variance, x, eps, saved, grad_q, None)
    inputs, squares, stds = saved
    mu_layers, var_layers = layout.layers(mu), layout.layers(variance)
    noise = layout.split_units(eps, x.shape[1])
    grad_mu, grad_variance = torch.zeros_like(mu), torch.zeros_like(mu)
    mu_grads, var_grads = layout.layers(grad_mu), layout.layers(grad_variance)
    g = grad_q
    for i in reversed(range(len(mu_grads))):
        h, square, std = inputs[i], squares[i], stds[i]
        # d z / d variance = eps / (2 std); the floor matters only where sigma is exactly 0.
        g_var = (g * noise[i]).div_(std.clamp_min(_SMALLEST_STD)).mul_(0.5)
        torch.bmm(h.transpose(1, 2), g, out=mu_grads[i].weight)
        torch.sum(g, dim=1, keepdim=True, out=mu_grads[i].bias)
        torch.bmm(square.transpose(1, 2), g_var, out=var_grads[i].weight)
        torch.sum(g_var, dim=1, keepdim=True, out=var_grads[i].bias)
        if i > 0:
            g = torch.bmm(g, mu_layers[i].weight.transpose(1, 2))
            through = torch.bmm(g_var, var_layers[i].weight.transpose(1, 2))
            g.addcmul_(through, h, value=2.0).mul_(h > 0)
    return grad_mu, grad_variance


def variational_backward(
    layout: Layout,
    mu: Tensor,
    variance: Tensor,
    slope: Tensor,
    x: Tensor,
    eps: Tensor,
    saved: Any,
    grad_q: Tensor,
    grad_entropy: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the gradient rows ``[S, P]`` with respect to mu and to rho, sigma = softplus(rho).

    Of a loss whose gradient is ``grad_q`` in Q and ``grad_entropy`` [S] in the entropy. In
    log(sigma) it is 2 sigma^2 grad_variance + grad_entropy, and ``slope`` leads on to rho.
    """
    if kernels.available():
        return kernels.gaussian_backward(
            layout.net, mu, variance, x, eps, saved, grad_q, (grad_entropy, slope)
        )
    grad_mu, grad = gaussian_backward(layout, mu, variance, x, eps, saved, grad_q)
    return grad_mu, grad.mul_(variance).mul_(2.0).add_(grad_entropy.unsqueeze(1)).mul_(slope)


def adam(
    rows: Tensor,
    gradient: Tensor,
    moment1: Tensor,
    moment2: Tensor,
    lr: np.ndarray,
    betas: tuple[float, float],
    eps: float,
    step: int,
) -> None:
    """Take Adam step number ``step`` (from 1; Kingma and Ba, 2015) on ``rows`` [S, P], in place.

    ``lr`` [S] float64 is each seed's rate.
    """
    if kernels.available():
        kernels.adam(rows, gradient, moment1, moment2, lr, betas, eps, step)
        return
    for row, rate in enumerate(lr.tolist()):
        torch_adam(
            [rows[row]],
            [gradient[row]],
            [moment1[row]],
            [moment2[row]],
            [],
            [torch.tensor(float(step - 1))],
            fused=True,
            amsgrad=False,
            beta1=betas[0],
            beta2=betas[1],
            lr=rate,
            weight_decay=0.0,
            eps=eps,
            maximize=False,
        )
