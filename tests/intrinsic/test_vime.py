"""VIME as a whole: what teaches much is worth much."""

import numpy as np
import pytest
import torch

from vdqn_runner import memory
from vdqn_runner.config import build
from vdqn_runner.envs import make_envs
from vdqn_runner.intrinsic import NoBonus, Vime, make_intrinsic
from vdqn_runner.intrinsic.vime import SAMPLES
from vdqn_runner.replay import make_replay
from vdqn_runner.train import inputs

N = 12


class World:
    """A chain of N states, a replay memory of it and an intrinsic reward, for S seeds."""

    def __init__(self, n_seeds=2, replay=None, **vime):
        vime = {"eta": 0.5, "lr": 0.01} | vime
        algo = {"name": "dqn", "learning_starts": 20, "batch_size": 10, "vime": vime}
        config = build(
            {
                "episodes": 400,
                "env": {"kind": "chain", "n": N},
                "algo": algo | {"replay": replay or {}},
            }
        )
        self.spec = make_envs(config.env, [0]).spec
        self.replay = make_replay(n_seeds, self.spec, config.algo.replay, config.episodes)
        seeds = list(range(n_seeds))
        self.intrinsic = make_intrinsic(
            config.algo, seeds, self.spec, lambda stored: inputs(stored, self.spec), "cpu"
        )
        self.n_seeds, self.step = n_seeds, 0

    def array(self, state):
        return np.full(self.n_seeds, state, self.spec.stored_dtype)

    def bonus(self, state, action):
        """The bonus of going from a state, [S]; what it leads to is certain."""
        after = min(max(state + (1 if action else -1), 1), N)
        actions = np.full(self.n_seeds, action)
        return self.intrinsic.bonus(self.array(state), actions, self.array(after)), after

    def see(self, state, action):
        """See a transition, and learn."""
        reward, after = self.bonus(state, action)
        self.replay.begin(np.arange(self.n_seeds), self.array(state))
        actions, ends = np.full(self.n_seeds, action), np.ones(self.n_seeds, bool)
        self.replay.add(actions, reward, ends, self.array(after))
        self.step += 1
        self.intrinsic.episodes_ended(np.arange(self.n_seeds))
        self.intrinsic.learn(self.replay, self.step)
        return reward


@pytest.mark.parametrize("replay", [{}, {"alpha": 0.6}], ids=["uniform", "prioritised"])
def test_what_was_seen_often_is_worth_less_than_what_is_new(replay):
    """A walk between the first states; then from one of them, and far away."""
    world = World(replay=replay)
    first = world.see(2, 1)
    for step in range(400):
        world.see(1 + step % 3, step // 3 % 2)
    often, never = (
        np.mean([world.bonus(*where)[0] for _ in range(20)], axis=0) for where in ((2, 1), (10, 1))
    )
    assert (first > 0).all()
    assert (often > 0).all()
    assert (never > 3 * often).all()
    # Divided by what is usual by now: what is seen all the time is worth about eta.
    assert (often > 0.5 * 0.2).all() and (often < 0.5 * 5).all()


def test_a_bonus_is_the_gain_over_its_usual_size_times_eta(monkeypatch):
    gains = iter([[2.0, 6.0], [4.0, 3.0], [8.0, 9.0]])
    monkeypatch.setattr(
        "vdqn_runner.intrinsic.vime.information_gain",
        lambda *rest: torch.tensor(next(gains), dtype=torch.float64),
    )
    world = World(eta=0.25)
    assert world.bonus(2, 1)[0].tolist() == [0.5, 1.5]  # nothing to compare with yet
    world.intrinsic.episodes_ended(np.array([1]))
    assert world.bonus(2, 1)[0].tolist() == [1.0, 0.125]  # of seed 1 over 6
    world.intrinsic.episodes_ended(np.array([0]))
    assert world.bonus(2, 1)[0].tolist() == [0.25 * 8 / 3, 0.25 * 9 / 6]
    assert world.intrinsic.figures(0)["intrinsic_reward"] == pytest.approx((0.5 + 1 + 2 / 3) / 3)


def test_the_model_learns_what_follows():
    world = World()
    losses = []
    for step in range(300):
        world.see(1 + step % N, step // N % 2)
        losses.append(world.intrinsic.figures(0)["dynamics_loss"])
        world.intrinsic.begin_log_row(0)
    assert np.isnan(losses[:19]).all()  # learning_starts
    assert np.isfinite(losses[19:]).all()
    assert np.mean(losses[-50:]) < 0.2 * np.mean(losses[19:40])


def test_the_model_sees_the_code_that_the_network_sees():
    world = World()
    x = world.intrinsic._x(np.array([[3], [12]]), np.array([[1], [0]]))
    assert x[:, 0].tolist() == [[1.0] * 3 + [0.0] * 9 + [0.0, 1.0], [1.0] * 12 + [1.0, 0.0]]


def test_updates_come_when_they_are_due():
    world = World(train_every=3)
    for step in range(40):
        world.see(1 + step % 3, 1)
    # From the 20th transition on, at steps 21, 24, .. 39.
    assert world.intrinsic.learner.updates == 7


def test_another_seed_does_not_matter():
    """Its bonuses and losses are the same bits in a batch and when another one has left."""
    wanted, other = World(1), World(3)
    for step in range(60):
        if step == 40:
            other.intrinsic.select(np.array([0]))
            other.replay.select(np.array([0]))
            other.n_seeds = 1
        one, several = (world.see(1 + step % 5, step % 2) for world in (wanted, other))
        assert one[0] == several[0]
        assert wanted.intrinsic._last.keys() == other.intrinsic._last.keys()
        for name, values in wanted.intrinsic._last.items():
            assert values[0] == other.intrinsic._last[name][0]


def test_without_eta_there_is_none():
    world = World(eta=0.0, lr=1e-3)
    assert isinstance(world.intrinsic, NoBonus)
    assert isinstance(World().intrinsic, Vime)
    assert world.bonus(2, 1)[0].tolist() == [0.0, 0.0]
    assert world.intrinsic.figures(0) == {} and world.intrinsic.finite()


def test_the_estimate_of_memory_knows_how_many_samples_there_are():
    assert memory.SAMPLES == SAMPLES
