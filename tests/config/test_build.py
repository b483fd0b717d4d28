"""Wrong mappings are refused with one line that names the key; right ones keep their meaning."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mappings import CARTPOLE, request
from pydantic import ValidationError

from vdqn_runner.config import (
    ConstantSchedule,
    LinearSchedule,
    NoisyNetConfig,
    PiecewiseSchedule,
    build,
)
from vdqn_runner.errors import ConfigError

LINEAR = {"kind": "linear", "start": 1.0, "end": 0.1, "duration": 10}

# (request, what the one line must start with, what it must contain)
WRONG: list[tuple[dict[str, Any], str, str]] = [
    (request(episodes=0), "episodes=0", "a whole number from 1 to 10^9"),
    (request(episodes=2.0), "episodes=2.0", "write 2"),
    (request(episodes=2.5), "episodes=2.5", "a whole number"),
    (request(episodes=True), "episodes=true", "a whole number"),
    (request(episodes=None), "episodes=null", "a whole number"),
    (request(episodes="???"), "episodes", "a value must be given"),
    (request(seed=-1), "seed=-1", "from 0"),
    (request(n_seeds=0), "n_seeds=0", "from 1 to 100000"),
    (request(threads=0), "threads=0", "from 1 to 4096"),
    (request(log_every=0), "log_every=0", "from 1 to 10^9"),
    (request(evaluate__every=-1), "evaluate.every=-1", "from 0 to 10^9"),
    (request(evaluate__episodes=0), "evaluate.episodes=0", "from 1 to 10000"),
    (request(evaluate__often=3), "evaluate.often=3", "evaluate takes episodes, every"),
    (request(evaluate=100), "evaluate=100", "a group of settings"),
    (request(checkpoint_every=0), "checkpoint_every=0", "from 1 to 10^15"),
    (request(seed=2**32 - 1, n_seeds=2), "seed=4294967295", "seed + n_seeds"),
    (request(device="gpu"), "device='gpu'", "cpu"),
    (request(device="CPU"), "device='CPU'", "did you mean cpu?"),
    (request(quiet="yes"), "quiet='yes'", "true or false"),
    (request(name="../elsewhere"), "name='../elsewhere'", "letters"),
    (request(name="a/b"), "name='a/b'", "letters"),
    (request(name=".hidden"), "name='.hidden'", "letters"),
    (request(name=""), "name=''", "letters"),
    (request(name="a\n"), "name='a\\n'", "letters"),
    (request(out="../elsewhere"), "out='../elsewhere'", "without '..'"),
    (request(out="a/../../b"), "out='a/../../b'", "without '..'"),
    (request(out=""), "out=''", "folder"),
    (request(episode=3), "episode=3", "did you mean episodes?"),
    (request(n=3), "n=3", "did you mean env.n?"),
    (request(batch_size=3), "batch_size=3", "did you mean algo.batch_size?"),
    (request(env=3), "env=3", "group of settings"),
    (request(env__n=2), "env.n=2", "from 3 to 10000"),
    (request(env__n=10_001), "env.n=10001", "from 3 to 10000"),
    (request(env__n=100.0), "env.n=100.0", "write 100"),
    (request(env__n="abc"), "env.n='abc'", "a whole number"),
    (request(env__gamma=1.01), "env.gamma=1.01", "from 0 to 1"),
    (request(env__gamma=math.nan), "env.gamma=nan", "from 0 to 1"),
    (request(env__nn=3), "env.nn=3", "did you mean env.n?"),
    (request(env__kind="chian"), "env.kind='chian'", "did you mean chain?"),
    (request(env={"n": 5}), "env.kind=null", "one of chain, stochastic_chain, deep_sea, gym"),
    (request(env__bootstrap_on_timeout=True), "env.bootstrap_on_timeout=true", "env.kind=gym"),
    (request(env={"kind": "gym"}), "env.id", "missing"),
    (request(env={"kind": "gym", "id": "???"}), "env.id", "a value must be given"),
    (request(env={**CARTPOLE, "id": "CartPol-v1"}), "env.id='CartPol-v1'", "CartPole-v1?"),
    (request(env={**CARTPOLE, "id": "cartpole"}), "env.id='cartpole'", "CartPole-v1?"),
    (request(env={**CARTPOLE, "id": "Acrobot-v9"}), "env.id='Acrobot-v9'", "Acrobot-v1?"),
    (request(env={**CARTPOLE, "id": "Pendulum-v1"}), "env.id='Pendulum-v1'", "must be Discrete"),
    (request(env={**CARTPOLE, "id": "FrozenLake-v1"}), "env.id=", "must be a Box"),
    (request(env={**CARTPOLE, "id": "nothing:None-v0"}), "env.id=", "not installed"),
    (request(env={**CARTPOLE, "max_episode_steps": 0}), "env.max_episode_steps=0", "or null"),
    (request(algo__name="vdqm"), "algo.name='vdqm'", "did you mean vdqn?"),
    (request(algo__lr=0), "algo.lr=0", "not 0 throughout"),
    (request(algo__lr=-1.0), "algo.lr=-1.0", "from 0 to 10^15"),
    (request(algo__lr="fast"), "algo.lr='fast'", "or a schedule"),
    (request(algo__lr=math.inf), "algo.lr=inf", "a number"),
    (request(algo__lr=True), "algo.lr=true", "a number"),
    (request(algo__lr={**LINEAR, "kind": "liner"}), "algo.lr.kind='liner'", "mean linear?"),
    (request(algo__lr={"start": 1.0}), "algo.lr.kind=null", "exponential"),
    (request(algo__lr={**LINEAR, "stop": 1}), "algo.lr.stop=1", "start, end"),
    (request(algo__lr={**LINEAR, "duration": 0}), "algo.lr.duration=0", "from 1 to 10^15"),
    (request(algo__lr={**LINEAR, "unit": "step"}), "algo.lr.unit='step'", "mean steps?"),
    (request(algo__lr={"kind": "constant"}), "algo.lr.value", "missing"),
    (request(algo__lr={**LINEAR, "kind": "exponential", "end": 0}), "algo.lr.end=0", "above 0"),
    (request(algo__lr={"kind": "piecewise", "points": []}), "algo.lr.points=[]", "time"),
    (request(algo__lr={"kind": "piecewise", "points": [[5, 1], [5, 2]]}), "algo.lr.points", "rise"),
    (request(algo__lr={"kind": "piecewise", "points": [[0, 1, 2]]}), "algo.lr.points", "time"),
    (request(algo__lam=-0.1), "algo.lam=-0.1", "from 0 to 10^15"),
    (request(algo__lam={**LINEAR, "end": -1.0}), "algo.lam=", "from 0 to 10^15"),
    (request(algo__batch_size=0), "algo.batch_size=0", "from 1 to 1000000"),
    (request(algo__learning_starts=0), "algo.learning_starts=0", "from 1 to 10^15"),
    (request(algo__target_period=0), "algo.target_period=0", "from 1 to 10^15"),
    (request(algo__train_every=0), "algo.train_every=0", "from 1 to 10^15"),
    (request(algo__reward_scale=0), "algo.reward_scale=0", "from 1e-30 to 10^15"),
    (request(algo__sigma_init=0.0), "algo.sigma_init=0.0", "from 1e-30 to 10^15"),
    (request(algo__replay__capacity=0), "algo.replay.capacity=0", "from 1 to 10^9"),
    (request(algo__replay__capacity=63), "algo.batch_size=64", "replay.capacity, which is 63"),
    (request(algo__replay__capacity=499), "algo.learning_starts=500", "which is 499"),
    (request(algo__replay__size=5), "algo.replay.size=5", "takes alpha, beta, capacity, floor"),
    (request(algo__network=3), "algo.network=3", "group of settings"),
    (request(algo__network__hidden=[]), "algo.network.hidden=[]", "a list"),
    (request(algo__network__hidden=[64, 0]), "algo.network.hidden=[64, 0]", "a list"),
    (request(algo__network__hidden=64), "algo.network.hidden=64", "a list"),
    (request(algo__optimizer__beta1=1.0), "algo.optimizer.beta1=1.0", "below 1"),
    (request(algo__optimizer__beta=0.9), "algo.optimizer.beta=0.9", "algo.optimizer.beta1?"),
    (request(algo__vime={"eta": -1}), "algo.vime.eta=-1", "from 0 to 10^15"),
    (request(algo__vime={"lr": 0.1}), "algo.vime.lr=0.1", "where algo.vime.eta is 0"),
    (request(algo__vime={"hidden": [3]}), "algo.vime.hidden=", "where algo.vime.eta is 0"),
    (request(algo__vime={"eta": 1, "hidden": []}), "algo.vime.hidden=[]", "a list"),
    (request(algo__vime={"eta": 1, "sigma": 1}), "algo.vime.sigma=1", "sigma_prior"),
    (request(algo__epsilon=0.1), "algo.epsilon=0.1", "belongs to algo.name=dqn"),
    (request("dqn", algo__lam=0.1), "algo.lam=0.1", "belongs to algo.name=vdqn"),
    (request("dqn", algo__epsilon=1.1), "algo.epsilon=1.1", "from 0 to 1"),
    (request("dqn", algo__loss="hubber"), "algo.loss='hubber'", "did you mean huber?"),
    (
        request("noisynet", algo__noise="factorised", algo__theta_samples="per_tuple"),
        "algo.theta_samples='per_tuple'",
        "per_batch where noise is factorised",
    ),
    (request("noisynet", algo__noise="factorized"), "algo.noise=", "did you mean factorised?"),
    (request("noisynet", algo__noise=["x"]), "algo.noise=", "one of independent"),
    (request("noisynet", algo__sigma_init=-1), "algo.sigma_init=-1", "from 1e-30 to 10^15"),
]


@pytest.mark.parametrize(("mapping", "start", "part"), WRONG, ids=[row[1] for row in WRONG])
def test_refusal_is_one_line_with_key_value_and_remedy(
    mapping: dict[str, Any], start: str, part: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        build(mapping)
    line = str(caught.value)
    assert line.startswith(start)
    assert part in line
    assert line.isprintable()  # no line break either


def test_empty_request_names_something_missing() -> None:
    with pytest.raises(ConfigError, match="missing"):
        build({})


@pytest.mark.parametrize("algo", ["vdqn", "dqn", "noisynet"])
def test_shortest_request_gets_the_documented_defaults(algo: str) -> None:
    config = build(request(algo))
    assert (config.name, config.seed, config.n_seeds, config.out) == ("default", 0, 5, "runs")
    assert config.algo.lr == ConstantSchedule(value=0.001)
    assert config.algo.network.hidden == (100, 100)
    assert config.algo.replay.capacity == 1_000_000
    assert config.env.gamma == 1.0


@pytest.mark.parametrize("value", [1, 1.0, {"kind": "constant", "value": 1}])
def test_bare_number_is_the_constant_schedule(value: object) -> None:
    assert build(request(algo__lam=value)).algo.lam == ConstantSchedule(value=1.0)


def test_schedules_keep_their_shape() -> None:
    config = build(
        request(
            "dqn",
            algo__epsilon=LINEAR,
            algo__lr={
                "kind": "piecewise",
                "points": [[0, 1], [10, 0.5]],
                "unit": "episodes",
            },
        )
    )
    assert config.algo.epsilon == LinearSchedule(start=1.0, end=0.1, duration=10, unit="steps")
    assert config.algo.lr == PiecewiseSchedule(points=((0, 1.0), (10, 0.5)), unit="episodes")


@pytest.mark.parametrize(
    ("given", "sigma"),
    [
        ({}, 0.017),
        ({"noise": "independent", "sigma_init": None}, 0.017),
        ({"noise": "factorised"}, 0.5),
        ({"noise": "factorised", "sigma_init": None}, 0.5),
        ({"noise": "factorised", "sigma_init": 0.1}, 0.1),
    ],
)
def test_noisynet_sigma_follows_the_noise(given: dict[str, Any], sigma: float) -> None:
    assert NoisyNetConfig(**given).sigma_init == sigma
    assert build(request(algo={"name": "noisynet", **given})).algo.sigma_init == sigma


def test_a_config_cannot_be_changed() -> None:
    config = build(request())
    with pytest.raises(ValidationError, match="frozen"):
        config.seed = 1  # type: ignore[misc]


def test_gym_environment_is_accepted_with_its_options() -> None:
    config = build(request(env={**CARTPOLE, "bootstrap_on_timeout": True, "max_episode_steps": 7}))
    assert (config.env.bootstrap_on_timeout, config.env.max_episode_steps) == (True, 7)


@given(st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=5)))
def test_any_top_level_rubbish_is_refused_in_one_line(extra: dict[str, Any]) -> None:
    mapping = {**request(), **extra}
    try:
        build(mapping)
    except ConfigError as error:
        assert str(error).isprintable()


@given(start=st.floats(-1, 2), end=st.floats(-1, 2), duration=st.integers(-2, 5))
def test_epsilon_schedule_is_accepted_just_when_all_its_values_are_probabilities(
    start: float, end: float, duration: int
) -> None:
    schedule = {"kind": "linear", "start": start, "end": end, "duration": duration}
    right = 0 <= start <= 1 and 0 <= end <= 1 and duration >= 1
    try:
        build(request("dqn", algo__epsilon=schedule))
    except ConfigError:
        assert not right
    else:
        assert right
