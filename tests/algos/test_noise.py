"""How noise is shaped: independent on every weight, or a product of one a row and one a column."""

import numpy as np
import torch
from scipy import stats

from vdqn_runner.algos.noise import Factorised, Independent
from vdqn_runner.layout import Layout
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

LAYOUT = Layout((30, 40, 20))


def rows(shape, n=50):
    draws = NormalStreams.of(range(n), Purpose.UPDATE_NOISE).draw(shape.count(LAYOUT))
    return shape.rows(LAYOUT, draws)


def test_independent_noise_is_one_normal_a_parameter():
    eps = rows(Independent(), 20)[:, LAYOUT.mask.bool()].numpy()
    assert stats.kstest(eps.ravel(), "norm").pvalue > 1e-3
    assert len(np.unique(eps)) > 0.999 * eps.size
    weight = LAYOUT.layers(rows(Independent(), 1))[0].weight[0].numpy()
    share = np.linalg.svd(weight, compute_uv=False)
    assert share[1] > 0.5 * share[0]


def test_factorised_noise_has_rank_one():
    eps = rows(Factorised())
    for layer, (n_in, n_out) in zip(LAYOUT.layers(eps), LAYOUT.shapes, strict=True):
        for weight, bias in zip(layer.weight.double(), layer.bias[:, 0].double(), strict=True):
            singular = np.linalg.svd(weight.numpy(), compute_uv=False)
            assert singular[1] < 1e-5 * singular[0]
            # The columns' factor is the biases' noise: eps_W = f(e_in) f(e_out)^T.
            f_in = weight @ bias / bias.square().sum()
            torch.testing.assert_close(torch.outer(f_in, bias), weight, rtol=1e-4, atol=1e-5)
            assert f_in.shape == (n_in,) and bias.shape == (n_out,)


def test_factors_are_signed_roots_of_normals():
    def cdf(y):
        return stats.norm.cdf(np.sign(y) * np.square(y))

    eps = rows(Factorised(), 200)
    for layer in LAYOUT.layers(eps):
        bias = layer.bias[:, 0].double()
        f_in = (layer.weight.double() @ bias.unsqueeze(2))[:, :, 0] / bias.square().sum(1)[:, None]
        for factors in (bias, f_in):
            assert stats.kstest(factors.numpy().ravel(), cdf).pvalue > 1e-3


def test_layers_have_factors_of_their_own():
    first, second = LAYOUT.layers(rows(Factorised(), 400))
    f_in = second.weight[:, :, 0] / second.bias[:, :, 0]
    both = np.corrcoef(first.bias[:, 0].numpy().T, f_in.numpy().T)
    off_diagonal = both[np.triu_indices(len(both), 1)]
    assert np.abs(off_diagonal).max() < 6.0 / np.sqrt(400)


def test_padding_gets_no_factorised_noise():
    assert (rows(Factorised())[:, LAYOUT.mask == 0] == 0).all()
