"""The compiled kernels against torch, and each seed's bits against those of the seed alone."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from vdqn_runner import kernels
from vdqn_runner.layout import Layout
from vdqn_runner.nets import gaussian_mlp, mlp
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

pytestmark = pytest.mark.skipif(not kernels.available(), reason="no compiled kernels here")

S = 3


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def test_normals(monkeypatch):
    def draw():
        return NormalStreams.of([0, 1], Purpose.ACTING).draw(64_000)

    compiled = draw()
    monkeypatch.setattr(kernels, "available", lambda: False)
    torch.testing.assert_close(compiled, draw(), rtol=1e-5, atol=3e-6)


def softplus(rho, mask):
    variance, slope, log_sums = torch.empty_like(rho), torch.empty_like(rho), torch.empty(len(rho))
    kernels.softplus(rho, mask, variance, slope, log_sums)
    return variance, slope, log_sums


def test_softplus_against_double_precision():
    rho = torch.cat([torch.linspace(-60, 60, S * 192 - 8), torch.tensor([-1e4, -88.0, -87.0, 0.0])])
    rho = torch.cat([rho, torch.tensor([-1e-6, 1e-6, 88.0, 1e4])]).reshape(S, 192)
    mask = (normal(192, seed=1) > 0).float()
    variance, slope, log_sums = (t.double() for t in softplus(rho, mask))
    x = rho.double()
    sigma = torch.nn.functional.softplus(x).clamp_min(1e-30)
    # Far left the square is below the smallest float, and sigma at its floor.
    torch.testing.assert_close(variance, sigma.square(), rtol=2e-6, atol=1e-37)
    torch.testing.assert_close(slope, mask * torch.sigmoid(x) / sigma, rtol=2e-6, atol=1e-7)
    torch.testing.assert_close(log_sums, (mask * sigma.log()).sum(dim=1), rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_in_rho_stays_so(bad):
    """A seed is given up by what it reports, so nothing may hide a parameter that is lost."""
    rho = torch.zeros(S, 128)
    rho[1, 70] = bad
    variance, _, _ = softplus(rho, torch.ones(128))
    assert torch.isfinite(variance).sum() == S * 128 - 1
    assert not torch.isfinite(variance[1, 70])


@pytest.mark.parametrize("length", [64, 256, 320, 20_352])
def test_log_sum(length):
    rho = 4.0 * normal(S, length)
    mask = (normal(length, seed=1) > 0).float()
    expected = (torch.nn.functional.softplus(rho.double()).log() * mask).sum(dim=1)
    torch.testing.assert_close(softplus(rho, mask)[2].double(), expected, rtol=1e-6, atol=1e-4)


NETS = [[1, 1, 1], [3, 5, 2], [17, 16, 48, 3], [2, 49, 15, 100, 33], [50, 100, 100, 2]]


def inputs(sizes, batch, states):
    if not states:
        return normal(S, batch, sizes[0], seed=3)
    numbers = np.random.default_rng(3).integers(0, sizes[0] + 1, (S, batch))
    return torch.from_numpy(numbers.astype(np.int32))


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("sizes", NETS)
@pytest.mark.parametrize("batch", [1, 7, 8, 64])
def test_forward_passes(sizes, batch, states, monkeypatch):
    layout, x = Layout(sizes), inputs(sizes, batch, states)
    mu, variance = 0.2 * normal(S, layout.length), normal(S, layout.length, seed=1).square() * 0.1
    eps = normal(S, batch * layout.n_units + 5, seed=4)
    # The networks themselves use the kernels where they are; the reference is the torch form.
    monkeypatch.setattr(kernels, "available", lambda: False)
    for compiled, reference in [
        (kernels.mlp_forward(layout.net, mu, x), mlp(mu, layout, x)),
        (
            kernels.gaussian_forward(layout.net, mu, variance, x, eps),
            gaussian_mlp(mu, variance, layout, x, eps),
        ),
    ]:
        torch.testing.assert_close(compiled, reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_in", [64, 200, 407])
@pytest.mark.parametrize("batch", [1, 9, 64])
@pytest.mark.parametrize("of_each", [1, 3, 7])
def test_zeros_of_wide_inputs_change_no_bit(n_in, batch, of_each):
    """Long inputs with few numbers, as in deep sea, and the short ones without the zeros."""
    rng = np.random.default_rng(5)
    columns = np.sort(rng.choice(n_in, 40, replace=False))
    short = np.zeros((S, batch, 40), np.float32)
    for row in short.reshape(-1, 40):
        row[rng.choice(40, of_each, replace=False)] = rng.normal(size=of_each)
    long = np.zeros((S, batch, n_in), np.float32)
    long[:, :, columns] = short
    wide, narrow = Layout([n_in, 33, 20, 3]), Layout([40, 33, 20, 3])

    def both(seed):
        """Equal rows, but for the weights of inputs that are always 0."""
        one, other = normal(S, wide.length, seed=seed), torch.zeros(S, narrow.length)
        first, *rest = wide.layers(one)
        small, *small_rest = narrow.layers(other)
        small.weight.copy_(first.weight[:, columns])
        small.bias.copy_(first.bias)
        for to, of in zip(small_rest, rest, strict=True):
            to.weight.copy_(of.weight)
            to.bias.copy_(of.bias)
        return (0.3 * one).contiguous(), (0.3 * other).contiguous()

    eps, slopes = normal(S, batch * wide.n_units, seed=4), normal(S, batch, 3, seed=6)
    mu, variance = both(1), [part.square() for part in both(2)]
    layouts, x = (wide, narrow), [torch.from_numpy(part) for part in (long, short)]

    def everything(i):
        net = layouts[i].net
        gaussian = (net, mu[i], variance[i], x[i], eps)
        return (
            [kernels.mlp_forward(net, mu[i], x[i]), kernels.gaussian_forward(*gaussian)],
            [
                kernels.mlp_backward(net, mu[i], x[i], slopes),
                *kernels.gaussian_backward(*gaussian, slopes),
            ],
        )

    (values, grads), (wanted, wanted_grads) = everything(0), everything(1)
    assert all(torch.equal(*pair) for pair in zip(values, wanted, strict=True))
    never = np.setdiff1d(np.arange(n_in), columns)
    for grad, wanted_grad in zip(grads, wanted_grads, strict=True):
        (first, *rest), (small, *small_rest) = wide.layers(grad), narrow.layers(wanted_grad)
        assert torch.equal(first.weight[:, columns], small.weight)
        assert (first.weight[:, never] == 0).all()
        assert torch.equal(first.bias, small.bias)
        for one, other in zip(rest, small_rest, strict=True):
            assert torch.equal(one.weight, other.weight) and torch.equal(one.bias, other.bias)


@pytest.mark.parametrize(
    ("settings", "printed"),
    [
        ({"VDQN_KERNELS": "off"}, "torch"),
        ({"CC": "false"}, "torch"),
        ({"CC": "no-such-compiler"}, "torch"),
        ({"XDG_CACHE_HOME": "/dev/null"}, "compiled"),
        ({"VDQN_KERNELS": "of"}, "must be off or not set"),
    ],
)
def test_which_form_is_in_use(settings, printed):
    code = "from vdqn_runner import kernels; print(kernels.engine())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | settings, capture_output=True, text=True
    )
    assert printed in done.stdout + done.stderr
    assert ("training is slower" in done.stderr) == ("CC" in settings)
