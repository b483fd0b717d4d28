"""Training on a GPU, where there is one."""

import numpy as np
import pytest
import torch
from running import CARTPOLE, CHAIN, config

from vdqn_runner.devices import check_device
from vdqn_runner.errors import ConfigError
from vdqn_runner.run import execute
from vdqn_runner.runs.folder import seed_path
from vdqn_runner.runs.status import read_status
from vdqn_runner.train import Lockstep

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
VARIANTS = [
    ("vdqn", {}),
    ("vdqn", {"theta_samples": "per_batch", "resample": "episode"}),
    ("dqn", {}),
    ("noisynet", {}),
    ("noisynet", {"noise": "factorised"}),
    ("noisynet", {"theta_samples": "per_tuple"}),
]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(ConfigError, match="device=cuda: .* finds no CUDA GPU here"):
        execute(config(tmp_path / "out").model_copy(update={"device": "cuda"}))
    assert not (tmp_path / "out").exists()


def test_the_processor_is_always_there():
    check_device("cpu")


@needs_gpu
@pytest.mark.parametrize("env", [CHAIN, CARTPOLE])
@pytest.mark.parametrize(("algo", "settings"), VARIANTS)
def test_trains_on_a_gpu(tmp_path, env, algo, settings):
    settings = {"learning_starts": 20, "batch_size": 8} | settings
    asked = config(tmp_path, env=env, algo=algo, settings=settings)
    run = execute(asked.model_copy(update={"device": "cuda"}))
    for seed in asked.seeds:
        status = read_status(seed_path(run, seed))
        assert status is not None and status.state == "done"
        assert status.versions["kernels"] == "cuda"
        policy = torch.load(seed_path(run, seed) / "policy.pt", weights_only=True)
        assert all(p.device.type == "cpu" for kind in policy.values() for p in kind.values())


@needs_gpu
@pytest.mark.parametrize(("algo", "settings"), VARIANTS)
def test_first_updates_are_those_of_the_processor(tmp_path, algo, settings):
    """The same noise and minibatches: differences are rounding, which grows with every step."""
    settings = {"learning_starts": 20, "batch_size": 8} | settings
    asked = config(tmp_path, algo=algo, settings=settings)
    here = Lockstep(asked, range(300))
    there = Lockstep(asked.model_copy(update={"device": "cuda"}), range(300))
    for batch in (here, there):
        for _ in range(22):
            batch.begin_episodes()
            ended = batch.advance()
            batch.learn()
            batch.episodes[ended] += 1
            batch.starting[ended] = True
    for name, rows in here.algo.learner.moment1.items():
        scale = rows.abs().amax(dim=1, keepdim=True)
        other = there.algo.learner.moment1[name].cpu()
        close = ((other - rows).abs() <= 1e-3 * scale).all(dim=1)
        # A seed whose last actions differ by rounding has other minibatches.
        assert close.float().mean() > 0.9
    norms = here.algo.learner.gradient_norms, there.algo.learner.gradient_norms
    assert np.median(np.abs(norms[0] / norms[1] - 1.0)) < 1e-3
