"""A seed whose numbers are no longer finite fails by itself; the others do not notice."""

import functools
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from running import CARTPOLE, CHAIN, logs, run

from vdqn_runner.divergence import all_finite, not_finite
from vdqn_runner.errors import SeedFailures
from vdqn_runner.runs.status import status_of
from vdqn_runner.train import Lockstep

ENVS = {"chain": CHAIN, "gym": CARTPOLE}
ALGOS = ["vdqn", "dqn", "noisynet"]
SECOND = {"vdqn": "rho", "noisynet": "sigma"}
HURT = 1
SEEDS = (0, 1, 2)

numbers = st.integers(-(10**30), 10**30).map(float) | st.sampled_from([np.nan, np.inf, -np.inf])


@given(
    norms=st.lists(numbers, min_size=3, max_size=3),
    losses=st.lists(numbers, min_size=3, max_size=3),
    q=st.lists(numbers, min_size=3, max_size=3),
    theta=st.lists(numbers, min_size=6, max_size=6),
)
def test_what_is_found_is_what_numpy_finds(norms, losses, q, theta):
    figures = {"loss": np.array(losses, np.float32), "q_mean": np.array(q)}
    norms = np.abs(np.array(norms, np.float64))
    rows = torch.tensor(theta).reshape(3, 2)
    assert all_finite(figures, norms) == bool(np.isfinite([norms, figures["loss"]]).all())
    for row in range(3):
        values = {**figures, "grad_norm": norms}
        wrong = [name for name, value in values.items() if not np.isfinite(value[row])]
        if not np.isfinite(rows[row].numpy()).all():
            wrong.append("theta")
        said = not_finite(row, figures, norms, {"theta": rows})
        assert sorted(name for name in (*values, "theta") if name in said) == sorted(wrong)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The logs of three seeds trained together, by environment and algorithm."""

    @functools.cache
    def trained(env, algo):
        out = tmp_path_factory.mktemp("undisturbed")
        return logs(run(out, env=ENVS[env], algo=algo, n_seeds=len(SEEDS)))

    return trained


def poison(monkeypatch, at, hurt, seed=HURT):
    """Have ``hurt(learner, row)`` change one seed before the update of step ``at``."""
    learn = Lockstep.learn

    def poisoned(self):
        if self.step == at and seed in self.seeds:
            with torch.no_grad():
                hurt(self.algo.learner, self.seeds.index(seed))
            self.algo.online_changed()
        learn(self)

    monkeypatch.setattr(Lockstep, "learn", poisoned)


def first_parameter(value, name=None):
    def hurt(learner, row):
        rows = learner.online[name or next(iter(learner.online))]
        rows[row, 0] = value

    return hurt


def last_parameter(value):
    """Of the output's last bias, which no ReLU hides."""

    def hurt(learner, row):
        rows = next(iter(learner.online.values()))
        rows[row, int(torch.nonzero(rows[row])[-1])] = value

    return hurt


def target(learner, row):
    next(iter(learner.target.values()))[row] = float("inf")


def status(folder, seed):
    return json.loads((folder / f"seed-{seed:05d}" / "status.json").read_text())


def failing(out, **settings):
    """Run, and return the run's folder and the error's words."""
    with pytest.raises(SeedFailures) as caught:
        run(out, n_seeds=len(SEEDS), **settings)
    (folder,) = {path.parent.parent for path in out.rglob("status.json")}
    return folder, str(caught.value)


