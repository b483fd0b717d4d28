"""Short runs in processes of their own, and what they leave."""

import json
import os
import subprocess
import sys
from pathlib import Path

import vdqn_runner

HERE = Path(__file__).parent
SOURCE = Path(vdqn_runner.__file__).parents[1]
ENVIRON = os.environ | {
    "PYTHONPATH": os.pathsep.join(map(str, [SOURCE, HERE, HERE / "plugins"])),
    "OMP_NUM_THREADS": "1",
}
RESULTS = ("episodes.csv", "updates.csv", "evaluations.csv", "policy.pt")

ALGOS = ("vdqn", "dqn", "noisynet")
ENVS = {"chain": {"kind": "chain", "n": 3}, "gym": {"kind": "gym", "id": "CartPole-v1"}}


class Server:
    """See ``fault_server``."""

    def __init__(self, folder):
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, HERE / "fault_server.py"],
            env=ENVIRON,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._n_started = 0

    def start(self, cwd, **work):
        """Start a process in the folder ``cwd``."""
        self._n_started += 1
        err = self._folder / f"{self._n_started}.err"
        pid = self._ask({"start": work | {"err": str(err), "cwd": str(cwd)}})
        return Child(self, pid, err)

    def run(self, cwd, **work):
        """Start a process and wait for its end."""
        return self.start(cwd, **work).wait()

    def wait(self, pid):
        return self._ask({"wait": pid})

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait() == 0

    def _ask(self, request):
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


class Child:
    """A started process; ``code`` is known once it has ended."""

    def __init__(self, server, pid, err):
        self.pid, self.err, self.code = pid, err, None
        self._server = server

    def wait(self):
        self.code = self._server.wait(self.pid)
        return self

    @property
    def lines(self):
        """What it printed, by lines."""
        return self.err.read_text().splitlines()


def settings(out, algo="vdqn", env="chain", **top):
    """A run that takes a fraction of a second: some 150 steps, updates from early on."""
    return {
        "out": str(out),
        "episodes": 12 if env == "chain" else 8,
        "n_seeds": 1,
        "workers": 1,
        "quiet": True,
        "checkpoint_every": 50,
        "evaluate": {"every": 5, "episodes": 2},
        "env": ENVS[env],
        "algo": {
            "name": algo,
            "batch_size": 8,
            "learning_starts": 30,
            "target_period": 20,
            "network": {"hidden": [16]},
            "lr": 0.005,
        },
    } | top


def overrides(out, algo="vdqn", env="chain", **top):
    """The same as ``settings`` for a command line."""
    plain = settings(out, algo, env, **top)
    of_env = {"chain": ["env=chain", "env.n=3"], "gym": ["env=gym", "env.id=CartPole-v1"]}[env]
    evaluate, learner = plain.pop("evaluate"), plain.pop("algo")
    del plain["env"]
    learner["network.hidden"] = "[16]"
    del learner["network"]
    line = [f"algo={learner.pop('name')}", *of_env]
    line += [
        f"{key}={str(value).lower() if value is True else value}" for key, value in plain.items()
    ]
    line += [f"evaluate.{key}={value}" for key, value in evaluate.items()]
    return line + [f"algo.{key}={value}" for key, value in learner.items()]


def the_run(out):
    """The only run's folder below ``out``."""
    (folder,) = {path.parent.parent for path in Path(out).glob("*/*/*/*/seed-*/lock")}
    return folder


def results(out):
    """By seed, the bytes of the files with its numbers; None for one that is not there."""
    return {
        folder.name: {
            name: (folder / name).read_bytes() if (folder / name).is_file() else None
            for name in RESULTS
        }
        for folder in the_run(out).glob("seed-*")
    }


def statuses(out):
    """By seed, what status.json says; None where there is none."""
    found = {}
    for folder in sorted(the_run(out).glob("seed-*")):
        file = folder / "status.json"
        found[folder.name] = json.loads(file.read_text()) if file.is_file() else None
    return found


def states(out):
    """By seed, its state."""
    return {name: status and status["state"] for name, status in statuses(out).items()}


def calls_of(server, out, wanted):
    """The names of the calls that a run makes on its files, in a folder of their own."""
    out.mkdir(exist_ok=True)
    record = out / "calls"
    child = server.run(out, settings=wanted, fault={"what": "count", "record": str(record)})
    assert (child.code, child.lines) == (0, [])
    return record.read_text().splitlines()


def error_of(child):
    """The one line of a command that failed."""
    assert child.code == 1, child.lines
    (line,) = child.lines
    assert line.startswith("vdqn-run: error: ")
    assert ".tmp" not in line and "Traceback" not in line
    return line.removeprefix("vdqn-run: error: ")
