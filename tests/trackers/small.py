"""Small runs, their seeds, and a request for them."""

from vdqn_runner.analysis.load import find_runs
from vdqn_runner.config import build
from vdqn_runner.run import execute
from vdqn_runner.trackers.sources import sources

CARTPOLE = {"kind": "gym", "id": "CartPole-v1"}
LOGS = ("episodes.csv", "updates.csv", "evaluations.csv", "policy.pt")


def config(out, tracker="none", algo="dqn", env=None, **top):
    """Episodes of 14 steps; a checkpoint after every third and in the middle of one."""
    return build(
        {
            "out": str(out),
            "episodes": 25,
            "n_seeds": 2,
            "workers": 1,
            "quiet": True,
            "checkpoint_every": 50,
            "evaluate": {"every": 10, "episodes": 2},
            "env": env or {"kind": "chain", "n": 5},
            "algo": {
                "name": algo,
                "batch_size": 8,
                "learning_starts": 40,
                "network": {"hidden": [6]},
            },
            "tracker": {"kind": tracker} if isinstance(tracker, str) else tracker,
        }
        | top
    )


def run(out, *tracker, **more):
    return execute(config(out, *tracker, **more))


def seed_folder(folder, seed):
    return folder / f"seed-{seed:05d}"


def source(folder, seed):
    """A seed as trackers see it."""
    (found,) = find_runs([folder])
    return {one.about.seed: one for one in sources(found)}[seed]


def logs(folder):
    """The bytes of all logs, by their place."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for name in LOGS
        for path in folder.glob(f"seed-*/{name}")
    }
