"""Which seeds of a batch have left the finite numbers, and in what."""

import math
from collections.abc import Mapping

import numpy as np
from torch import Tensor


def all_finite(figures: Mapping[str, np.ndarray], gradient_norms: np.ndarray) -> bool:
    """Whether the losses and gradients of an update are finite in every seed; quick.

    Args:
        figures: What the update reported, ``[S]`` each, ``loss`` among it.
        gradient_norms: ``[S]``.
    """
    # A sum with nan is nan, and one with infinities infinite or nan. NumPy's would warn of it.
    return math.isfinite(sum(gradient_norms.tolist()) + sum(figures["loss"].tolist()))


def not_finite(
    row: int,
    figures: Mapping[str, np.ndarray],
    gradient_norms: np.ndarray,
    online: Mapping[str, Tensor],
) -> str:
    """Say in words what of a seed's figures and parameters is not finite: ``loss, theta: nan``.

    Args:
        row: The seed's place in the batch.
        figures: As above; may be empty.
        gradient_norms: ``[S]``; nan before the first update, so looked at only with figures.
        online: Parameters, by name ``[S, P]``.

    Returns:
        Empty where all is finite.
    """
    found = {name: float(values[row]) for name, values in figures.items()}
    if found:
        found["grad_norm"] = float(gradient_norms[row])
    # A sum over a row of parameters is finite where all of them are, short of overflow, which
    # float64 does not meet.
    found |= {name: float(rows[row].detach().double().sum()) for name, rows in online.items()}
    names: dict[str, list[str]] = {}
    for name, value in found.items():
        if not math.isfinite(value):
            names.setdefault(str(value), []).append(name)
    return "; ".join(f"{', '.join(which)}: {value}" for value, which in names.items())
