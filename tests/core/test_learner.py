"""Adam on rows against torch's and against its formula; seeds apart; what a resume needs."""

import numpy as np
import pytest
import torch

from vdqn_runner.config import OptimizerConfig
from vdqn_runner.learner import Learner

P = 64
CENTRES = torch.from_numpy(np.random.default_rng(1).normal(size=(9, P)).astype(np.float32))


def rows(n_seeds):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 9, P)).astype(np.float32)[:, :n_seeds]
    return {"one": torch.from_numpy(values[0]), "two": torch.from_numpy(values[1])}


def loss(online, centres):
    """Not a quadratic of the sum, so that each seed's gradient is its own: [S]."""
    return ((online["one"] - centres).square() * online["two"].cos()).sum(dim=1)


def trained(n_seeds, lrs, centres=CENTRES, optimizer=None):
    learner = Learner(rows(n_seeds), optimizer or OptimizerConfig())
    for lr in lrs:
        learner.descend(loss(learner.online, centres[:n_seeds]), np.broadcast_to(lr, n_seeds))
    return learner


@pytest.mark.parametrize("optimizer", [{}, {"beta1": 0.5, "beta2": 0.9, "eps": 1e-2}])
def test_steps_are_adams(optimizer):
    config = OptimizerConfig(**optimizer)
    learner = trained(3, [0.01] * 20, optimizer=config)
    for seed in range(3):
        leaves = {k: v[seed : seed + 1].clone().requires_grad_() for k, v in rows(3).items()}
        adam = torch.optim.Adam(
            leaves.values(), lr=0.01, betas=(config.beta1, config.beta2), eps=config.eps
        )
        for _ in range(20):
            adam.zero_grad()
            loss(leaves, CENTRES[seed]).sum().backward()
            adam.step()
        for name, leaf in leaves.items():
            torch.testing.assert_close(
                learner.online[name][seed], leaf[0], rtol=1e-4, atol=1e-5, check_stride=False
            )


def test_steps_of_all_seeds_at_once_are_the_same():
    """The form for a GPU, on the processor."""
    lr = np.array([0.1, 0.0, 0.01])
    learner, at_once = trained(3, [lr] * 6), Learner(rows(3), OptimizerConfig())
    for _ in range(6):
        gradients = torch.autograd.grad(
            loss(at_once.online, CENTRES[:3]).sum(), list(at_once.online.values())
        )
        at_once.updates += 1
        with torch.no_grad():
            for name, gradient in zip(at_once.online, gradients, strict=True):
                at_once._adam_of_all(name, gradient, lr)
    for name, row in learner.online.items():
        torch.testing.assert_close(at_once.online[name], row, rtol=1e-4, atol=1e-5)


def test_first_step_by_hand():
    """Step 1 of Adam moves each parameter by lr * g / (|g| + eps)."""
    learner = trained(2, [0.1], optimizer=OptimizerConfig(eps=0.5))
    start = {k: v.clone().requires_grad_() for k, v in rows(2).items()}
    grads = torch.autograd.grad(loss(start, CENTRES[:2]).sum(), list(start.values()))
    for (name, before), g in zip(start.items(), grads, strict=True):
        torch.testing.assert_close(learner.online[name], before - 0.1 * g / (g.abs() + 0.5))


def test_each_seed_has_its_own_rate():
    lr = np.array([0.1, 0.0, 0.01])
    learner = trained(3, [lr] * 5)
    for seed, rate in enumerate(lr):
        same = trained(3, [rate] * 5)
        for name, row in learner.online.items():
            assert torch.equal(row[seed], same.online[name][seed])
    assert torch.equal(learner.online["one"][1], rows(3)["one"][1])


@pytest.mark.parametrize("n_seeds", [1, 2, 5])
def test_a_seeds_bits_do_not_depend_on_the_seeds_beside_it(n_seeds):
    few, many = trained(n_seeds, [0.01] * 10), trained(9, [0.01] * 10)
    for name, row in few.online.items():
        assert torch.equal(row, many.online[name][:n_seeds])
    assert few.gradient_norms[0] == many.gradient_norms[0]


def test_another_seeds_loss_moves_nothing():
    other = CENTRES.clone()
    other[1] += 5.0
    one, two = trained(3, [0.01] * 5), trained(3, [0.01] * 5, centres=other)
    assert torch.equal(one.online["one"][[0, 2]], two.online["one"][[0, 2]])
    assert not torch.equal(one.online["one"][1], two.online["one"][1])


def test_gradient_norm():
    learner = Learner(rows(3), OptimizerConfig())
    assert np.isnan(learner.gradient_norms[0])
    grads = torch.autograd.grad(
        loss(learner.online, CENTRES[:3]).sum(), list(learner.online.values())
    )
    learner.descend(loss(learner.online, CENTRES[:3]), np.full(3, 0.01))
    for seed in range(3):
        norm = torch.cat([g[seed] for g in grads]).double().norm().item()
        assert learner.gradient_norms[seed] == pytest.approx(norm)


def test_target_moves_only_when_copied():
    learner = trained(2, [0.01] * 3)
    for name, row in rows(2).items():
        assert torch.equal(learner.target[name], row)
    learner.copy_target()
    kept = learner.target["one"].clone()
    assert torch.equal(kept, learner.online["one"])
    learner.descend(loss(learner.online, CENTRES[:2]), np.full(2, 0.01))
    assert torch.equal(learner.target["one"], kept)
    assert not torch.equal(learner.online["one"], kept)


def test_rows_given_stay_as_they_are():
    given = rows(2)
    learner = Learner(given, OptimizerConfig())
    learner.descend(loss(learner.online, CENTRES[:2]), np.full(2, 0.01))
    assert torch.equal(given["one"], rows(2)["one"])


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_goes_on_from_kept_states_in_another_batch(steps):
    lr = np.array([0.01, 0.02, 0.03])
    learner = trained(3, [lr] * steps)
    if steps:
        learner.copy_target()
    again = Learner({k: torch.zeros_like(v) for k, v in rows(2).items()}, OptimizerConfig())
    again.load([learner.state(2), learner.state(0)])
    assert again.updates == steps
    order = [2, 0]
    if steps:
        assert again.gradient_norms[0] == learner.gradient_norms[2]
    for _ in range(4):
        learner.descend(loss(learner.online, CENTRES[:3]), lr)
        again.descend(loss(again.online, CENTRES[order]), lr[order])
    for name in learner.online:
        assert torch.equal(again.online[name], learner.online[name][order])
        assert torch.equal(again.target[name], learner.target[name][order])


def test_selected_seeds_go_on():
    learner, alone = trained(3, [0.01] * 4), trained(3, [0.01] * 8)
    learner.select(np.array([2, 0]))
    assert learner.gradient_norms[0] == trained(3, [0.01] * 4).gradient_norms[2]
    for _ in range(4):
        learner.descend(loss(learner.online, CENTRES[[2, 0]]), np.full(2, 0.01))
    for name in learner.online:
        assert torch.equal(learner.online[name], alone.online[name][[2, 0]])
