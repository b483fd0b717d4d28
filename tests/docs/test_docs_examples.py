"""The how-to pages do what they say: an environment of one's own, an algorithm of one's own."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from documentation import ROOT, blocks

from vdqn_runner import cli
from vdqn_runner.envs import GymBatch

SMALL = ["episodes=12", "n_seeds=2", "algo.network.hidden=[8]", "algo.learning_starts=30", "-q"]


@pytest.fixture
def lock(monkeypatch):
    """Whatever is imported from examples/, as if its folder were on PYTHONPATH."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))


def test_an_environment_in_a_module_is_trained(lock, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask = ["env=gym", "env.id=lock:Lock5-v0", "algo=dqn", "workers=1", *SMALL]
    assert cli.main(ask) == 0
    (log,) = tmp_path.glob("runs/default/lock-Lock5-v0/dqn/*/seed-00001/episodes.csv")
    found = pd.read_csv(log)
    assert len(found) == 12
    # It ends where it pays, and by its limit otherwise.
    assert set(found["return"]) <= {0.0, 1.0}
    assert (found["terminated"] == found["return"]).all()
    assert (found["length"][found["return"] == 0] == 15).all()


def test_a_module_that_is_not_found_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["env=gym", "env.id=lokk:Lock5-v0"]) == 2
    assert "put the folder of the module lokk on PYTHONPATH" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_lock_opens_by_its_combination_alone(lock):
    batch = GymBatch("lock:Lock5-v0", [0])
    combination = np.random.default_rng(5).integers(2, size=5)
    batch.reset(np.array([0]))
    for dial, position in enumerate(combination):
        # A wrong turn leads back to the first dial, from where all must be turned again.
        batch.step(np.array([1 - position]))
        assert batch.observe()[0].argmax() == 0
        batch.reset(np.array([0]))
        for right in combination[: dial + 1]:
            result = batch.step(np.array([right]))
    assert (result.reward[0], result.terminated[0]) == (1.0, True)
    batch.close()


def insert(file, after, text):
    """Put text behind the only place in a file that matches."""
    before = file.read_text(encoding="utf-8")
    found = list(re.finditer(after, before))
    assert len(found) == 1, f"{file}: {len(found)} x {after}"
    end = found[0].end()
    file.write_text(before[:end] + text + before[end:], encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the package in which was done what the page on algorithms says."""
    top = tmp_path_factory.mktemp("extended")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "vdqn_runner", top / "src" / "vdqn_runner", ignore=without)
    shutil.copytree(ROOT / "conf", top / "conf")
    package = top / "src" / "vdqn_runner"
    titled = {title: text for _, title, text in blocks("how-to/algorithm.md") if title}
    schema = package / "config" / "schema.py"
    insert(schema, r"(?=class EvaluateConfig)", titled["src/vdqn_runner/config/schema.py"] + "\n\n")
    insert(schema, r"\nAlgo = Annotated\[\s*", "BoltzmannConfig | ")
    insert(schema, r'\n    "algo": \{', '"boltzmann": BoltzmannConfig, ')
    names = package / "config" / "__init__.py"
    insert(names, r"from vdqn_runner.config.schema import \(", "\n    BoltzmannConfig,")
    insert(names, r"__all__ = \[", '"BoltzmannConfig", ')
    (top / "conf" / "algo" / "boltzmann.yaml").write_text(titled["conf/algo/boltzmann.yaml"])
    shutil.copy(ROOT / "examples" / "boltzmann.py", package / "algos")
    algos = package / "algos" / "__init__.py"
    insert(
        algos, r"import Algorithm, Context\n", "from vdqn_runner.algos.boltzmann import Boltzmann\n"
    )
    insert(algos, r"ALGORITHMS: dict\[str, Any\] = \{", '"boltzmann": Boltzmann, ')
    return top


# Run in the copy: what is refused, trains, and how often each action comes.
PROGRAM = """
import numpy as np, torch
from vdqn_runner import cli
from vdqn_runner.algos import make_algorithm
from vdqn_runner.algos.base import Clock, Context
from vdqn_runner.api import settings
from vdqn_runner.layout import Layout

print(*(cli.main(["algo=boltzmann", wrong]) 
          for wrong in ("algo.temprature=2", "algo.temperature=0")))
small = %r
cold = "algo.temperature={kind: linear, start: 2.0, end: 0.5, duration: 100}"
print(cli.main(["algo=boltzmann", "env.n=5", cold, "workers=1", *small]))
config = settings("algo=boltzmann", "algo.temperature=0.5", "env.n=5", "algo.network.hidden=[8]")
algo = make_algorithm(config.algo, Context([7, 8], Layout([5, 8, 2])))
layer = Layout([5, 8, 2]).layers(algo.learner.online["theta"].detach())[1]
layer.weight.zero_()
layer.bias.copy_(torch.tensor([[[1.0, 0.25]], [[0.0, 0.0]]]))
clock = Clock(0, np.zeros(2, np.int64))
print(*np.mean([algo.act(torch.zeros(2, 1, 5), clock) for _ in range(4000)], axis=0))
"""


def test_an_algorithm_is_added_as_the_page_says(extended, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % (SMALL,)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(extended / "src"), *sys.path])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused, trained, shares = done.stdout.splitlines()
    assert refused == "2 2"
    assert "did you mean algo.temperature?" in done.stderr
    assert "algo.temperature=0: must be a number from 1e-06" in done.stderr
    assert trained == "0"
    (log,) = tmp_path.glob("runs/default/chain-5/boltzmann/*/seed-00001/updates.csv")
    assert pd.read_csv(log)["temperature"].iloc[-1] == 0.5
    # exp(0.25 / 0.5) / (exp(0.25 / 0.5) + exp(1 / 0.5)); five standard errors of 4000 draws.
    expected = [1 / (1 + np.exp(1.5)), 0.5]
    assert np.abs(np.array(shares.split(), float) - expected).max() < 5 * 0.5 / 4000**0.5


def test_the_settings_on_the_page_are_no_others_than_conf(extended):
    # So that keys which all algorithms gain are told there too.
    mine = yaml.safe_load((extended / "conf" / "algo" / "boltzmann.yaml").read_text())
    theirs = yaml.safe_load((ROOT / "conf" / "algo" / "dqn.yaml").read_text())
    assert set(mine) - {"temperature"} == set(theirs) - {"epsilon", "loss"}
