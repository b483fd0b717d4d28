"""A seed's logs are the same bytes whichever seeds train beside it, and after any interruption."""

import functools
import signal

import numpy as np
import pandas as pd
import pytest
from running import CARTPOLE, CHAIN, Stop, broken_off, logs, run, signalled

from vdqn_runner import kernels
from vdqn_runner.runs.interrupt import Interrupted

ENVS = {"chain": CHAIN, "gym": CARTPOLE}
ALGOS = ["vdqn", "dqn", "noisynet"]

DECAY = {"kind": "exponential", "start": 0.02, "end": 0.001, "duration": 20, "unit": "episodes"}
STEPS = {"kind": "linear", "start": 1.0, "end": 0.05, "duration": 150}
OPTIONS = {
    "double": True,
    "network": {"hidden": [18, 11], "dueling": True},
    "replay": {"alpha": 0.6, "capacity": 70},
}
VIME = {"eta": 0.1, "hidden": [9, 7], "batch_size": 11, "train_every": 2, "window": 3}
VARIANTS = {
    "vdqn, theta for an episode": ("vdqn", {"resample": "episode"}),
    "vdqn, theta for a minibatch": ("vdqn", {"theta_samples": "per_batch"}),
    "vdqn, schedules": (
        "vdqn",
        {
            "lr": DECAY,
            "lam": {"kind": "piecewise", "points": [[0, 1], [9, 0.0]], "unit": "episodes"},
        },
    ),
    "dqn, schedules": ("dqn", {"lr": DECAY, "epsilon": STEPS, "loss": "huber"}),
    "dqn, epsilon by episodes, few updates": (
        "dqn",
        {"epsilon": DECAY, "train_every": 3, "reward_scale": 0.01, "replay": {"capacity": 70}},
    ),
    "noisynet, noise for each tuple": ("noisynet", {"theta_samples": "per_tuple", "lr": DECAY}),
    "noisynet, factorised": ("noisynet", {"noise": "factorised"}),
    "noisynet, factorised, for an episode": (
        "noisynet",
        {"noise": "factorised", "resample": "episode"},
    ),
    "dqn, all options": ("dqn", OPTIONS),
    "vdqn, all options": ("vdqn", OPTIONS),
    "noisynet, all options": ("noisynet", OPTIONS),
    "bbq": ("bbq", {"resample": "episode"}),
    "bbq, all options": ("bbq", OPTIONS),
    "bootstrapped": ("bootstrapped", {"heads": 3}),
    "dqn, vime": ("dqn", {"vime": VIME}),
    "vdqn, all options, vime": ("vdqn", OPTIONS | {"vime": VIME}),
    "bootstrapped, vime": ("bootstrapped", {"heads": 3, "vime": VIME}),
    "variational": ("variational", {"prior_sigma": 0.5, "samples": 2}),
    "variational, laplace, for an episode": (
        "variational",
        {"family": "laplace", "resample": "episode", "prior_sigma": 2.0},
    ),
    "variational, laplace, score": ("variational", {"family": "laplace", "estimator": "score"}),
    "variational, low rank": ("variational", {"family": "low_rank", "rank": 3}),
    "variational, low rank, score, all options": (
        "variational",
        OPTIONS
        | {
            "family": "low_rank",
            "estimator": "score",
            "samples": 3,
            "lam": DECAY,
            "train_every": 4,
        },
    ),
    "variational, point": ("variational", {"family": "point", "lam": 13}),
    "variational, point, all options": ("variational", OPTIONS | {"family": "point"}),
    "bootstrapped, all options": ("bootstrapped", OPTIONS | {"heads": 3, "prior_scale": 2.0}),
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The logs of seeds 0 to 4 trained together, by what is trained."""

    @functools.cache
    def trained(env, algo):
        return logs(run(tmp_path_factory.mktemp("together"), env=ENVS[env], algo=algo))

    return trained


def test_the_runs_of_these_tests_learn_and_retire_one_by_one(undisturbed):
    """Otherwise equal bytes would say little."""
    for algo in ALGOS:
        found = undisturbed("gym", algo)
        assert len({seed.episodes for seed in found.values()}) == 5
        last = [int(seed.episodes.splitlines()[-1].split(b",")[3]) for seed in found.values()]
        assert len(set(last)) > 2
        for seed in found.values():
            header, *rows = (line.split(b",") for line in seed.updates.splitlines())
            assert int(rows[-1][header.index(b"updates")]) > 50
        trials = [line for seed in found.values() for line in seed.evaluations.splitlines()[1:]]
        assert len({line.split(b",")[-1] for line in trials}) > 10


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("algo", ALGOS)
def test_alone_in_three_or_in_five(undisturbed, tmp_path, env, algo):
    wanted = undisturbed(env, algo)
    # Seed 2 alone, then the other four of the five in the same folder; and three elsewhere.
    kwargs = {"env": ENVS[env], "algo": algo}
    alone = logs(run(tmp_path, seed=2, n_seeds=1, **kwargs))
    assert alone == {2: wanted[2]}
    assert logs(run(tmp_path, **kwargs)) == wanted
    three = logs(run(tmp_path / "three", seed=1, n_seeds=3, **kwargs))
    assert three == {seed: wanted[seed] for seed in (1, 2, 3)}


def random_steps(name, count, below):
    """Steps that depend on the test's name alone."""
    return np.random.default_rng(list(name.encode())).integers(1, below, count).tolist()


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("algo", ALGOS)
def test_after_crashes_and_a_signal(undisturbed, tmp_path, monkeypatch, env, algo):
    """Crashes lose what came after the last checkpoint; a signal writes one where it comes."""
    kwargs = {"env": ENVS[env], "algo": algo, "checkpoint_every": 41}
    first, signal_at, *later = sorted(random_steps(env + algo, 4, 220))
    with broken_off(monkeypatch, first), pytest.raises(Stop):
        run(tmp_path, **kwargs)
    with signalled(monkeypatch, signal_at), pytest.raises(Interrupted):
        run(tmp_path, **kwargs)
    for at in later:
        with broken_off(monkeypatch, at, RuntimeError), pytest.raises(RuntimeError):
            run(tmp_path, **kwargs)
    assert logs(run(tmp_path, **kwargs)) == undisturbed(env, algo)


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_alone_in_two_in_three_and_after_a_crash(tmp_path, monkeypatch, variant):
    algo, settings = VARIANTS[variant]
    kwargs = {"env": CARTPOLE, "algo": algo, "settings": settings, "checkpoint_every": 37}
    wanted = logs(run(tmp_path / "three", n_seeds=3, **kwargs))
    parts = tmp_path / "parts"
    assert logs(run(parts, seed=1, n_seeds=1, **kwargs)) == {1: wanted[1]}
    (at,) = random_steps(variant, 1, 200)
    with broken_off(monkeypatch, at), pytest.raises(Stop):
        run(parts, n_seeds=3, **kwargs)
    assert logs(run(parts, n_seeds=3, **kwargs)) == wanted


@pytest.mark.parametrize("at", [1, 5, 59, 60, 61, 64, 65])
def test_a_signal_before_and_around_the_first_update(undisturbed, tmp_path, monkeypatch, at):
    with signalled(monkeypatch, at, signal.SIGINT), pytest.raises(Interrupted):
        run(tmp_path, algo="dqn", n_seeds=2)
    wanted = undisturbed("chain", "dqn")
    assert logs(run(tmp_path, algo="dqn", n_seeds=2)) == {seed: wanted[seed] for seed in (0, 1)}


def test_resumed_with_fewer_seeds_beside_it(undisturbed, tmp_path, monkeypatch):
    """Five are stopped; seed 3 goes on alone, then the other four together."""
    kwargs = {"env": CARTPOLE, "algo": "vdqn", "checkpoint_every": 31}
    with broken_off(monkeypatch, 150), pytest.raises(Stop):
        run(tmp_path, **kwargs)
    run(tmp_path, seed=3, n_seeds=1, **kwargs)
    assert logs(run(tmp_path, **kwargs)) == undisturbed("gym", "vdqn")


def test_resumed_with_seeds_that_stand_elsewhere(undisturbed, tmp_path, monkeypatch):
    """Seeds 0 and 1 stop at step 100, seeds 0 to 4 are asked for later."""
    kwargs = {"env": CHAIN, "algo": "noisynet"}
    with signalled(monkeypatch, 100), pytest.raises(Interrupted):
        run(tmp_path, n_seeds=2, **kwargs)
    assert logs(run(tmp_path, **kwargs)) == undisturbed("chain", "noisynet")


def test_stopped_when_some_seeds_are_done(undisturbed, tmp_path, monkeypatch):
    wanted = undisturbed("gym", "vdqn")
    ends = sorted(int(w.episodes.splitlines()[-1].split(b",")[3]) for w in wanted.values())
    assert ends[1] + 2 < ends[-1]
    kwargs = {"env": CARTPOLE, "algo": "vdqn", "checkpoint_every": 25}
    with broken_off(monkeypatch, ends[1] + 2), pytest.raises(Stop):
        run(tmp_path, **kwargs)
    assert logs(run(tmp_path, **kwargs)) == wanted


@pytest.mark.parametrize("algo", ALGOS)
def test_usual_sizes_and_threads(tmp_path, algo):
    """The network and minibatch of the defaults, alone, in five and with two threads."""
    kwargs = {
        "env": {"kind": "chain", "n": 50},
        "algo": algo,
        "episodes": 10,
        "settings": {
            "batch_size": 64,
            "learning_starts": 520,
            "network": {"hidden": [100, 100]},
            "target_period": 25,
        },
    }
    wanted = logs(run(tmp_path / "five", **kwargs))
    assert logs(run(tmp_path / "threads", threads=2, **kwargs)) == wanted
    assert logs(run(tmp_path / "alone", seed=4, n_seeds=1, **kwargs)) == {4: wanted[4]}
    assert b"nan" not in wanted[4].updates


@pytest.mark.parametrize("algo", ALGOS)
def test_torch_forms_of_the_kernels_too(tmp_path, monkeypatch, algo):
    monkeypatch.setattr(kernels, "available", lambda: False)
    kwargs = {"env": CARTPOLE, "algo": algo}
    wanted = logs(run(tmp_path / "three", n_seeds=3, **kwargs))
    assert logs(run(tmp_path / "alone", seed=2, n_seeds=1, **kwargs)) == {2: wanted[2]}


def test_logs_read_back_to_the_same_numbers(undisturbed, tmp_path):
    """Floats are printed so that reading them gives the same bits: printing again says so."""
    for number, content in enumerate(undisturbed("gym", "vdqn")[1]):
        path = tmp_path / f"{number}.csv"
        path.write_bytes(content)
        frame = pd.read_csv(path)
        assert len(frame) == content.count(b"\n") - 1
        assert frame.to_csv(index=False, lineterminator="\n").encode() == content
