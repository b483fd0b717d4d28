"""The pointwise work of an update: compiled where there is a compiler, else in torch.

Each function here has one meaning and two forms, the torch one being the reference: they agree
within rounding (tested). S seeds, P parameters of a padded row, B minibatch.
"""

import numpy as np
import torch
from torch import Tensor
from torch.optim.adam import adam as torch_adam

from vdqn_runner import kernels

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


def softplus(rho: Tensor) -> Tensor:
    """Return sigma = log(1 + exp(rho)) of ``rho`` [S, P], at least 1e-30: its log is finite."""
    if kernels.available():
        return kernels.softplus(rho)
    return torch.nn.functional.softplus(rho).clamp_min_(SMALLEST_SIGMA)


def softplus_backward(grad: Tensor, rho: Tensor) -> Tensor:
    """Return the gradient [S, P] with respect to ``rho`` from that with respect to sigma."""
    if kernels.available():
        return kernels.softplus_backward(grad, rho)
    return torch.sigmoid(rho).mul_(grad)


def log_sum(sigma: Tensor, mask: Tensor) -> Tensor:
    """Return ``[S]``: the sum over each row of ``sigma`` [S, P] of mask * log(sigma)."""
    if kernels.available():
        return kernels.log_sum(sigma, mask)
    # A product per seed: a plain sum over [S, P] may be cut differently for other S.
    logs = torch.log(sigma + (1.0 - mask))
    return torch.bmm(logs.unsqueeze(1), mask.expand(len(sigma), -1).unsqueeze(2)).reshape(-1)


def log_sum_backward(grad: Tensor, sigma: Tensor, mask: Tensor) -> Tensor:
    """Return ``[S, P]``: grad [S] * mask [P] / sigma [S, P]."""
    if kernels.available():
        return kernels.log_sum_backward(grad, sigma, mask)
    return grad.unsqueeze(1) * mask / (sigma + (1.0 - mask))


def gaussian_layer(mean: Tensor, variance: Tensor, eps: Tensor, relu: bool) -> Tensor:
    """Turn ``mean`` into mean + std * eps, through a ReLU if asked, and ``variance`` into std.

    Both in place, all ``[S, B, out]``. Returns the square of the output of a hidden layer (one
    with a ReLU), else an empty tensor.
    """
    if kernels.available():
        return kernels.gaussian_layer(mean, variance, eps, relu)
    mean.addcmul_(variance.sqrt_(), eps)
    return mean.relu_().square() if relu else torch.empty(0)


def gaussian_variance(grad: Tensor, eps: Tensor, std: Tensor) -> Tensor:
    """Return grad * eps / (2 std): the gradient with respect to a layer's variance.

    All ``[S, B, out]``. The floor of 1e-20 under std matters only where sigma is exactly 0.
    """
    if kernels.available():
        return kernels.gaussian_variance(grad, eps, std)
    return (grad * eps).div_(std.clamp_min(_SMALLEST_STD)).mul_(0.5)


def gaussian_input(grad: Tensor, through: Tensor, h: Tensor) -> Tensor:
    """Return (grad + 2 h through) where the ReLU's output ``h`` is above 0, else 0.

    All ``[S, B, in]``; ``through`` is the gradient with respect to the square of h. ``grad`` is
    overwritten.
    """
    if kernels.available():
        kernels.gaussian_input(grad, through, h)
        return grad
    return grad.addcmul_(through, h, value=2.0).mul_(h > 0)


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
