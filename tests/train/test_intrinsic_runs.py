"""Runs with an intrinsic reward: what it changes, and what it does not."""

import csv
import io
import json

import numpy as np
import pytest
import torch
from running import CARTPOLE, CHAIN, config, logs, run

from vdqn_runner.config import identity
from vdqn_runner.errors import SeedFailures
from vdqn_runner.train import Lockstep

VIME = {"eta": 0.1, "hidden": [9], "window": 3}
COLUMNS = {"intrinsic_reward", "dynamics_loss"}


def rows(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


@pytest.mark.parametrize("algo", ["vdqn", "dqn", "noisynet", "bootstrapped"])
def test_without_eta_nothing_is_different(tmp_path, algo):
    plain = run(tmp_path / "plain", algo=algo, n_seeds=2)
    zero = run(tmp_path / "zero", algo=algo, n_seeds=2, settings={"vime": {"eta": 0.0}})
    assert zero.name == plain.name
    assert logs(zero) == logs(plain)
    assert (zero / "config.yaml").read_bytes() == (plain / "config.yaml").read_bytes()
    assert not COLUMNS & set(rows(logs(zero)[0].updates)[0])


@pytest.mark.parametrize("env", [CHAIN, CARTPOLE], ids=["chain", "gym"])
def test_its_draws_are_its_own(tmp_path, env):
    """A bonus too small for 32 bits leaves acting, replay and learning as they were."""
    plain = logs(run(tmp_path / "plain", env=env, algo="vdqn", n_seeds=2))
    tiny = {"vime": {"eta": 1e-30}}
    found = logs(run(tmp_path / "tiny", env=env, algo="vdqn", n_seeds=2, settings=tiny))
    for seed, wanted in plain.items():
        assert found[seed].episodes == wanted.episodes
        assert found[seed].evaluations == wanted.evaluations
        for one, other in zip(rows(found[seed].updates), rows(wanted.updates), strict=True):
            assert {name: one[name] for name in other} == other


def test_the_log_has_the_rewards_of_the_environment_and_the_bonus_beside(tmp_path):
    found = logs(run(tmp_path, algo="dqn", n_seeds=2, settings={"vime": VIME | {"eta": 50.0}}))
    for seed in found.values():
        returns = [float(row["return"]) for row in rows(seed.episodes)]
        trials = [float(row["return"]) for row in rows(seed.evaluations)]
        assert min(returns + trials) >= 0.0 and max(returns + trials) <= 11.0
        for row in rows(seed.updates):
            assert float(row["intrinsic_reward"]) > 0.0
            # Those of rewards of 50 and of what follows them, once there are updates.
            assert float(row["updates"]) == 0 or float(row["q_mean"]) > 1.0
            assert np.isfinite(float(row["dynamics_loss"])) == (float(row["updates"]) > 0)


def test_replay_holds_the_reward_with_its_bonus(tmp_path):
    batch = Lockstep(config(tmp_path, algo="dqn", n_seeds=2, settings={"vime": VIME}), [0, 1])
    given = []
    bonus = batch.intrinsic.bonus

    def noted(*transition):
        given.append(bonus(*transition))
        return given[-1]

    batch.intrinsic.bonus = noted
    batch.begin_episodes()
    paid = []
    for _ in range(5):
        before = batch.returns.copy()
        batch.advance()
        paid.append(batch.returns - before)
    held = batch.replay.take(np.tile(np.arange(5), (2, 1)), np.ones((2, 5), np.float32)).reward
    np.testing.assert_allclose(held, (np.array(given) + paid).T, rtol=1e-6)
    assert (np.array(given) > 0).all()


def hurt_model(intrinsic, row):
    intrinsic.learner.online["mu"][row, 0] = float("inf")


def hurt_moment(intrinsic, row):
    intrinsic.learner.moment1["rho"][row] = float("nan")


@pytest.mark.parametrize("hurt", [hurt_model, hurt_moment])
@pytest.mark.parametrize("at", [3, 100])
def test_a_seed_whose_model_is_lost_fails_alone(tmp_path, monkeypatch, hurt, at):
    settings = {"vime": VIME}
    wanted = logs(run(tmp_path / "whole", algo="dqn", n_seeds=3, settings=settings))
    learn = Lockstep.learn

    def poisoned(self):
        if self.step == at:
            with torch.no_grad():
                hurt(self.intrinsic, self.seeds.index(1))
        learn(self)

    monkeypatch.setattr(Lockstep, "learn", poisoned)
    with pytest.raises(SeedFailures) as caught:
        run(tmp_path / "hurt", algo="dqn", n_seeds=3, settings=settings)
    assert "dynamics_" in str(caught.value) and "seed 1" in str(caught.value)
    (folder,) = {path.parent.parent for path in (tmp_path / "hurt").rglob("status.json")}
    found = logs(folder)
    assert (found[0], found[2]) == (wanted[0], wanted[2])
    status = json.loads((folder / "seed-00001" / "status.json").read_text())
    assert status["state"] == "failed"
    # Found at once where the model is asked or updated, as soon as there are updates.
    assert status["steps"] <= max(at, 60) + 1


def test_the_fingerprint_is_that_of_before_only_without_it(tmp_path):
    names = [
        identity(config(tmp_path, algo="dqn", settings=settings))
        for settings in ({}, {"vime": {"eta": 0.0}}, {"vime": {"eta": 0.1}}, {"vime": VIME})
    ]
    assert names[0] == names[1] and len(set(names)) == 3
