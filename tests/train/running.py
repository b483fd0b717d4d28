"""Short runs in a temporary folder, and the bytes that they leave."""

import contextlib
import os
import signal
from typing import NamedTuple

from vdqn_runner.config import build
from vdqn_runner.run import execute
from vdqn_runner.train import Lockstep

CHAIN = {"kind": "chain", "n": 8}
CARTPOLE = {"kind": "gym", "id": "CartPole-v1"}
EPISODES = {"chain": 20, "gym": 25}
EVALUATE = {"every": 7, "episodes": 3}

# Sizes that fill no vector register evenly, and updates from early on.
SMALL = {
    "batch_size": 13,
    "learning_starts": 60,
    "target_period": 17,
    "network": {"hidden": [18, 11]},
    "lr": 0.005,
}


def config(out, env=CHAIN, algo="vdqn", seed=0, n_seeds=5, settings=None, **top):
    return build(
        {
            "out": str(out),
            "episodes": EPISODES.get(env["kind"], 40),
            "quiet": True,
            "evaluate": EVALUATE,
            "workers": 1,
            "env": env,
            "seed": seed,
            "n_seeds": n_seeds,
            "algo": SMALL | {"name": algo} | (settings or {}),
        }
        | top
    )


def run(out, **settings):
    return execute(config(out, **settings))


class Logs(NamedTuple):
    """The bytes of a seed's logs."""

    episodes: bytes
    updates: bytes
    evaluations: bytes


def logs(folder):
    """By seed, the bytes of its logs; b"" for one that is not there."""
    return {
        int(seed.name.removeprefix("seed-")): Logs(
            *(
                path.read_bytes() if (path := seed / f"{name}.csv").exists() else b""
                for name in Logs._fields
            )
        )
        for seed in folder.glob("seed-*")
    }


class Stop(BaseException):
    """What the interrupted runs of these tests end with."""


@contextlib.contextmanager
def broken_off(monkeypatch, at, error=Stop):
    """Raise ``error`` in place of the update of step ``at``."""
    learn = Lockstep.learn

    def fails(self):
        if self.step == at:
            raise error(f"stopped at step {at}")
        learn(self)

    with monkeypatch.context() as patch:
        patch.setattr(Lockstep, "learn", fails)
        yield


@contextlib.contextmanager
def signalled(monkeypatch, at, number=signal.SIGTERM):
    """Send this process a signal during the update of step ``at``."""
    learn = Lockstep.learn

    def sends(self):
        learn(self)
        if self.step == at:
            os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        patch.setattr(Lockstep, "learn", sends)
        yield
