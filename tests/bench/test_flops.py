"""The formulas of an update's work, against torch's count of what autograd executes."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from scripts.bench.flops import act_flops, update_flops

SHAPES = [((5, 7, 3, 2), 4), ((4, 100, 100, 2), 64), ((6, 9, 3), 5)]


def layers(sizes):
    return [torch.randn(a, b, requires_grad=True) for a, b in zip(sizes, sizes[1:], strict=False)]


def forward(x, means, variances=None):
    """An MLP without biases, which are no products; by local reparameterisation if asked for."""
    h = x
    for i, mean in enumerate(means):
        out = h @ mean
        if variances is not None:
            out = out + (h.square() @ variances[i]).abs().sqrt()
        h = torch.relu(out) if i < len(means) - 1 else out
    return h


@pytest.mark.parametrize(("sizes", "batch"), SHAPES)
@pytest.mark.parametrize("algo", ["dqn", "noisynet", "vdqn"])
def test_an_update_takes_what_autograd_takes(algo, sizes, batch):
    means = layers(sizes)
    variances = layers(sizes) if algo == "vdqn" else None
    x = torch.randn(batch, sizes[0])
    with FlopCounterMode(display=False) as counter:
        with torch.no_grad():
            forward(x, means, variances)
        target = counter.get_total_flops()
        q = forward(x, means, variances)
        online = counter.get_total_flops() - target
        torch.autograd.grad(q.sum(), means + (variances or []))
    work = update_flops(algo, sizes, batch)
    assert work.forward_target == target
    assert work.forward_online == online
    assert work.total == counter.get_total_flops()


def test_the_first_layer_can_be_left_out():
    # By hand: 64 rows through 100 x 100 and 100 x 2; four products each.
    rest = update_flops("dqn", (100, 100, 100, 2), 64, first_layer=False)
    assert rest.total == 4 * 2 * 64 * (100 * 100 + 100 * 2)
    whole = update_flops("dqn", (100, 100, 100, 2), 64)
    assert whole.total - rest.total == 3 * 2 * 64 * 100 * 100


def test_an_action_takes_one_row_of_a_forward_pass():
    for algo, factor in (("dqn", 1), ("vdqn", 2)):
        assert act_flops(algo, (4, 100, 100, 2)) == factor * 2 * (400 + 10_000 + 200)
