"""Each compiled kernel against its torch form."""

import numpy as np
import pytest
import torch

from vdqn_runner import kernels, pointwise
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

pytestmark = pytest.mark.skipif(not kernels.available(), reason="no compiled kernels here")

S, P = 3, 192


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def both(monkeypatch, function, *arguments):
    """What ``function`` returns and makes of its tensors: compiled, then in torch."""

    def run():
        own = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
        result = function(*own)
        changed = [a for a in own if isinstance(a, torch.Tensor)]
        return ([] if result is None else [result]) + changed

    compiled = run()
    with monkeypatch.context() as patch:
        patch.setattr(kernels, "available", lambda: False)
        reference = run()
    return zip(compiled, reference, strict=True)


def close(pairs, rtol=2e-6, atol=1e-7):
    for one, two in pairs:
        torch.testing.assert_close(one, two, rtol=rtol, atol=atol)


def test_normals(monkeypatch):
    def draw():
        return NormalStreams.of([0, 1], Purpose.ACTING).draw(64_000)

    close(both(monkeypatch, draw), rtol=1e-5, atol=3e-6)


def test_softplus(monkeypatch):
    rho = torch.cat([torch.linspace(-60, 60, S * P - 8), torch.tensor([-1e4, -88.0, -87.0, 0.0])])
    rho = torch.cat([rho, torch.tensor([-1e-6, 1e-6, 88.0, 1e4])]).reshape(S, P)
    close(both(monkeypatch, pointwise.softplus, rho), atol=0.0)
    close(both(monkeypatch, pointwise.softplus_backward, normal(S, P), rho), atol=1e-37)


def test_log_sum(monkeypatch):
    sigma = torch.exp(normal(S, P) * 20.0).clamp(1e-30, 1e30)
    mask = (normal(P, seed=1) > 0).float()
    close(both(monkeypatch, pointwise.log_sum, sigma, mask), rtol=1e-5, atol=1e-4)
    close(both(monkeypatch, pointwise.log_sum_backward, normal(S, seed=2), sigma, mask), atol=0.0)


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("units", [1, 7, 100])
def test_gaussian_layer(monkeypatch, relu, units):
    mean, variance = normal(S, 5, units), normal(S, 5, units, seed=1).square()
    wide = normal(S, 5 * units + 13, seed=2)
    eps = wide.as_strided((S, 5, units), (wide.stride(0), units, 1), 3)

    def run(mean, variance):
        return pointwise.gaussian_layer(mean, variance, eps, relu)

    close(both(monkeypatch, run, mean, variance), atol=1e-6)


@pytest.mark.parametrize("units", [1, 7, 100])
def test_gaussian_backward(monkeypatch, units):
    grad, through = normal(S, 5, units), normal(S, 5, units, seed=1)
    h, std = normal(S, 5, units, seed=2).relu(), normal(S, 5, units, seed=3).abs()
    std[0, 0, 0] = 0.0
    wide = normal(S, 5 * units + 13, seed=4)
    eps = wide.as_strided((S, 5, units), (wide.stride(0), units, 1), 3)

    def variance(grad, std):
        return pointwise.gaussian_variance(grad, eps, std)

    def inputs(grad, through, h):
        return pointwise.gaussian_input(grad.clone(), through, h)

    close(both(monkeypatch, variance, grad, std), rtol=1e-5)
    close(both(monkeypatch, inputs, grad, through, h), atol=1e-6)


@pytest.mark.parametrize("step", [1, 2, 1000])
def test_adam(monkeypatch, step):
    rows, gradient = normal(S, P), normal(S, P, seed=1)
    first, second = normal(S, P, seed=2), normal(S, P, seed=3).square()
    lr = np.array([1e-3, 1e-1, 0.0])
    arguments = (rows, gradient, first, second, lr, (0.9, 0.999), 1e-8, step)
    close(both(monkeypatch, pointwise.adam, *arguments), rtol=1e-5, atol=1e-6)
