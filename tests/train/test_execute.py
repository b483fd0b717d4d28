"""What a run does to its folder: statuses, skipping, more seeds, failures."""

import csv
import json
import math

import numpy as np
import pytest
import torch
from running import CARTPOLE, CHAIN, Stop, broken_off, config, logs, run, signalled

from vdqn_runner import kernels
from vdqn_runner.errors import RunError
from vdqn_runner.run import execute
from vdqn_runner.runs.interrupt import Interrupted
from vdqn_runner.train import Lockstep


def statuses(folder):
    return {
        path.parent.name: json.loads(path.read_text()) for path in folder.glob("seed-*/status.json")
    }


def states(folder):
    return {name: status["state"] for name, status in statuses(folder).items()}


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def table(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(tmp_path_factory.mktemp("finished"), n_seeds=2, episodes=40)


def test_statuses_go_from_running_to_done(tmp_path, monkeypatch):
    seen = []
    learn = Lockstep.learn

    def noting(self):
        learn(self)
        if self.step in (1, 300):
            (folder,) = {path.parent.parent for path in tmp_path.rglob("status.json")}
            seen.append(states(folder))

    monkeypatch.setattr(Lockstep, "learn", noting)
    folder = run(tmp_path, n_seeds=2)
    both = ["seed-00000", "seed-00001"]
    assert seen == [dict.fromkeys(both, "running")] * 2
    assert states(folder) == dict.fromkeys(both, "done")


def test_a_done_seeds_status_and_files(finished):
    for seed in (0, 1):
        status = statuses(finished)[f"seed-{seed:05d}"]
        steps = 40 * 17
        assert status["seed"] == seed
        assert status["reason"] is None
        assert status["episodes"] == status["episodes_done"] == 40
        assert status["steps"] == steps
        assert status["updates"] == steps - 60 + 1
        folder = finished / f"seed-{seed:05d}"
        names = {path.name for path in folder.iterdir()}
        assert {"episodes.csv", "updates.csv", "evaluations.csv", "timing.csv"} <= names
        assert {"status.json", "policy.pt"} <= names
        assert "checkpoint.pt" not in names


def test_policy_is_the_final_network(finished):
    policy = torch.load(finished / "seed-00001" / "policy.pt", weights_only=True)
    start = Lockstep(config(finished, n_seeds=1), [1]).policy(0)
    assert policy.keys() == start.keys() == {"mu", "rho"}
    shapes = [(8, 18), (18,), (18, 11), (11,), (11, 2), (2,)]
    for kind, tensors in policy.items():
        assert list(tensors) == [
            f"layer{k}.{part}" for k in (1, 2, 3) for part in ("weight", "bias")
        ]
        assert [tuple(tensor.shape) for tensor in tensors.values()] == shapes
        for name, tensor in tensors.items():
            assert torch.isfinite(tensor).all()
            assert not torch.equal(tensor, start[kind][name])


def test_episodes_are_all_there(finished):
    rows = table(finished / "seed-00001" / "episodes.csv")
    assert [int(row["episode"]) for row in rows] == list(range(40))
    assert [int(row["iteration"]) for row in rows] == [e // 10 for e in range(40)]
    assert [int(row["step"]) for row in rows] == [17 * (e + 1) for e in range(40)]
    assert {row["seed"] for row in rows} == {"1"}
    assert {row["length"] for row in rows} == {"17"}
    assert {row["terminated"] for row in rows} == {"1"}
    for row in rows:
        value = float(row["return"])
        # A step in state N gives 1, one in state 1 gives 0.001; at most 11 are in N.
        assert 0.0 <= value <= 11.0
        assert (value >= 1.0) == (value > 0 and row["visited_last"] == "1" and value >= 1.0)
        assert not (row["visited_first"] == "1" and value >= 1.0)


def test_updates_have_a_row_an_iteration(finished):
    rows = table(finished / "seed-00000" / "updates.csv")
    assert [int(row["iteration"]) for row in rows] == [0, 1, 2, 3]
    assert [int(row["episode"]) for row in rows] == [9, 19, 29, 39]
    assert [int(row["step"]) for row in rows] == [170, 340, 510, 680]
    assert [int(row["updates"]) for row in rows] == [111, 281, 451, 621]
    for row in rows:
        assert float(row["lr"]) == 0.005 and float(row["lam"]) == 0.02
        # Eq. 5 is lambda times eq. 6, so this also holds of their means.
        assert float(row["surrogate"]) == pytest.approx(0.02 * float(row["loss"]), rel=1e-4)


def test_log_every_thins_the_rows(tmp_path):
    rows = table(run(tmp_path, n_seeds=1, log_every=2, episodes=40) / "seed-00000" / "updates.csv")
    assert [int(row["iteration"]) for row in rows] == [1, 3]


@pytest.mark.parametrize(("log_every", "episodes"), [(1, 37), (3, 40), (50, 20)])
def test_the_last_updates_are_logged_whatever_is_left_over(tmp_path, log_every, episodes):
    run_ = run(tmp_path, n_seeds=1, log_every=log_every, episodes=episodes)
    rows = table(run_ / "seed-00000" / "updates.csv")
    last = table(run_ / "seed-00000" / "episodes.csv")[-1]
    assert [rows[-1][name] for name in ("episode", "step")] == [last["episode"], last["step"]]
    assert int(rows[-1]["iteration"]) == (episodes - 1) // 10
    assert len(rows) == math.ceil(episodes / (10 * log_every))


def test_done_seeds_are_skipped(finished, monkeypatch):
    before = times(finished)
    out = finished.parents[3]

    def never(*arguments):
        raise AssertionError("nothing is left to train")

    monkeypatch.setattr("vdqn_runner.seeds.train", never)
    assert execute(config(out, n_seeds=2, episodes=40)) == finished
    assert execute(config(out, seed=1, n_seeds=1, episodes=40)) == finished
    assert times(finished) == before


def test_more_seeds_train_only_the_new_ones(tmp_path, monkeypatch):
    folder = run(tmp_path, n_seeds=2)
    before = times(folder)
    trained = []
    make = Lockstep.__init__

    def noting(self, config, seeds):
        trained.append(list(seeds))
        make(self, config, seeds)

    monkeypatch.setattr(Lockstep, "__init__", noting)
    assert run(tmp_path, n_seeds=4) == folder
    assert trained == [[2, 3]]
    assert sorted(logs(folder)) == [0, 1, 2, 3]
    after = times(folder)
    assert {path: after[path] for path in before} == before


def test_other_settings_make_another_folder(finished, tmp_path):
    one = run(tmp_path, n_seeds=1)
    two = run(tmp_path, n_seeds=1, settings={"lam": 0.5})
    assert one != two and one.parent == two.parent
    # Neither the seeds nor how a run is carried out are part of what it is.
    assert run(tmp_path, seed=1, n_seeds=1, threads=2, checkpoint_every=50) == one


def test_a_failure_is_noted_with_its_reason_and_gone_on_from(tmp_path, monkeypatch):
    with (
        broken_off(monkeypatch, 90, RuntimeError),
        pytest.raises(RuntimeError, match="stopped at step 90"),
    ):
        run(tmp_path, n_seeds=2, checkpoint_every=50)
    (folder,) = {path.parent.parent for path in tmp_path.rglob("status.json")}
    for status in statuses(folder).values():
        assert status["state"] == "failed"
        assert "stopped at step 90" in status["reason"]
    run(tmp_path, n_seeds=2, checkpoint_every=50)
    for status in statuses(folder).values():
        assert status["state"] == "done" and status["reason"] is None


def test_a_run_goes_on_from_its_checkpoint_and_not_from_the_start(tmp_path, monkeypatch):
    with broken_off(monkeypatch, 90), pytest.raises(Stop):
        run(tmp_path, n_seeds=2, checkpoint_every=40)
    steps = []
    learn = Lockstep.learn

    def noting(self):
        steps.append(self.step)
        learn(self)

    monkeypatch.setattr(Lockstep, "learn", noting)
    run(tmp_path, n_seeds=2, checkpoint_every=40)
    assert steps == list(range(81, 341))


def test_a_signal_keeps_every_step(tmp_path, monkeypatch):
    with signalled(monkeypatch, 77), pytest.raises(Interrupted):
        run(tmp_path, n_seeds=2)
    (folder,) = {path.parent.parent for path in tmp_path.rglob("status.json")}
    for status in statuses(folder).values():
        assert status["steps"] == 77
        assert status["state"] == "stopped"


def test_time_limits_are_ends_unless_bootstrapping_is_asked_for(tmp_path):
    """CartPole cut at 5 steps: episodes are logged as not terminated either way."""
    for bootstrap in (False, True):
        env = CARTPOLE | {"max_episode_steps": 5, "bootstrap_on_timeout": bootstrap}
        batch = Lockstep(config(tmp_path, env=env, n_seeds=2), [0, 1])
        for _ in range(20):
            batch.begin_episodes()
            ended = batch.advance()
            for row in np.flatnonzero(ended):
                figures = batch.episode_figures(row)
                assert figures["length"] == 5 and figures["terminated"] is False
                batch.episodes[row] += 1
                batch.starting[row] = True
        uniform = (np.arange(20) + 0.5) / 20
        terminal = batch.replay.sample(
            np.stack([uniform, uniform]), batch.step, batch.episodes
        ).terminal
        assert terminal.sum(axis=1).tolist() == ([0, 0] if bootstrap else [4, 4])


def test_final_observations_never_come_from_the_next_episode(tmp_path):
    """CartPole's dynamics are smooth: no stored step jumps, not even one that ends an episode."""
    batch = Lockstep(config(tmp_path, env=CARTPOLE, algo="dqn", n_seeds=3), [0, 1, 2])
    for _ in range(150):
        batch.begin_episodes()
        for row in np.flatnonzero(batch.advance()):
            batch.episodes[row] += 1
            batch.starting[row] = True
    uniform = (np.arange(150) + 0.5) / 150
    drawn = batch.replay.sample(np.tile(uniform, (3, 1)), batch.step, batch.episodes)
    assert drawn.terminal.sum() > 10
    # x' = x + 0.02 v and angle' = angle + 0.02 omega, exactly (Euler's method).
    for position, speed in ((0, 1), (2, 3)):
        expected = drawn.obs[..., position] + 0.02 * drawn.obs[..., speed]
        np.testing.assert_allclose(drawn.next_obs[..., position], expected, atol=1e-5)
    limits = np.abs(drawn.next_obs[..., 2]) > 12 * 2 * np.pi / 360
    assert (limits == drawn.terminal).all()


def test_reward_scale_is_in_the_loss_and_not_in_the_log(tmp_path):
    plain = run(tmp_path / "one", env=CHAIN, algo="dqn", n_seeds=1, settings={"epsilon": 1.0})
    scaled = run(
        tmp_path / "two",
        env=CHAIN,
        algo="dqn",
        n_seeds=1,
        settings={"epsilon": 1.0, "reward_scale": 100.0},
    )
    one, two = logs(plain)[0], logs(scaled)[0]
    assert one.episodes == two.episodes
    errors = [
        float(table(folder / "seed-00000" / "updates.csv")[-1]["bellman_error"])
        for folder in (plain, scaled)
    ]
    assert errors[1] > 100 * errors[0]


def test_seeds_are_planned_before_the_first_one_trains(tmp_path, monkeypatch):
    seen = []

    def train(settings, runs, *rest):
        seen.append(states(runs[0].folder.parent))

    monkeypatch.setattr("vdqn_runner.seeds.train", train)
    run(tmp_path, n_seeds=2)
    assert seen == [{"seed-00000": "planned", "seed-00001": "planned"}]


@pytest.mark.parametrize("name", ["updates.csv", "evaluations.csv"])
def test_a_done_seed_without_its_files_is_not_passed_over(tmp_path, name):
    folder = run(tmp_path, n_seeds=1, algo="dqn", episodes=3)
    (folder / "seed-00000" / name).unlink()
    with pytest.raises(RunError, match=f"seed-00000 is done, but its {name} is missing"):
        run(tmp_path, n_seeds=1, algo="dqn", episodes=3)


def test_a_run_by_both_forms_of_the_kernels_is_remarked(tmp_path, monkeypatch, caplog):
    run(tmp_path, n_seeds=1, algo="dqn", episodes=3)
    run(tmp_path, n_seeds=2, algo="dqn", episodes=3)
    assert not caplog.records
    other = {"compiled": "torch", "torch": "compiled"}[kernels.engine()]
    monkeypatch.setattr("vdqn_runner.seeds.engine", lambda device: other)
    run(tmp_path, n_seeds=3, algo="dqn", episodes=3)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "not bit for bit" in caplog.text
