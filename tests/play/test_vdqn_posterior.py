"""Kept policies, and the command `vdqn-posterior` that draws what they believe along the chain."""

import csv
import logging

import numpy as np
import pytest
import torch

from scripts import state_dependence
from vdqn_runner.config import build
from vdqn_runner.play import posterior
from vdqn_runner.play.agent import read_agent
from vdqn_runner.play.q_posterior import Belief, belief, share_of_equal_states
from vdqn_runner.run import execute
from vdqn_runner.runs.folder import kept_policy

N = 6


def train(out, algo="vdqn", env=None, policy_every=5, **settings):
    learner = {"name": algo, "learning_starts": 40, "batch_size": 8, "network": {"hidden": [7, 5]}}
    return execute(
        build(
            {
                "out": str(out),
                "workers": 1,
                "quiet": True,
                "episodes": 12,
                "n_seeds": 1,
                "policy_every": policy_every,
                "env": env or {"kind": "chain", "n": N},
                "algo": learner | {"lr": 0.01} | settings,
            }
        )
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train(tmp_path_factory.mktemp("runs"))


def plain_q(kinds, eps):
    """Q of every state under theta = mu + softplus(rho) eps, written out in float64."""
    h = torch.tril(torch.ones(N, N, dtype=torch.float64)).expand(len(eps[0]), N, N)
    for layer in (1, 2, 3):
        weight, bias = (
            kinds["mu"][f"layer{layer}.{part}"].double()
            + torch.nn.functional.softplus(kinds["rho"][f"layer{layer}.{part}"].double()) * noise
            for part, noise in zip(("weight", "bias"), eps[2 * layer - 2 : 2 * layer], strict=True)
        )
        h = h @ weight + bias.unsqueeze(1)
        if layer < 3:
            h = h.relu()
    return h.numpy()


def test_beliefs_are_those_of_networks_written_out(run):
    kinds = torch.load(run / "seed-00000" / "policy.pt", weights_only=True)
    samples = 4000
    found = belief(read_agent(run / "seed-00000"), N, samples)
    generator = torch.Generator().manual_seed(0)
    shapes = [
        kinds["mu"][f"layer{i}.{part}"].shape for i in (1, 2, 3) for part in ("weight", "bias")
    ]
    eps = [
        torch.randn(samples, *shape, generator=generator, dtype=torch.float64) for shape in shapes
    ]
    q = plain_q(kinds, eps)
    error = 5 * q.std(axis=0) * np.sqrt(2 / samples)
    assert (np.abs(found.mean - q.mean(axis=0)) < error).all()
    for ours, tail in ((found.low, 0.05), (found.high, 0.95)):
        share = (q <= ours).mean(axis=0)
        assert (np.abs(share - tail) < 5 * np.sqrt(2 * 0.05 * 0.95 / samples)).all()
    right = (q[..., 1] > q[..., 0]).mean(axis=0)
    assert (np.abs(found.right - right) < 5 * np.sqrt(0.5 / samples)).all()


def test_a_point_has_no_interval(tmp_path):
    found = belief(read_agent(train(tmp_path, "dqn", policy_every=0) / "seed-00000"), N, 50)
    assert (found.low == found.mean).all() and (found.high == found.mean).all()
    assert set(found.right) <= {0.0, 1.0}


def test_policies_are_kept_on_the_way(run, tmp_path):
    folder = run / "seed-00000"
    assert sorted(path.name for path in (folder / "policies").iterdir()) == [
        "episode-00005.pt",
        "episode-00010.pt",
    ]
    assert posterior.kept_episodes(folder) == [5, 10, 12]
    # The same training without copies ends alike, and copies at each end are its last policy.
    for every in (0, 12):
        other = train(tmp_path / str(every), policy_every=every)
        assert other.name == run.name
        for name in ("episodes.csv", "updates.csv", "policy.pt"):
            assert (other / "seed-00000" / name).read_bytes() == (folder / name).read_bytes()
    last = other / "seed-00000" / kept_policy(12)
    assert last.read_bytes() == (folder / "policy.pt").read_bytes()


def test_finished_seeds_without_the_policies_are_told_of(run, caplog):
    out = run.parents[3]
    with caplog.at_level(logging.WARNING):
        train(out, policy_every=6)
    (line,) = [record.getMessage() for record in caplog.records]
    assert "seed 0 is done without policies every 6 episodes" in line
    caplog.clear()
    train(out, policy_every=5)
    assert not caplog.records


def test_the_command_draws_and_writes_what_it_draws(run, tmp_path, capsys):
    out = tmp_path / "new"
    assert posterior.main([str(run), "-o", str(out), "--samples", "200"]) == 0
    caught = capsys.readouterr()
    files = [out / f"posterior.{suffix}" for suffix in ("png", "pdf", "csv")]
    assert caught.out.splitlines() == [str(file) for file in files] and caught.err == ""
    rows = list(csv.DictReader(files[2].read_text().splitlines()))
    assert [int(row["episode"]) for row in rows[:: 2 * N]] == [5, 10, 12]
    expected = belief(read_agent(run / "seed-00000", kept_policy(10)), N, 200)
    (row,) = [
        row for row in rows if (row["episode"], row["state"], row["action"]) == ("10", "4", "right")
    ]
    assert float(row["mean"]) == expected.mean[3, 1] and float(row["low"]) == expected.low[3, 1]
    assert float(row["p_right"]) == expected.right[3]


def test_refusals(run, tmp_path, capsys):
    gym = train(tmp_path, env={"kind": "gym", "id": "CartPole-v1"})
    for arguments, words in (
        ((run, "--episodes", 7), "--episodes 7: no policy was kept then, but after 5, 10, 12"),
        ((run, "--samples", 1), "--samples 1: must be at least 2"),
        ((gym,), "is of CartPole-v1, and states can be laid out on a chain only"),
        ((tmp_path / "no",), "no: does not exist"),
    ):
        assert posterior.main([*map(str, arguments)]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and words in err


def test_no_network_is_sampled_for_a_place_that_takes_no_files(run, tmp_path, capsys, monkeypatch):
    def sampled(*arguments):
        raise AssertionError("sampled before the place was looked at")

    monkeypatch.setattr("vdqn_runner.play.q_posterior.belief", sampled)
    (tmp_path / "file").write_text("")
    assert posterior.main([str(run), "-o", str(tmp_path / "file" / "x")]) == 2
    assert "cannot be made" in capsys.readouterr().err
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert posterior.main([str(run), "-o", str(tmp_path)]) == 2
    assert f"--output {tmp_path}: cannot be written to" in capsys.readouterr().err


def test_chosen_episodes_are_spread_evenly():
    assert posterior.spread([3, 5], 5) == [3, 5]
    assert posterior.spread(list(range(100)), 5) == [0, 25, 50, 74, 99]


def test_states_are_equal_where_q_is():
    same = np.tile([1.0, 2.0], (N, 1))
    same[0], same[-1] = [100.0, -100.0], [50.0, 50.0]  # the ends do not count
    assert share_of_equal_states(Belief(same, same, same, same[:, 0])) == 1.0
    other = same.copy()
    other[2, 1] += 0.011
    assert share_of_equal_states(Belief(other, same, same, same[:, 0])) == 0.75
    slope = same + np.arange(N)[:, None]
    assert share_of_equal_states(Belief(slope, same, same, same[:, 0])) == 0.0


def test_the_study_of_states_has_a_row_a_seed(run, tmp_path, capsys):
    output = tmp_path / "new" / "out.csv"
    assert state_dependence.main([str(run), "-o", str(output)]) == 0
    (row,) = csv.DictReader(output.read_text().splitlines())
    expected = share_of_equal_states(belief(read_agent(run / "seed-00000"), N, 500))
    assert row["equal_states"] == f"{expected:.4f}"
    assert (row["env"], row["algo"], row["seed"]) == ("chain-6", "vdqn", "0")
    with (run / "seed-00000" / "episodes.csv").open(newline="") as stream:
        returns = [float(line["return"]) for line in csv.DictReader(stream)]
    assert float(row["return_last_100"]) == pytest.approx(np.mean(returns), abs=1e-4)
    assert "of 1" in capsys.readouterr().out
