"""Training freezes what exists for as long as it lasts, and never thaws what others froze."""

import gc

import pytest
from running import run

from vdqn_runner.collector import existing_objects_kept
from vdqn_runner.train import Lockstep


@pytest.fixture
def thawed():
    """Nothing is frozen, as in a user's process."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def counts(monkeypatch):
    """How many objects are frozen, at some of the steps: each is counted anew."""
    seen = []
    learn = Lockstep.learn

    def counting(self):
        if self.step % 50 == 1:
            seen.append(gc.get_freeze_count())
        learn(self)

    monkeypatch.setattr(Lockstep, "learn", counting)
    return seen


def test_what_exists_is_frozen_while_training(tmp_path, thawed, counts):
    run(tmp_path, algo="dqn", n_seeds=1)
    assert len(counts) > 2 and min(counts) > 1000
    assert gc.get_freeze_count() == 0


def test_what_others_froze_stays_frozen(tmp_path, thawed, counts):
    gc.freeze()
    frozen = gc.get_freeze_count()
    run(tmp_path, algo="dqn", n_seeds=1)
    # An object that is no longer used is freed, frozen or not.
    assert 0.99 * frozen < gc.get_freeze_count() <= frozen
    assert len(counts) > 2 and max(counts) <= frozen


def test_thawed_when_training_fails(thawed):
    with pytest.raises(ZeroDivisionError), existing_objects_kept():
        assert gc.get_freeze_count() > 1000
        raise ZeroDivisionError
    assert gc.get_freeze_count() == 0


def test_what_was_garbage_before_is_freed(thawed):
    """It would stay for the whole training, a replay memory of the one before included."""

    class Cycle:
        freed = 0

        def __init__(self):
            self.me = self

        def __del__(self):
            Cycle.freed += 1

    gc.disable()
    try:
        Cycle()
        with existing_objects_kept():
            assert Cycle.freed == 1
    finally:
        gc.enable()