def assert_only_one_failed(folder, expected):
    found = logs(folder)
    for seed in SEEDS:
        if seed != HURT:
            assert status(folder, seed)["state"] == "done"
            assert found[seed] == expected[seed]
    for name in found[HURT]._fields:
        whole = getattr(expected[HURT], name)
        part = getattr(found[HURT], name)
        assert whole.startswith(part) and part != whole


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_broken_parameter(undisturbed, tmp_path, monkeypatch, env, algo, value):
    # On this chain, step 136 ends an episode in every seed.
    expected = undisturbed(env, algo)
    poison(monkeypatch, 136, last_parameter(value))
    folder, said = failing(tmp_path, env=ENVS[env], algo=algo, checkpoint_every=50)
    reason = status(folder, HURT)["reason"]
    assert said == f"seed 1: {reason}"
    assert (
        reason.startswith("diverged at step 136 (")
        and "the last checkpoint is of step 100" in reason
    )
    assert "nan" in reason and status(folder, HURT)["steps"] == 136
    assert {seed for seed in SEEDS if status_of(status(folder, seed)).diverged} == {HURT}
    assert_only_one_failed(folder, expected)


@pytest.mark.parametrize("algo", ["vdqn", "noisynet"])
def test_a_broken_sigma(engine, undisturbed, tmp_path, monkeypatch, algo):
    poison(monkeypatch, 100, first_parameter(float("inf"), SECOND[algo]))
    folder, said = failing(tmp_path, algo=algo)
    assert "diverged at step 100 (" in said and "no checkpoint yet" in said
    assert {seed: status(folder, seed)["state"] for seed in SEEDS} == {
        0: "done",
        1: "failed",
        2: "done",
    }


@pytest.mark.parametrize("algo", ALGOS)
def test_a_broken_target(tmp_path, monkeypatch, algo):
    poison(monkeypatch, 105, target)
    _, said = failing(tmp_path, algo=algo)
    assert "diverged at step 105 (" in said and "loss" in said


@pytest.mark.parametrize(("every", "found"), [(25, 150), (1000, 340)])
def test_broken_parameters_are_never_kept(tmp_path, monkeypatch, every, found):
    """Also where no update and no copy meets them before a checkpoint or the end."""
    poison(monkeypatch, 149, first_parameter(float("nan")))
    settings = {"learning_starts": 100, "train_every": 145, "target_period": 10_000}
    folder, said = failing(tmp_path, checkpoint_every=every, settings=settings)
    kept = "the last checkpoint is of step 125" if every == 25 else "no checkpoint yet"
    assert said.startswith(f"seed 1: diverged at step {found} (") and said.endswith(kept)
    assert not (folder / "seed-00001" / "policy.pt").exists()


@pytest.mark.parametrize("algo", ALGOS)
def test_a_parameter_that_no_output_shows(tmp_path, monkeypatch, algo):
    """Of the first hidden unit, whose ReLU may turn nan into 0; found when the target is set."""
    poison(monkeypatch, 103, first_parameter(float("nan")))
    settings = {"target_period": 20, "learning_starts": 300}
    _, said = failing(tmp_path, algo=algo, settings=settings)
    assert "diverged at step 120 (" in said


def test_the_same_command_fails_again_and_alike(tmp_path, monkeypatch):
    poison(monkeypatch, 136, first_parameter(float("nan")))
    folder, first = failing(tmp_path, checkpoint_every=50)
    before = logs(folder)
    _, second = failing(tmp_path, checkpoint_every=50)
    assert (second, logs(folder)) == (first, before)
    monkeypatch.undo()
    run(tmp_path, n_seeds=len(SEEDS), checkpoint_every=50)
    assert status(folder, HURT)["state"] == "done" and status(folder, HURT)["reason"] is None


@pytest.mark.parametrize("workers", [1, 2])
def test_a_step_size_that_is_too_large(tmp_path, workers):
    # Whatever the ReLUs do, the output's biases are at +-1e15 after a step, and slopes at 1e27.
    settings = {"lr": 1e15, "lam": 1e-12}
    folder, said = failing(tmp_path, settings=settings, workers=workers)
    assert said.startswith("seeds 0, 1, 2: diverged at step ") and "\n" not in said
    for seed in SEEDS:
        assert status(folder, seed)["state"] == "failed"
        assert b"nan" not in logs(folder)[seed].episodes
