"""Local reparameterisation draws Q-values with the law of explicit weight sampling.

A small network with wide sigmas, so that the law of its outputs is far from normal, at two fixed
inputs. Explicit sampling writes out theta = mu + sigma * eps for each draw.
"""

import numpy as np
import pytest
import torch
from forms import FORMS, in_form
from plain_nets import parameters
from scipy import stats

from vdqn_runner.layout import Layout
from vdqn_runner.nets import Gaussian
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

LAYOUT = Layout([3, 6, 5, 2])
M = 20_000
X = torch.tensor([[1.0, -0.5, 2.0], [0.8, 0.3, 1.5]])

FUNCTIONS = {
    "first action": lambda q: q[:, 0],
    "second action": lambda q: q[:, 1],
    "difference": lambda q: q[:, 0] - q[:, 1],
    "sum": lambda q: q[:, 0] + q[:, 1],
    "max": lambda q: q.max(axis=1),
    "product": lambda q: q[:, 0] * q[:, 1],
}


def values(mu, variance, layout, x, eps):
    return Gaussian(layout, mu, variance).q(x, eps)


def posterior():
    rng = np.random.default_rng(0)
    mu = torch.from_numpy(rng.normal(0.0, 0.5, (1, LAYOUT.length)).astype(np.float32))
    sigma = torch.from_numpy(rng.uniform(0.1, 0.9, (1, LAYOUT.length)).astype(np.float32))
    return mu, sigma


def local(seed=0):
    """Q-values [M, 2 tuples, 2 actions]: tuple pairs as rows of one minibatch."""
    mu, sigma = posterior()
    draws = NormalStreams.of([seed], Purpose.UPDATE_NOISE).draw(2 * M * LAYOUT.n_units)
    x = X.repeat(M, 1)[None]
    q = values(mu, sigma.square(), LAYOUT, x, draws)
    return q[0].reshape(M, 2, 2).double().numpy()


def explicit(seed=1, shared=False):
    """The same by writing out weights, one theta for each tuple (or one for both)."""
    mu, sigma = posterior()
    generator = torch.Generator().manual_seed(seed)
    values = []
    pairs = list(zip(parameters(LAYOUT, mu[0]), parameters(LAYOUT, sigma[0]), strict=True))
    for x in X:
        if shared:
            generator.manual_seed(seed)
        h = x.double().expand(M, 1, -1)
        for i, ((m_w, m_b), (s_w, s_b)) in enumerate(pairs):
            weight = m_w + s_w * torch.randn(M, *m_w.shape, generator=generator).double()
            bias = m_b + s_b * torch.randn(M, *m_b.shape, generator=generator).double()
            h = torch.bmm(h, weight) + bias[:, None]
            if i < len(pairs) - 1:
                h = torch.relu(h)
        values.append(h[:, 0])
    return torch.stack(values, dim=1).numpy()


@pytest.fixture(scope="module", params=FORMS)
def q_local(request):
    with in_form(request.param):
        return local()


@pytest.fixture(scope="module")
def q_explicit():
    return explicit()


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_law_of_each_tuples_values(q_local, q_explicit, row, name):
    f = FUNCTIONS[name]
    result = stats.ks_2samp(f(q_local[:, row]), f(q_explicit[:, row]))
    assert result.pvalue > 1e-3


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_same_moments(q_local, q_explicit, row, power):
    one, two = q_local[:, row] ** power, q_explicit[:, row] ** power
    error = np.sqrt((one.var(axis=0) + two.var(axis=0)) / M)
    assert (np.abs(one.mean(axis=0) - two.mean(axis=0)) < 4.5 * error).all()


def test_actions_of_one_tuple_are_correlated_as_with_explicit_sampling(q_local, q_explicit):
    """Given the last hidden layer they are independent; through it they are not."""
    for row in (0, 1):
        squares = [np.corrcoef((q[:, row] ** 2).T)[0, 1] for q in (q_local, q_explicit)]
        plain = [np.corrcoef(q[:, row].T)[0, 1] for q in (q_local, q_explicit)]
        assert abs(plain[0] - plain[1]) < 0.06
        assert abs(squares[0] - squares[1]) < 0.06
        assert squares[1] > 0.2


def test_different_tuples_are_independent(q_local):
    for f in (lambda q: q, np.abs, np.square):
        both = np.corrcoef(f(q_local[:, 0]).T, f(q_local[:, 1]).T)[:2, 2:]
        assert np.abs(both).max() < 5.0 / np.sqrt(M)


def test_one_theta_for_both_tuples_would_be_seen():
    """The independence above is one of the sampling, not of the inputs."""
    q = explicit(shared=True)
    assert np.corrcoef(q[:, 0, 0], q[:, 1, 0])[0, 1] > 0.3


def test_noise_in_fewer_layers_would_be_seen(engine, q_explicit):
    mu, sigma = posterior()
    eps = NormalStreams.of([0], Purpose.UPDATE_NOISE).draw(2 * M * LAYOUT.n_units)
    LAYOUT.split_units(eps, 2 * M)[0].zero_()
    q = values(mu, sigma.square(), LAYOUT, X.repeat(M, 1)[None], eps)[0].reshape(M, 2, 2).numpy()
    assert stats.ks_2samp(q[:, 0, 0], q_explicit[:, 0, 0]).pvalue < 1e-6
