"""The objective of equations 6 and 7: how its two terms are weighed, and what is logged of it."""

from typing import Any

import numpy as np


def loss_weights(lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what the summed squared error and the KL's other terms weigh in the loss, [S] each.

    1 / lambda = 1 / (2 sigma_noise^2) and 1 (eq. 7); where lambda is 0 there is no KL, and the
    summed squared error is minimised.
    """
    positive = lam > 0.0
    return 1.0 / np.where(positive, lam, 1.0), positive.astype(np.float64)


def objective_figures(bellman: Any, kl: Any, bellman_weight: Any, kl_weight: Any) -> dict[str, Any]:
    """Return the loss of eq. (7) and, lambda times it, the surrogate of eq. (6), [S] each.

    Args:
        bellman: The summed squared error, [S].
        kl: The KL's other terms, [S]: -H(q_phi) under the uniform prior.
        bellman_weight: From ``loss_weights``.
        kl_weight: From ``loss_weights``.
    """
    loss = bellman_weight * bellman + kl_weight * kl
    return {"loss": loss, "surrogate": loss / bellman_weight}
