"""As many steps as CartPole makes in a day of its own time: neither memory nor open files grow.

Run by ``pytest -m slow tests/train/test_long_run.py -s``; it prints what it measures. The network
is as small as can be, updates are rarer and episodes are short, so that all that could pile up
(steps, episodes, log rows, checkpoints, evaluations) comes often and soon.
"""

import os
from pathlib import Path

import pytest
from running import config

from vdqn_runner.config import identity, identity_mapping
from vdqn_runner.runs.folder import create_run
from vdqn_runner.runs.interrupt import Interrupt
from vdqn_runner.runs.provenance import commit, versions
from vdqn_runner.seeds import train_seeds

DAY = 24 * 3600 * 50  # steps: CartPole moves on by 0.02 s in each
CHAIN = {"kind": "chain", "n": 3}
CART = {"kind": "gym", "id": "CartPole-v1", "max_episode_steps": 12}
SHORTEST = {"chain": 12, "gym": 8}  # steps an episode; within 7 no pole has fallen
SAMPLES = 50

PAGE = os.sysconf("SC_PAGE_SIZE")


class Sampler:
    """A ``Report`` that notes resident memory and open files at even distances."""

    def __init__(self, steps):
        self.episodes = self.steps = 0
        self.every = steps // SAMPLES
        self.found = []

    def update(self, episodes_done, mean_return, steps):
        if steps % self.every == 0 and len(self.found) < SAMPLES:
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
            self.found.append((steps, resident / 2**20, len(os.listdir("/proc/self/fd"))))

    def close(self):
        pass


def sampled(out, algo, env, steps):
    """Train for at least ``steps`` steps; return what the sampler found."""
    asked = config(
        out,
        env=env,
        algo=algo,
        n_seeds=1,
        episodes=steps // SHORTEST[env["kind"]],
        settings={
            "network": {"hidden": [2]},
            "batch_size": 2,
            "train_every": 20,
            "replay": {"capacity": 1000},
        },
        evaluate={"every": 100, "episodes": 1},
    )
    run = out / identity(asked)
    create_run(run, identity_mapping(asked))
    sampler = Sampler(steps)
    origin = {"versions": versions(), "commit": commit()}
    train_seeds(asked, run, [0], origin, lambda total, done: sampler, Interrupt())
    return sampler.found


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("algo", "env", "steps"),
    [("dqn", CHAIN, 60_000), pytest.param("vdqn", CART, DAY, marks=pytest.mark.slow)],
)
def test_memory_and_open_files_are_stable(tmp_path, algo, env, steps):
    found = sampled(tmp_path, algo, env, steps)
    for at, megabytes, files in found[:: SAMPLES // 10]:
        print(f"step {at:>11,}: {megabytes:7.1f} MiB, {files} open files")
    assert len(found) == SAMPLES
    settled = found[SAMPLES // 5 : -1]  # with the last step the files are closed
    assert len({files for _, _, files in settled}) == 1
    memory = [megabytes for _, megabytes, _ in settled]
    # The allocator gives and takes some; a leak of two bytes a step would be 8 MiB in a day.
    assert max(memory) - memory[0] < 8.0
