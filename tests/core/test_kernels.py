"""Each compiled kernel against its torch form."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from vdqn_runner import kernels, passes
from vdqn_runner.layout import Layout
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
    mask = (normal(P, seed=1) > 0).float()
    # The slope of sigma at its floor of 1e-30 is 0, or what is left of exp(-87) by it.
    for output, atol in enumerate([0.0, 0.0, 1e-7, 0.0]):
        pairs = both(monkeypatch, lambda *a, k=output: passes.softplus(*a)[k], rho, mask)
        close(pairs, atol=atol)


@pytest.mark.parametrize("length", [64, 256, 320, 20_352])
def test_log_sum(length):
    rho = 4.0 * normal(S, length)
    mask = (normal(length, seed=1) > 0).float()
    expected = (torch.nn.functional.softplus(rho.double()).log() * mask).sum(dim=1)
    sums = passes.softplus(rho, mask)[3]
    torch.testing.assert_close(sums.double(), expected, rtol=1e-6, atol=1e-4)


def test_what_is_not_kept_gives_the_same_values():
    layout = Layout([5, 100, 100, 2])
    mu, variance = normal(S, layout.length) * 0.1, normal(S, layout.length, seed=1).square() * 0.1
    for batch in (64, 1, 128):
        x, eps = normal(S, batch, 5, seed=2), normal(S, batch * layout.n_units, seed=4)
        kept, _ = passes.gaussian_forward(layout, mu, variance, x, eps, keep=True)
        assert torch.equal(
            kept, passes.gaussian_forward(layout, mu, variance, x, eps, keep=False)[0]
        )
        kept, _ = passes.mlp_forward(layout, mu, x, keep=True)
        assert torch.equal(kept, passes.mlp_forward(layout, mu, x, keep=False)[0])


def test_variational_gradient(monkeypatch):
    layout = Layout([3, 5, 2])
    size = layout.length
    rho = torch.linspace(-50.0, 20.0, S * size).reshape(S, size)
    _, variance, slope, _ = passes.softplus(rho, layout.mask)
    mu, x, eps = normal(S, size), normal(S, 4, 3, seed=1), normal(S, 4 * layout.n_units, seed=2)
    grad_q, grad_entropy = normal(S, 4, 2, seed=3), normal(S, seed=4)

    def run(mu, variance, slope, x, eps, grad_q, grad_entropy):
        saved = passes.gaussian_forward(layout, mu, variance, x, eps, keep=True)[1]
        rest = (x, eps, saved, grad_q, grad_entropy)
        return torch.cat(passes.variational_backward(layout, mu, variance, slope, *rest))

    arguments = (mu, variance, slope, x, eps, grad_q, grad_entropy)
    close(both(monkeypatch, run, *arguments), rtol=1e-3, atol=1e-4)


NETS = [[1, 1, 1], [4, 3], [3, 5, 2], [17, 16, 48, 3], [2, 49, 15, 100, 33], [50, 100, 100, 2]]


@pytest.mark.parametrize("sizes", NETS)
@pytest.mark.parametrize("batch", [1, 7, 8, 64])
def test_mlp(monkeypatch, sizes, batch):
    layout = Layout(sizes)
    rows, x = 0.2 * normal(S, layout.length), normal(S, batch, sizes[0], seed=1)
    grad_q = normal(S, batch, sizes[-1], seed=2)

    def run(rows, x, grad_q):
        q, saved = passes.mlp_forward(layout, rows, x, keep=True)
        return torch.cat(
            [q.reshape(-1), passes.mlp_backward(layout, rows, x, saved, grad_q).reshape(-1)]
        )

    close(both(monkeypatch, run, rows, x, grad_q), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sizes", NETS)
@pytest.mark.parametrize("batch", [1, 7, 8, 64])
def test_gaussian(monkeypatch, sizes, batch):
    layout = Layout(sizes)
    mu, variance = normal(S, layout.length) * 0.1, normal(S, layout.length, seed=1).square() * 0.1
    x, grad_q = normal(S, batch, sizes[0], seed=2), normal(S, batch, sizes[-1], seed=3)
    eps = normal(S, batch * layout.n_units, seed=4)

    def run(mu, variance, x, eps, grad_q):
        q, saved = passes.gaussian_forward(layout, mu, variance, x, eps, keep=True)
        grads = passes.gaussian_backward(layout, mu, variance, x, eps, saved, grad_q)
        return torch.cat([q.reshape(-1), *(grad.reshape(-1) for grad in grads)])

    close(both(monkeypatch, run, mu, variance, x, eps, grad_q), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("step", [1, 2, 1000])
def test_adam(monkeypatch, step):
    rows, gradient = normal(S, P), normal(S, P, seed=1)
    first, second = normal(S, P, seed=2), normal(S, P, seed=3).square()
    lr = np.array([1e-3, 1e-1, 0.0])
    arguments = (rows, gradient, first, second, lr, (0.9, 0.999), 1e-8, step)
    close(both(monkeypatch, passes.adam, *arguments), rtol=1e-5, atol=1e-6)


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
