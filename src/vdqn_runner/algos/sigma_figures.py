"""Figures that describe how wide a Gaussian on the weights is."""

import numpy as np
from torch import Tensor

from vdqn_runner.layout import Layout

_QUANTILES = {"q10": 0.1, "q50": 0.5, "q90": 0.9}


def sigma_figures(layout: Layout, sigma: Tensor) -> dict[str, float]:
    """Return smallest, median and largest |sigma| of one seed's row ``[P]``, and deciles by layer.

    Layer 1 is the one next to the observation; its biases are counted with its weights.
    """
    by_layer = [
        np.abs(np.concatenate([layer.weight.numpy().ravel(), layer.bias.numpy().ravel()]))
        for layer in layout.layers(sigma.detach().cpu().reshape(1, -1))
    ]
    whole = np.concatenate(by_layer)
    figures = {
        "sigma_min": float(whole.min()),
        "sigma_median": float(np.median(whole)),
        "sigma_max": float(whole.max()),
    }
    for number, values in enumerate(by_layer, start=1):
        cuts = np.quantile(values.astype(np.float64), list(_QUANTILES.values()))
        for name, cut in zip(_QUANTILES, cuts, strict=True):
            figures[f"sigma_layer{number}_{name}"] = float(cut)
    return figures
