"""Networks written out seed by seed in float64, to check the batched ones against."""

import torch


def parameters(layout, row):
    """One seed's row [P] as float64 (weight [in, out], bias [out]) pairs, differentiable."""
    pairs = []
    for (n_in, n_out), at_w, at_b in zip(
        layout.shapes, layout.weight_at, layout.bias_at, strict=True
    ):
        weight = row[at_w : at_w + n_in * n_out].reshape(n_in, n_out)
        pairs.append((weight.double(), row[at_b : at_b + n_out].double()))
    return pairs


def plain_mlp(layout, row, x):
    """Q-values [B, A] of one seed at ``x`` [B, in]."""
    h = x.double()
    layers = parameters(layout, row)
    for i, (weight, bias) in enumerate(layers):
        h = h @ weight + bias
        if i < len(layers) - 1:
            h = torch.relu(h)
    return h


def plain_gaussian_mlp(layout, mu, sigma, x, eps):
    """Q-values [B, A] of one seed by local reparameterisation.

    ``eps`` holds [B, out] normals for each layer, one layer after another.
    """
    h = x.double()
    counts = [len(x) * n_out for n_out in layout.sizes[1:]]
    noise = eps[: sum(counts)].double().split(counts)
    means, scales = parameters(layout, mu), parameters(layout, sigma)
    for i, ((m_w, m_b), (s_w, s_b)) in enumerate(zip(means, scales, strict=True)):
        mean = h @ m_w + m_b
        variance = h.square() @ s_w.square() + s_b.square()
        h = mean + variance.sqrt() * noise[i].reshape(mean.shape)
        if i < len(means) - 1:
            h = torch.relu(h)
    return h
