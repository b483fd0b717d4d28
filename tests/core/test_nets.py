"""The batched networks against formulas written out, autograd and numerical differentiation."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from plain_nets import parameters, plain_gaussian_mlp, plain_mlp
from scipy import stats
from torch.distributions import Normal

from vdqn_runner.layout import Layout
from vdqn_runner.nets import (
    SMALLEST_SIGMA,
    Gaussian,
    Posterior,
    entropy,
    features,
    gaussian_mlp,
    mlp,
    mlp_values,
    rows_by_fan_in,
    sigma_of,
    softplus_inverse,
    uniform_rows,
    variance_and_entropy,
)

SIZES = [[3, 5, 2], [7, 20, 33, 4], [5, 100, 100, 2], [1, 1, 1], [4, 3]]
S, B = 3, 6


def normal(*shape, seed=0, scale=1.0):
    values = np.random.default_rng(seed).normal(0.0, scale, shape)
    return torch.from_numpy(values.astype(np.float32))


def case(sizes):
    """Random rows (padding filled too), sigmas, inputs, noise and output weights."""
    layout = Layout(sizes)
    mu = normal(S, layout.length, seed=1, scale=0.5)
    sigma = normal(S, layout.length, seed=2, scale=0.3).abs() + 0.05
    x = normal(S, B, sizes[0], seed=3)
    eps = normal(S, B * layout.n_units, seed=4)
    return layout, mu, sigma, x, eps, normal(S, B, sizes[-1], seed=99)


@pytest.mark.parametrize("sizes", SIZES)
def test_layout_gives_each_parameter_a_place_of_its_own(sizes):
    layout = Layout(sizes)
    assert layout.length % 64 == 0
    assert all(at % 16 == 0 for at in layout.weight_at + layout.bias_at)
    count = sum(a * b + b for a, b in zip(sizes[:-1], sizes[1:], strict=True))
    assert layout.n_parameters == count
    assert layout.n_units == sum(sizes[1:])
    assert layout.mask.sum() == count
    rows = torch.zeros(2, layout.length)
    for number, layer in enumerate(layout.layers(rows), start=1):
        assert (layer.weight == 0).all() and (layer.bias == 0).all()
        layer.weight.fill_(number)
        layer.bias.fill_(-number)
    assert ((rows != 0) == layout.mask.bool()).all()


def test_layers_are_views_of_each_seeds_row():
    layout = Layout([2, 3, 1])
    rows = torch.arange(2 * layout.length, dtype=torch.float32).reshape(2, -1)
    for seed in range(2):
        for layer, (weight, bias) in zip(
            layout.layers(rows), parameters(layout, rows[seed]), strict=True
        ):
            assert torch.equal(layer.weight[seed].double(), weight)
            assert torch.equal(layer.bias[seed, 0].double(), bias)


def test_units_are_cut_without_overlap():
    layout, batch = Layout([3, 5, 2]), 4
    draws = torch.arange(2 * 64, dtype=torch.float32).reshape(2, 64)
    parts = layout.split_units(draws, batch)
    assert [part.shape for part in parts] == [(2, batch, 5), (2, batch, 2)]
    for seed in range(2):
        got = torch.cat([part[seed].reshape(-1) for part in parts])
        assert torch.equal(got, draws[seed, : batch * layout.n_units])


def test_units_are_cut_from_each_seeds_own_draws_inside_a_wider_block():
    layout = Layout([3, 5, 2])
    block = torch.arange(3 * 100, dtype=torch.float32).reshape(3, 100)
    draws = block[:, 21 : 21 + layout.n_units]
    for seed in range(3):
        got = torch.cat([part[seed].reshape(-1) for part in layout.split_units(draws, 1)])
        assert torch.equal(got, draws[seed])


@pytest.mark.parametrize("sizes", SIZES)
def test_mlp_and_its_gradient_are_those_of_the_formula(engine, sizes):
    layout, rows, _, x, _, weights = case(sizes)
    rows.requires_grad_()
    q = mlp(rows, layout, x)
    (grad,) = torch.autograd.grad((q * weights).sum(), rows)
    plain_rows = rows.detach().double().requires_grad_()
    plain_q = torch.stack([plain_mlp(layout, plain_rows[k], x[k]) for k in range(S)])
    (plain_grad,) = torch.autograd.grad((plain_q * weights).sum(), plain_rows)
    torch.testing.assert_close(q.double(), plain_q, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(grad.double(), plain_grad, rtol=1e-3, atol=1e-3)
    assert (grad[:, layout.mask == 0] == 0).all()


@pytest.mark.parametrize("sizes", SIZES)
def test_gaussian_mlp_and_its_gradient_are_those_of_the_formula(engine, sizes):
    layout, mu, sigma, x, eps, weights = case(sizes)
    leaves = [mu.requires_grad_(), sigma.requires_grad_()]
    q = gaussian_mlp(mu, sigma.square(), layout, x, eps)
    grads = torch.autograd.grad((q * weights).sum(), leaves)
    plain = [leaf.detach().double().requires_grad_() for leaf in leaves]
    plain_q = torch.stack(
        [plain_gaussian_mlp(layout, plain[0][k], plain[1][k], x[k], eps[k]) for k in range(S)]
    )
    plain_grads = torch.autograd.grad((plain_q * weights).sum(), plain)
    torch.testing.assert_close(q.double(), plain_q, rtol=1e-4, atol=1e-4)
    for grad, plain_grad in zip(grads, plain_grads, strict=True):
        torch.testing.assert_close(grad.double(), plain_grad, rtol=1e-3, atol=1e-3)
        assert (grad[:, layout.mask == 0] == 0).all()


def away_from_kinks(layout):
    """A case in which no hidden pre-activation is near 0, so that q is smooth around it.

    Small weights, biases of +-1 and little noise: about half of the units are on, half off.
    """
    sizes = layout.sizes
    mu = normal(S, layout.length, seed=1, scale=0.5 / max(sizes))
    signs = torch.from_numpy(np.random.default_rng(5).choice([-1.0, 1.0], (S, 1, max(sizes))))
    for layer in layout.layers(mu):
        layer.bias.copy_(signs[:, :, : layer.bias.shape[2]])
    sigma = normal(S, layout.length, seed=2, scale=0.1 / max(sizes)).abs() + 0.02
    x = normal(S, B, sizes[0], seed=3).clamp(-1, 1)
    eps = normal(S, B * layout.n_units, seed=4).clamp(-1, 1)
    return mu, sigma, x, eps, normal(S, B, sizes[-1], seed=99)


def central_difference(f, point, direction, h):
    """The derivative of ``f`` along ``direction``: central differences, extrapolated to h -> 0."""

    def slope(step):
        return (f(point + step * direction) - f(point - step * direction)) / (2.0 * step)

    return (4.0 * slope(h) - slope(2.0 * h)) / 3.0


@pytest.mark.parametrize("sizes", [[3, 5, 2], [4, 8, 6, 3]])
@pytest.mark.parametrize("direction_seed", range(5))
def test_gradients_agree_with_numerical_differentiation(sizes, direction_seed):
    """Central differences of the float32 functions themselves along random directions.

    With a step of 0.02 of a direction of unit length the rounding error of a difference is about
    1e-7 / 0.04 of the value, and extrapolation leaves an error of fourth order.
    """
    layout = Layout(sizes)
    mu, sigma, x, eps, weights = away_from_kinks(layout)

    def of_rows(rows):
        return (mlp(rows, layout, x).double() * weights).sum()

    def of_mu(rows):
        return (gaussian_mlp(rows, sigma.square(), layout, x, eps).double() * weights).sum()

    def of_sigma(rows):
        return (gaussian_mlp(mu, rows.square(), layout, x, eps).double() * weights).sum()

    for f, point, h in [(of_rows, mu, 0.02), (of_mu, mu, 0.02), (of_sigma, sigma, 0.01)]:
        direction = normal(S, layout.length, seed=100 + direction_seed)
        direction /= direction.norm()
        leaf = point.clone().requires_grad_()
        (grad,) = torch.autograd.grad(f(leaf), leaf)
        expected = central_difference(f, point, direction, h)
        along = (grad.double() * direction).sum()
        assert along.item() == pytest.approx(expected.item(), rel=2e-3, abs=2e-4)


def test_gaussian_mlp_without_sigma_is_the_mlp_of_mu():
    layout, mu, sigma, x, eps, weights = case([7, 20, 33, 4])
    mu.requires_grad_()
    zero = torch.zeros_like(sigma).requires_grad_()
    q = gaussian_mlp(mu, zero.square(), layout, x, eps)
    torch.testing.assert_close(q, mlp(mu, layout, x), rtol=1e-5, atol=1e-5)
    grads = torch.autograd.grad((q * weights).sum(), [mu, zero])
    (plain,) = torch.autograd.grad((mlp(mu, layout, x) * weights).sum(), mu)
    torch.testing.assert_close(grads[0], plain, rtol=1e-4, atol=1e-4)
    assert torch.isfinite(grads[1]).all()


def test_gradient_of_a_plain_sum():
    """The gradient that a sum hands back is one number seen at every place."""
    layout, mu, sigma, x, eps, _ = case([7, 20, 33, 4])
    leaves = [mu.requires_grad_(), sigma.requires_grad_()]
    ones = torch.ones(S, B, 4)
    summed = torch.autograd.grad(gaussian_mlp(mu, sigma.square(), layout, x, eps).sum(), leaves)
    weighted = torch.autograd.grad(
        (gaussian_mlp(mu, sigma.square(), layout, x, eps) * ones).sum(), leaves
    )
    for one, two in zip(summed, weighted, strict=True):
        assert torch.equal(one, two)
    plain = torch.autograd.grad(mlp(mu, layout, x).sum(), mu)
    assert torch.equal(plain[0], torch.autograd.grad((mlp(mu, layout, x) * ones).sum(), mu)[0])


@pytest.mark.parametrize("sizes", [[7, 20, 33, 4], [5, 100, 100, 2]])
@pytest.mark.parametrize("batch", [1, 13, 64])
def test_a_seeds_bits_do_not_depend_on_the_seeds_beside_it(sizes, batch):
    layout = Layout(sizes)
    mu = normal(7, layout.length, seed=1, scale=0.2)
    rho = normal(7, layout.length, seed=2)
    x, weights = normal(7, batch, sizes[0], seed=3), normal(7, batch, sizes[-1], seed=9)
    eps = normal(7, batch * layout.n_units + 5, seed=4)

    def everything(seeds):
        m = mu[seeds].clone().requires_grad_()
        r = rho[seeds].clone().requires_grad_()
        own_x, own_eps = x[seeds].clone(), eps[seeds].clone()
        variance, h = variance_and_entropy(r, layout)
        q = gaussian_mlp(m, variance, layout, own_x, own_eps)
        plain = mlp(m, layout, own_x)
        total = ((q + plain) * weights[seeds]).sum() - h.sum()
        return [q.detach(), plain.detach(), h.detach(), *torch.autograd.grad(total, [m, r])]

    whole = everything(list(range(7)))
    for seeds in ([3], [6, 0], [5, 3, 1, 2]):
        for got, wanted in zip(everything(seeds), whole, strict=True):
            assert torch.equal(got, wanted[seeds])


# Softplus, its inverse and the entropy.


def test_sigma_is_log_of_one_plus_exp():
    rho = torch.linspace(-60.0, 60.0, 1024)
    expected = np.logaddexp(0.0, rho.double().numpy())
    np.testing.assert_allclose(sigma_of(rho).numpy(), expected, rtol=2e-6)


@given(st.floats(1e-8, 50.0))
def test_softplus_inverse(sigma):
    rho = softplus_inverse(sigma)
    assert np.logaddexp(0.0, rho) == pytest.approx(sigma, rel=1e-6)


@pytest.mark.parametrize("sizes", SIZES)
def test_entropy_is_that_of_normals_up_to_the_constant(sizes):
    layout = Layout(sizes)
    sigma = normal(S, layout.length, seed=2).abs() + 1e-3
    constant = layout.n_parameters / 2.0 * math.log(2.0 * math.pi * math.e)
    h = entropy(sigma, layout)
    for seed in range(S):
        expected = sum(
            Normal(torch.zeros_like(part), part).entropy().sum()
            for pair in parameters(layout, sigma[seed])
            for part in pair
        )
        assert h[seed].item() + constant == pytest.approx(expected.item(), rel=1e-4, abs=1e-2)


def test_entropy_leaves_padding_out():
    layout = Layout([3, 5, 2])
    padding = layout.mask == 0
    assert padding.any()
    sigma = normal(S, layout.length, seed=2).abs() + 0.1
    changed = sigma.clone()
    changed[:, padding] = 123.0
    assert torch.equal(entropy(sigma, layout), entropy(changed, layout))
    leaf = changed.requires_grad_()
    (grad,) = torch.autograd.grad(entropy(leaf, layout).sum(), leaf)
    assert (grad[:, padding] == 0).all()
    torch.testing.assert_close(grad[:, ~padding], 1.0 / changed.detach()[:, ~padding])


def test_variance_and_entropy_and_their_gradients_are_those_of_the_exact_formulas(engine):
    layout = Layout([7, 20, 33, 4])
    rho = normal(S, layout.length, seed=6, scale=4.0).requires_grad_()
    variance, h = variance_and_entropy(rho, layout)
    weights, of_h = normal(S, layout.length, seed=7) * layout.mask, normal(1, S, seed=8)[0]
    (grad,) = torch.autograd.grad((variance * weights).sum() + (h * of_h).sum(), rho)
    exact = rho.detach().double().requires_grad_()
    sigma = torch.log1p(torch.exp(exact))
    wanted_h = (sigma.log() * layout.mask).sum(dim=1)
    total = (sigma.square() * weights).sum() + (wanted_h * of_h).sum()
    torch.testing.assert_close(variance.double(), sigma.square(), rtol=1e-5, atol=0.0)
    torch.testing.assert_close(h.double(), wanted_h, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(
        grad.double(), torch.autograd.grad(total, exact)[0], rtol=2e-5, atol=1e-6
    )


def test_posterior_keeps_what_follows_from_rho(engine):
    layout = Layout([7, 20, 33, 4])
    rho = normal(S, layout.length, seed=6, scale=2.0)
    posterior = Posterior(layout, torch.zeros_like(rho))
    posterior.refresh(rho)
    sigma = torch.log1p(torch.exp(rho.double()))
    torch.testing.assert_close(posterior.variance.double(), sigma.square(), rtol=1e-5, atol=0.0)
    h = (sigma.log() * layout.mask).sum(dim=1)
    torch.testing.assert_close(posterior.entropy.double(), h, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("states", [False, True])
def test_values_are_those_of_the_differentiable_forms(engine, states):
    layout, mu, sigma, x, eps, _ = case([7, 20, 33, 4])
    if states:
        x = torch.from_numpy(np.random.default_rng(0).integers(0, 8, (S, B)).astype(np.int32))
    mu.requires_grad_()
    variance = sigma.square()
    for q, like in [
        (Gaussian(layout, mu, variance).q(x, eps), gaussian_mlp(mu, variance, layout, x, eps)),
        (mlp_values(mu, layout, x), mlp(mu, layout, x)),
    ]:
        assert not q.requires_grad
        torch.testing.assert_close(q, like.detach(), rtol=1e-4, atol=1e-4)


def test_numbers_are_seen_as_thermometers():
    seen = features(Layout([4, 3, 2]), torch.tensor([[0, 1, 4]], dtype=torch.int32))
    assert seen.tolist() == [[[0.0] * 4, [1.0, 0.0, 0.0, 0.0], [1.0] * 4]]


def test_sigma_of_a_gaussian():
    layout, mu, sigma, *_ = case([3, 5, 2])
    torch.testing.assert_close(Gaussian(layout, mu, sigma.square()).sigma, sigma)
    assert torch.equal(Gaussian(layout, mu, sigma.square(), -sigma).sigma, -sigma)


def test_noise_may_be_a_part_of_a_wider_block():
    layout, mu, sigma, x, eps, weights = case([7, 20, 33, 4])
    block = normal(S, 3 * eps.shape[1] + 11, seed=12)
    block[:, 17 : 17 + eps.shape[1]] = eps
    part = block[:, 17 : 17 + eps.shape[1]]
    leaves = [mu.requires_grad_(), sigma.requires_grad_()]
    whole, cut = (gaussian_mlp(mu, sigma.square(), layout, x, noise) for noise in (eps, part))
    assert torch.equal(whole, cut)
    for one, two in zip(
        torch.autograd.grad((whole * weights).sum(), leaves),
        torch.autograd.grad((cut * weights).sum(), leaves),
        strict=True,
    ):
        assert torch.equal(one, two)


@pytest.mark.parametrize("rho", [-1000.0, -100.0, -50.0, 50.0, 100.0])
def test_rho_far_out_is_finite_in_value_and_gradient(engine, rho):
    layout = Layout([3, 5, 2])
    leaf = torch.full((2, layout.length), rho).requires_grad_()
    mu = normal(2, layout.length, seed=1).requires_grad_()
    assert (sigma_of(leaf) >= SMALLEST_SIGMA).all()
    eps = normal(2, B * layout.n_units, seed=4)
    variance, h = variance_and_entropy(leaf, layout)
    q = gaussian_mlp(mu, variance, layout, normal(2, B, 3, seed=3), eps)
    for value in (h, q):
        assert torch.isfinite(value).all()
    for grad in torch.autograd.grad(q.square().sum() - h.sum(), [mu, leaf]):
        assert torch.isfinite(grad).all()


@pytest.mark.parametrize(("rho", "slope"), [(-50.0, 1.0), (0.0, 0.5 / math.log(2)), (50.0, 0.02)])
def test_gradient_of_the_entropy_by_rho(engine, rho, slope):
    """d log softplus(rho) / d rho: 1 far left, sigmoid(0) / log 2 at 0, 1 / rho far right."""
    layout = Layout([3, 5, 2])
    leaf = torch.full((1, layout.length), rho).requires_grad_()
    (grad,) = torch.autograd.grad(variance_and_entropy(leaf, layout)[1].sum(), leaf)
    torch.testing.assert_close(grad[0], slope * layout.mask, rtol=1e-5, atol=0.0)


def test_nothing_depends_on_the_number_of_threads():
    layout = Layout([50, 100, 100, 2])
    mu, rho = normal(5, layout.length, seed=1, scale=0.1), normal(5, layout.length, seed=2)
    x, eps = normal(5, 64, 50, seed=3), normal(5, 64 * layout.n_units, seed=4)

    def everything(threads):
        torch.set_num_threads(threads)
        try:
            leaves = [mu.clone().requires_grad_(), rho.clone().requires_grad_()]
            variance, h = variance_and_entropy(leaves[1], layout)
            q = gaussian_mlp(leaves[0], variance, layout, x, eps)
            plain = mlp(leaves[0], layout, x)
            total = (q + plain).square().sum() - h.sum()
            return [q, plain, h, *torch.autograd.grad(total, leaves)]
        finally:
            torch.set_num_threads(1)

    for one, two in zip(everything(1), everything(2), strict=True):
        assert torch.equal(one, two)


# Initial rows.


def test_uniform_rows_have_the_bounds_of_their_layer():
    layout = Layout([50, 100, 40])
    rows = uniform_rows(layout, [3, 4], lambda n: (3.0 / n) ** 0.5, lambda n: 2.0 * n**-0.5)
    assert (rows[:, layout.mask == 0] == 0).all()
    for layer, (n_in, _) in zip(layout.layers(rows), layout.shapes, strict=True):
        for values, bound in [(layer.weight, (3.0 / n_in) ** 0.5), (layer.bias, 2.0 * n_in**-0.5)]:
            flat = values.numpy().ravel()
            assert stats.kstest(flat, "uniform", args=(-bound, 2.0 * bound)).pvalue > 1e-3
    assert np.corrcoef(rows.numpy()[:, layout.mask.bool().numpy()])[0, 1] < 0.1


def test_a_seeds_first_row_is_its_own():
    layout = Layout([4, 6, 2])
    together = uniform_rows(layout, [0, 1, 2], lambda n: 1.0, lambda n: 1.0)
    alone = uniform_rows(layout, [2], lambda n: 1.0, lambda n: 1.0)
    assert torch.equal(together[2], alone[0])
    assert not torch.equal(together[0], together[1])


def test_rows_by_fan_in_fill_everything_but_padding():
    layout = Layout([4, 9, 2])
    rows = rows_by_fan_in(layout, 2, lambda n: 1.0 / n)
    assert (rows[:, layout.mask == 0] == 0).all()
    for layer, n_in in zip(layout.layers(rows), (4, 9), strict=True):
        assert (layer.weight == 1.0 / np.float32(n_in)).all()
        assert (layer.bias == 1.0 / np.float32(n_in)).all()
