"""Greedy evaluation: known policies have their known returns, and training does not notice."""

import csv
import io
import math

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv
from running import CARTPOLE, CHAIN, Stop, config, logs, run

from vdqn_runner import evaluate
from vdqn_runner.layout import Layout
from vdqn_runner.runs.seed_run import SeedRun
from vdqn_runner.train import Lockstep, inputs

ALGOS = ["vdqn", "dqn", "noisynet"]
POLICIES = {"vdqn": ["mean", "sample"], "dqn": ["mean"], "noisynet": ["mean", "sample"]}
ENVS = {"chain": CHAIN, "gym": CARTPOLE}


def table(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


def lockstep(env, algo, sigma=1e-6, n_seeds=2, **kwargs):
    """Agents whose networks are all 0 but for their sigma."""
    batch = Lockstep(config("unused", env=env, algo=algo, **kwargs), range(n_seeds))
    online = batch.algo.learner.online
    with torch.no_grad():
        for rows in online.values():
            rows.zero_()
        if "rho" in online:
            online["rho"].fill_(math.log(math.expm1(sigma)))
        if "sigma" in online:
            online["sigma"].fill_(sigma)
    batch.algo.online_changed()
    return batch


def layers(batch):
    """Views of the networks, to write to; ``online_changed`` is to follow."""
    spec, hidden = batch.envs.spec, batch.config.algo.network.hidden
    online = batch.algo.learner.online
    rows = online["mu"] if "mu" in online else online["theta"]
    return Layout([spec.obs_dim, *hidden, spec.n_actions]).layers(rows.detach())


def prefer(batch, action):
    layers(batch)[-1].bias[:, 0, action] = 1.0
    batch.algo.online_changed()


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("n", [3, 8, 100])
def test_known_policies_on_the_chain(algo, n):
    settings = {"epsilon": 1.0} if algo == "dqn" else {"resample": "episode"}
    # Right at once: N - 2 steps to state N, then 11 that pay 1; left at once: N + 8 pay 0.001.
    for action, value in ((1, 11.0), (0, (n + 8) / 1000)):
        batch = lockstep({"kind": "chain", "n": n}, algo, settings=settings)
        prefer(batch, action)
        batch.step = 123
        batch.episodes[1] = 40
        rows = batch.evaluation_figures(1)
        assert [tuple(row) for row in rows] == [evaluate.COLUMNS] * len(rows)
        expected = [(policy, trial) for policy in POLICIES[algo] for trial in range(3)]
        assert [(row["policy"], row["trial"]) for row in rows] == expected
        for row in rows:
            assert (row["seed"], row["episode"], row["step"]) == (1, 40, 123)
            assert row["return"] == pytest.approx(value, rel=1e-12)
            assert row["length"] == n + 9


@pytest.mark.parametrize("algo", ["vdqn", "noisynet"])
@pytest.mark.parametrize("noise", ["independent", "factorised"])
def test_under_a_large_sigma_samples_leave_the_mean_policy(algo, noise):
    settings = {"noise": noise} if algo == "noisynet" else {}
    batch = lockstep({"kind": "chain", "n": 30}, algo, sigma=5.0, settings=settings)
    prefer(batch, 1)
    rows = batch.evaluation_figures(0)
    assert [row["return"] for row in rows if row["policy"] == "mean"] == [11.0] * 3
    # With a coin's policy 28 steps to the right on end do not occur.
    assert all(row["return"] < 1.0 for row in rows if row["policy"] == "sample")
    # At another point of training, other noise.
    batch.episodes[0] = 1
    again = batch.evaluation_figures(0)
    assert [r["return"] for r in again] != [r["return"] for r in rows]


def balancing(batch):
    """Make Q(right) - Q(left) = the angle of CartPole's pole, which keeps it up for a while."""
    first, second, third = layers(batch)
    first.weight[:, 2, 0], first.weight[:, 2, 1] = 1.0, -1.0
    second.weight[:, 0, 0] = second.weight[:, 1, 1] = 1.0
    third.weight[:, 0, 1] = third.weight[:, 1, 0] = 1.0
    batch.algo.online_changed()


def plain_trial(seed, episode, trial, rule, env_id="CartPole-v1", **make):
    """One trial in a plain gymnasium loop, its seed by name: 6 is EVALUATION, 1 ENVIRONMENT."""
    words = np.random.SeedSequence([seed, 6, episode, trial]).generate_state(1, np.uint64)
    reset = np.random.SeedSequence([int(words[0]), 1, 0]).generate_state(1)[0] & 0x7FFFFFFF
    env = gymnasium.make(env_id, **make)
    obs, _ = env.reset(seed=int(reset))
    total, length, over = 0.0, 0, False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(rule(obs))
        total, length, over = total + reward, length + 1, terminated or truncated
    env.close()
    return total, length


@pytest.mark.parametrize("algo", ALGOS)
def test_returns_are_those_of_a_plain_gymnasium_loop(algo):
    batch = lockstep(CARTPOLE, algo, evaluate={"every": 7, "episodes": 6})
    balancing(batch)
    batch.episodes[:] = 14, 21
    lengths = set()
    for row in (0, 1):
        wanted = [
            plain_trial(row, [14, 21][row], trial, lambda obs: int(obs[2] > 0))
            for trial in range(6)
        ]
        found = batch.evaluation_figures(row)
        for policy in POLICIES[algo]:
            got = [(r["return"], r["length"]) for r in found if r["policy"] == policy]
            assert got == wanted
        lengths |= {length for _, length in wanted}
    assert len(lengths) > 5 and min(lengths) > 20


@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_time_limit_ends_a_trial(bootstrap):
    env = CARTPOLE | {"max_episode_steps": 15, "bootstrap_on_timeout": bootstrap}
    batch = lockstep(env, "dqn")
    balancing(batch)
    assert [(r["return"], r["length"]) for r in batch.evaluation_figures(0)] == [(15.0, 15)] * 3


def test_trials_are_left_one_by_one():
    """CartPole falls within ten steps or so under a constant push, not at once everywhere."""
    batch = lockstep(CARTPOLE, "dqn", evaluate={"every": 1, "episodes": 20})
    prefer(batch, 0)
    wanted = [plain_trial(0, 0, trial, lambda obs: 0) for trial in range(20)]
    assert [(r["return"], r["length"]) for r in batch.evaluation_figures(0)] == wanted
    assert len({length for _, length in wanted}) > 1


def test_an_evaluation_of_a_chain_is_a_pass_a_step():
    batch = lockstep({"kind": "chain", "n": 100}, "vdqn")
    seen = []

    def features(stored):
        seen.append(stored.shape)
        return inputs(stored, batch.envs.spec)

    done = {"seed": 0, "episode": 0, "step": 0}
    evaluate.evaluate(batch.algo, 0, batch.envs, features, 5, done)
    assert seen == [(1, 5)] * (2 * 109)


def test_environments_are_closed(monkeypatch):
    batch = lockstep(CARTPOLE, "vdqn")
    made, closed = [], []
    make, close = CartPoleEnv.__init__, CartPoleEnv.close

    def making(self, *args, **kwargs):
        made.append(self)
        make(self, *args, **kwargs)

    def closing(self):
        closed.append(self)
        close(self)

    monkeypatch.setattr(CartPoleEnv, "__init__", making)
    monkeypatch.setattr(CartPoleEnv, "close", closing)
    batch.evaluation_figures(0)
    assert len(made) == 6 and set(map(id, made)) == set(map(id, closed))

    def fails(stored):
        raise Stop

    with pytest.raises(Stop):
        evaluate.evaluate(batch.algo, 0, batch.envs, fails, 3, {"seed": 0, "episode": 0, "step": 0})
    assert len(made) == 9 and set(map(id, made)) == set(map(id, closed))


@pytest.mark.parametrize(
    ("every", "episodes", "when"),
    [(7, 25, [7, 14, 21, 25]), (5, 20, [5, 10, 15, 20]), (100, 20, [20]), (1, 3, [1, 2, 3])],
)
def test_when_evaluations_happen(tmp_path, every, episodes, when):
    settings = {"evaluate": {"every": every, "episodes": 2}, "episodes": episodes}
    found = logs(run(tmp_path, env=CARTPOLE, algo="vdqn", n_seeds=2, **settings))
    for seed, log in found.items():
        rows = table(log.evaluations)
        assert [(int(r["episode"]), r["policy"], int(r["trial"])) for r in rows] == [
            (episode, policy, trial)
            for episode in when
            for policy in ("mean", "sample")
            for trial in (0, 1)
        ]
        ends = {int(row["episode"]) + 1: row["step"] for row in table(log.episodes)}
        assert all(row["step"] == ends[int(row["episode"])] for row in rows)
        assert {row["seed"] for row in rows} == {str(seed)}


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("algo", ALGOS)
def test_training_does_not_notice(tmp_path, env, algo):
    kwargs = {"env": ENVS[env], "algo": algo, "n_seeds": 2}
    often = logs(run(tmp_path, evaluate={"every": 2, "episodes": 3}, **kwargs))
    folder = run(tmp_path, evaluate={"every": 0, "episodes": 3}, **kwargs)
    assert not list(folder.rglob("evaluations.csv"))
    for seed, never in logs(folder).items():
        assert often[seed][:2] == never[:2]
        assert often[seed].evaluations.count(b"\n") > 30
    # Nor does a done seed miss the file that it was not to write.
    assert run(tmp_path, evaluate={"every": 0, "episodes": 3}, **kwargs) == folder


def test_an_evaluation_does_not_depend_on_those_before(tmp_path):
    kwargs = {"env": CARTPOLE, "algo": "noisynet", "n_seeds": 1, "episodes": 20}
    often, seldom = (
        table(logs(run(tmp_path, evaluate={"every": every, "episodes": 3}, **kwargs))[0][2])
        for every in (5, 10)
    )
    assert len(often) == 2 * len(seldom) == 24
    assert [row for row in often if int(row["episode"]) % 10 == 0] == seldom


@pytest.mark.parametrize("algo", ALGOS)
def test_killed_while_evaluations_are_written(tmp_path, monkeypatch, algo):
    kwargs = {"env": CARTPOLE, "algo": algo, "n_seeds": 2, "checkpoint_every": 30}
    wanted = logs(run(tmp_path / "undisturbed", **kwargs))
    write = SeedRun.write_evaluation

    def torn(self, rows):
        write(self, rows[:2] if rows[0]["episode"] == 14 else rows)
        if rows[0]["episode"] == 14:
            with (self.folder / "evaluations.csv").open("ab") as file:
                file.write(b"0,14,")
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(SeedRun, "write_evaluation", torn)
        with pytest.raises(Stop):
            run(tmp_path, **kwargs)
    (folder,) = {path.parent.parent for path in tmp_path.glob("default/*/*/*/*/status.json")}
    left = [log.evaluations for log in logs(folder).values()]
    assert any(content.endswith(b"\n0,14,") for content in left)
    assert logs(run(tmp_path, **kwargs)) == wanted
