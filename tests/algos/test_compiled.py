"""The compiled update against autograd and torch's Adam, for every form that a config can ask for.

Both draw from equal streams, so that they see the same noise. Autograd goes through the networks
in torch, or through their compiled values and gradients.
"""

import forms
import numpy as np
import pytest
import torch
from agents import agent, clock, minibatch, normal, of_seeds, set_rows

from vdqn_runner import kernels
from vdqn_runner.algos.base import select
from vdqn_runner.layout import Layout

pytestmark = pytest.mark.skipif(not kernels.available(), reason="no compiled kernels here")

FORMS = {
    "dqn": ("dqn", {}),
    "dqn, huber": ("dqn", {"loss": "huber"}),
    "vdqn": ("vdqn", {}),
    "vdqn, one theta": ("vdqn", {"theta_samples": "per_batch"}),
    "vdqn, lambda 0": ("vdqn", {"lam": 0.0}),
    "vdqn, lambda 2": ("vdqn", {"lam": 2.0}),
    "noisynet": ("noisynet", {}),
    "noisynet, a theta each": ("noisynet", {"theta_samples": "per_tuple"}),
    "noisynet, factorised": ("noisynet", {"noise": "factorised"}),
}
SIZES = [[3, 6, 5, 2], [4, 20, 3], [17, 16, 48, 33, 3], [50, 100, 100, 2]]
LR = np.array([1e-3, 1e-2, 0.0])


def grown(form, sizes, **settings):
    """An agent of three seeds, of which target and online rows differ, and sigmas are wide."""
    name, own = FORMS[form]
    algo = agent(name, (0, 1, 2), sizes, **(own | settings))
    length, mask = Layout(sizes).length, Layout(sizes).mask
    for i, group in enumerate(("online", "target")):
        rows = getattr(algo.learner, group)
        values = {}
        for j, row in enumerate(rows):
            noise = normal(3, length, seed=10 * i + j, scale=0.3) * mask
            values[row] = noise - 1.5 * mask if row == "rho" else rows[row].detach() + noise
        set_rows(algo, group, **values)
    return algo


def taken(algo, sizes, steps, states, size=13):
    """Take steps; return everything that they make."""
    figures = []
    for step in range(steps):
        batch = minibatch(3, size, sizes, seed=step, states=states)
        reported = algo.update(batch, clock(3, step), LR).figures
        figures.append({name: np.array(values) for name, values in reported.items()})
        figures[-1]["norm"] = algo.learner.gradient_norms.copy()
    learner = algo.learner
    groups = {"online": learner.online, "moment1": learner.moment1, "moment2": learner.moment2}
    rows = {f"{g} {k}": v.detach() for g, named in groups.items() for k, v in named.items()}
    return figures, rows


@pytest.fixture(params=forms.FORMS)
def by_autograd(request):
    """Take steps with an agent of this form by autograd."""

    def taken_by_autograd(form, *arguments):
        reference = grown(form, arguments[0])
        reference._compiled = None
        with forms.in_form(request.param):
            return taken(reference, *arguments)

    return taken_by_autograd


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("form", FORMS)
def test_a_step_is_autograds(by_autograd, form, sizes, states):
    compiled = grown(form, sizes)
    (figures,), rows = taken(compiled, sizes, 1, states)
    (expected,), expected_rows = by_autograd(form, sizes, 1, states)
    assert compiled._compiled is not None
    assert set(figures) == {*compiled.reported, "norm"}
    for name, values in expected.items():
        np.testing.assert_allclose(figures[name], values, rtol=1e-4, atol=1e-4, err_msg=name)
    mask = Layout(sizes).mask.bool()
    for name, values in expected_rows.items():
        assert torch.equal(rows[name][:, ~mask], torch.zeros_like(rows[name][:, ~mask])), name
        # A first step of Adam is one of lr, whatever the gradient's size: its sign may be rounding.
        if "moment" in name:
            scale = values.abs().amax(dim=1, keepdim=True)
            torch.testing.assert_close(rows[name] / scale, values / scale, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_several_steps_are_autograds(by_autograd, form):
    sizes = [3, 20, 10, 2]
    figures, rows = taken(grown(form, sizes), sizes, 5, False)
    expected, expected_rows = by_autograd(form, sizes, 5, False)
    for one, two in zip(figures, expected, strict=True):
        for name in two:
            np.testing.assert_allclose(one[name], two[name], rtol=1e-3, atol=1e-3, err_msg=name)
    for name, values in expected_rows.items():
        if "online" in name:
            torch.testing.assert_close(rows[name], values, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("form", [f for f in FORMS if f != "dqn" and f != "dqn, huber"])
def test_what_follows_from_the_rows_is_kept_up_to_date(form):
    sizes = [3, 20, 10, 2]
    algo = grown(form, sizes)
    taken(algo, sizes, 3, False)
    obs = normal(3, 1, 3, seed=8)
    eps = normal(3, Layout(sizes).n_units, seed=9)
    q = algo._gaussian.q(obs, eps)
    algo.online_changed()
    torch.testing.assert_close(q, algo._gaussian.q(obs, eps), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("rho", [-200.0, -50.0, 50.0])
@pytest.mark.parametrize("form", ["vdqn", "vdqn, one theta"])
def test_rho_far_out_stays_finite(form, rho):
    sizes = [3, 20, 10, 2]
    algo = grown(form, sizes)
    set_rows(algo, "online", rho=rho * Layout(sizes).mask)
    figures, rows = taken(algo, sizes, 3, False)
    assert all(np.isfinite(values).all() for step in figures for values in step.values())
    assert all(torch.isfinite(values).all() for values in rows.values())


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_seeds_bits_do_not_depend_on_the_seeds_beside_it(form, states):
    sizes = [5, 100, 100, 2]
    name, own = FORMS[form]

    def steps(seeds):
        algo = agent(name, seeds, sizes, **own)
        for step in range(4):
            whole = minibatch(5, 64, sizes, seed=step, states=states)
            batch = of_seeds(whole, list(seeds))
            updated = algo.update(batch, clock(len(seeds), step), np.full(len(seeds), 1e-3))
            figures = {k: np.array(v) for k, v in updated.figures.items()}
        return figures, {k: v.detach() for k, v in algo.learner.online.items()}

    whole_figures, whole_rows = steps((0, 1, 2, 3, 4))
    for seeds in [(3,), (4, 0), (2, 1, 3)]:
        figures, rows = steps(seeds)
        for key, values in rows.items():
            assert torch.equal(values, whole_rows[key][list(seeds)])
        for key, values in figures.items():
            assert np.array_equal(values, whole_figures[key][list(seeds)])


def test_selected_seeds_go_on():
    sizes = [3, 20, 10, 2]
    for form in FORMS:
        algo, other = grown(form, sizes), grown(form, sizes)
        taken(algo, sizes, 2, False)
        taken(other, sizes, 2, False)
        select(algo, np.array([2, 0]))
        batch = minibatch(3, 13, sizes, seed=7)
        fewer = of_seeds(batch, [2, 0])
        other.update(batch, clock(3, 2), LR)
        algo.update(fewer, clock(2, 2), LR[[2, 0]])
        for name, rows in other.learner.online.items():
            assert torch.equal(algo.learner.online[name], rows[[2, 0]])
