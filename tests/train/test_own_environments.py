"""Bits and resuming on our other environments, whose episodes have chances of their own."""

import functools

import numpy as np
import pytest
from running import Stop, broken_off, logs, run

from vdqn_runner.play.agent import read_agent
from vdqn_runner.play.episode import moments, q_functions

ENVS = {
    "deep_sea": {"kind": "deep_sea", "n": 5},
    "windy": {"kind": "deep_sea", "n": 5, "stochastic": True},
    "stochastic_chain": {"kind": "stochastic_chain", "n": 6, "slip": 0.2},
}
ALGOS = ["vdqn", "dqn", "noisynet"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of seeds 0 to 3 trained together, by environment and algorithm."""

    @functools.cache
    def trained(env, algo):
        return run(tmp_path_factory.mktemp("together"), **settings(env, algo))

    return trained


def settings(env, algo):
    return {"env": ENVS[env], "algo": algo, "episodes": 40, "n_seeds": 4, "checkpoint_every": 33}


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("algo", ALGOS)
def test_alone_and_after_a_crash(undisturbed, tmp_path, monkeypatch, env, algo):
    wanted = logs(undisturbed(env, algo))
    assert len({seed.episodes for seed in wanted.values()}) == 4
    alone = settings(env, algo) | {"seed": 2, "n_seeds": 1}
    assert logs(run(tmp_path / "alone", **alone)) == {2: wanted[2]}
    for at in (71, 137):
        with broken_off(monkeypatch, at), pytest.raises(Stop):
            run(tmp_path, **settings(env, algo))
    assert logs(run(tmp_path, **settings(env, algo))) == wanted


@pytest.mark.parametrize("env", ENVS)
def test_a_film_shows_what_was_evaluated(undisturbed, env):
    """The gymnasium environment goes the way of the batch: the same returns, trial by trial."""
    folder = undisturbed(env, "dqn")
    rows = (folder / "seed-00001" / "evaluations.csv").read_text().splitlines()[-3:]
    agent = read_agent(folder / "seed-00001")
    q = q_functions(agent, 40)["mean"]
    for trial, row in enumerate(rows):
        *_, last = moments(agent, q, trial)
        assert row.split(",")[3:5] == ["mean", str(trial)]
        assert last.total == pytest.approx(float(row.split(",")[5]), abs=1e-12)
        assert last.frame.dtype == np.uint8 and last.frame.ndim == 3
