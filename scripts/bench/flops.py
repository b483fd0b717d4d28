"""The floating-point operations of an update's matrix products, from the layers' sizes.

A product ``[B, in] x [in, out]`` takes ``2 B in out`` operations, a multiplication and an addition
for each term. Let ``F`` be the sum of that over the layers, ``F_1`` the first layer's share, and
``k`` how many products stand for one: 2 where each tuple has its own weights, by local
reparameterisation (means, and squares times variances), else 1. Then an update takes

    forward, target network   k F
    forward, online network   k F
    gradients of the weights  k F
    gradients of the inputs   k (F - F_1)      nothing asks for those of the first layer
    all                       k (4 F - F_1)

On a chain an observation is the number of a state, and the first layer's products can be had
without multiplying; without that layer ``F'= F - F_1`` and an update takes ``4 k F'``. What works
element by element (noise, ReLU, Adam, softplus) is left out: it is memory and instructions, not
products, and is what the rest of the time goes to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

BRANCHES = {"vdqn": 2, "dqn": 1, "noisynet": 1}
"""``k`` with each algorithm's default ``theta_samples``: per_tuple for VDQN, else per_batch."""


@dataclass(frozen=True)
class UpdateFlops:
    """Operations of one seed's update."""

    forward_target: int
    forward_online: int
    weight_gradients: int
    input_gradients: int

    @property
    def total(self) -> int:
        """All of them."""
        forward = self.forward_target + self.forward_online
        return forward + self.weight_gradients + self.input_gradients


def update_flops(
    algo: str, sizes: Sequence[int], batch: int, first_layer: bool = True
) -> UpdateFlops:
    """Return the operations of an update of an MLP with these layer ``sizes``, in to out.

    Without ``first_layer`` its products are not counted (see the module).
    """
    layers = [2 * batch * n_in * n_out for n_in, n_out in zip(sizes[:-1], sizes[1:], strict=True)]
    k = BRANCHES[algo]
    products = k * sum(layers if first_layer else layers[1:])
    return UpdateFlops(products, products, products, k * sum(layers[1:]))


def act_flops(algo: str, sizes: Sequence[int]) -> int:
    """Return the operations of choosing one action; NoisyNet acts by local reparameterisation."""
    k = 1 if algo == "dqn" else 2
    return k * sum(2 * a * b for a, b in zip(sizes[:-1], sizes[1:], strict=True))
