"""When updates and target copies happen."""

import numpy as np
import pytest
import torch
from running import CARTPOLE, CHAIN, config

from vdqn_runner.train import Lockstep


def steps(batch, count):
    """Take ``count`` steps of the loop, yielding after each."""
    for _ in range(count):
        batch.begin_episodes()
        ended = batch.advance()
        batch.learn()
        batch.episodes[ended] += 1
        batch.starting[ended] = True
        yield


def copied(rows):
    return {name: row.detach().clone() for name, row in rows.items()}


def same(one, two):
    return all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("algo", ["vdqn", "dqn", "noisynet"])
@pytest.mark.parametrize("env", [CHAIN, CARTPOLE])
def test_target_is_copied_every_target_period(tmp_path, env, algo):
    settings = {"target_period": 7, "learning_starts": 5, "train_every": 1}
    batch = Lockstep(config(tmp_path, env=env, algo=algo, settings=settings), [0, 1])
    learner = batch.algo.learner
    kept = copied(learner.target)
    for _ in steps(batch, 60):
        if batch.step % 7 == 0:
            assert same(learner.target, learner.online)
            kept = copied(learner.target)
        else:
            assert same(learner.target, kept)
            assert batch.step < 7 or not same(learner.target, learner.online)


@pytest.mark.parametrize("algo", ["vdqn", "dqn", "noisynet"])
def test_learning_starts_with_enough_transitions(tmp_path, algo):
    settings = {"learning_starts": 20, "batch_size": 4}
    batch = Lockstep(config(tmp_path, algo=algo, settings=settings), [0, 1])
    start = copied(batch.algo.learner.online)
    for _ in steps(batch, 40):
        assert batch.algo.learner.updates == max(0, batch.step - 19)
        assert same(batch.algo.learner.online, start) == (batch.step < 20)


def test_train_every(tmp_path):
    settings = {"learning_starts": 10, "train_every": 4}
    batch = Lockstep(config(tmp_path, algo="dqn", settings=settings), [0])
    updated = []
    before = 0
    for _ in steps(batch, 40):
        if batch.algo.learner.updates > before:
            updated.append(batch.step)
        before = batch.algo.learner.updates
    assert updated == [12, 16, 20, 24, 28, 32, 36, 40]


def test_target_is_copied_between_updates_too(tmp_path):
    settings = {"learning_starts": 10, "train_every": 6, "target_period": 4}
    batch = Lockstep(config(tmp_path, algo="dqn", settings=settings), [0])
    for _ in steps(batch, 50):
        if batch.step % 4 == 0:
            assert same(batch.algo.learner.target, batch.algo.learner.online)


def test_a_full_replay_goes_on_learning(tmp_path):
    settings = {"learning_starts": 30, "batch_size": 8, "replay": {"capacity": 30}}
    batch = Lockstep(config(tmp_path, algo="dqn", settings=settings), [0])
    for _ in steps(batch, 100):
        pass
    assert len(batch.replay) == 30
    assert batch.algo.learner.updates == 71


def test_lr_zero_moves_nothing_and_follows_its_schedule(tmp_path):
    lr = {"kind": "piecewise", "points": [[39, 0.0], [40, 0.01]]}
    settings = {"learning_starts": 10, "lr": lr}
    batch = Lockstep(config(tmp_path, algo="dqn", settings=settings), [0])
    start = copied(batch.algo.learner.online)
    for _ in steps(batch, 45):
        assert same(batch.algo.learner.online, start) == (batch.step < 40)


def test_sums_are_means_over_the_updates_since_the_last_row(tmp_path):
    batch = Lockstep(config(tmp_path, algo="dqn", settings={"learning_starts": 10}), [0, 1])
    losses = []
    update = batch.algo.update

    def noting(*arguments):
        updated = update(*arguments)
        losses.append(updated.figures["loss"].copy())
        return updated

    batch.algo.update = noting
    assert np.isnan(batch.update_figures(0)["loss"])
    for _ in steps(batch, 30):
        pass
    batch.begin_log_row(1)
    first = len(losses)
    for _ in steps(batch, 10):
        pass
    for row, since in ((0, 0), (1, first)):
        wanted = np.mean([found[row] for found in losses[since:]])
        assert batch.update_figures(row)["loss"] == pytest.approx(wanted)
