"""Small dynamics models, and what they say with their weights written out."""

import numpy as np
import torch

from vdqn_runner.layout import Layout

OBS, ACTIONS = 3, 2
SIZES = (OBS + ACTIONS, 7, 6, OBS)


def normal(*shape, seed=0, scale=1.0):
    values = np.random.default_rng(seed).normal(0.0, scale, shape)
    return torch.from_numpy(values.astype(np.float32))


def posterior(n_seeds=2, seed=0):
    """Random rows mu, rho [S, P] and their layout; padding 0."""
    layout = Layout(SIZES)
    mu = normal(n_seeds, layout.length, seed=seed, scale=0.6) * layout.mask
    rho = (normal(n_seeds, layout.length, seed=seed + 1, scale=0.8) - 1.0) * layout.mask
    return layout, mu, rho


def written_out(layout, theta, x):
    """f_theta(x) [..., B, OBS] for rows theta [..., P], in float64."""
    h = x.double()
    for i, (n_in, n_out) in enumerate(layout.shapes):
        weight = theta[..., layout.weight_at[i] :][..., : n_in * n_out]
        bias = theta[..., layout.bias_at[i] :][..., :n_out]
        h = h @ weight.reshape(*theta.shape[:-1], n_in, n_out).double() + bias[..., None, :]
        if i < len(layout.shapes) - 1:
            h = torch.relu(h)
    return h
