"""Lockstep gymnasium environments against plain gymnasium loops."""

import json
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from vdqn_runner.config import GymEnv
from vdqn_runner.envs import GymBatch, make_envs
from vdqn_runner.envs.chain import ENV_ID
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.streams import episode_seed

CONTROL = ["CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0"]


class Counter(gymnasium.Env):
    """Counts steps in a [2, 3] integer picture; actions start at 5; ends after 4 steps.

    With ``leak`` its observation depends on how often any such environment was reset, which no
    seed decides; with ``leak_end`` the number of steps does.
    """

    resets = 0

    def __init__(self, dtype="uint8", leak=False, leak_end=False):
        self.observation_space = spaces.Box(0, 200, (2, 3), np.dtype(dtype))
        self.action_space = spaces.Discrete(3, start=5)
        self.leak, self.leak_end = leak, leak_end

    def _observe(self, action=0):
        picture = np.zeros((2, 3), self.observation_space.dtype)
        picture[1, 2], picture[0, 0] = self.t, action
        picture[0, 1] = Counter.resets % 200 if self.leak else 0
        return picture

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        Counter.resets += 1
        self.t = 0
        self.last = 4 if not self.leak_end else max(1, 5 - Counter.resets)
        return self._observe(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.t += 1
        return self._observe(action), 0.5, self.t >= self.last, False, {}


class Spaces(gymnasium.Env):
    """An environment with the spaces that it is given."""

    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space


BOX, DISCRETE = spaces.Box(0, 1, (2,)), spaces.Discrete(2)
TEST_ENVS = {
    "test_envs/Counter-v0": (Counter, {}),
    "test_envs/IntCounter-v0": (Counter, {"dtype": "int64"}),
    "test_envs/Leak-v0": (Counter, {"leak": True}),
    "test_envs/LeakEnd-v0": (Counter, {"leak_end": True}),
    "test_envs/DiscreteObs-v0": (
        Spaces,
        {"observation_space": DISCRETE, "action_space": DISCRETE},
    ),
    "test_envs/BoxActions-v0": (Spaces, {"observation_space": BOX, "action_space": BOX}),
    "test_envs/Broken-v0": (Spaces, {}),
}


@pytest.fixture(autouse=True, scope="module")
def registered():
    for env_id, (entry_point, kwargs) in TEST_ENVS.items():
        gymnasium.register(env_id, entry_point, kwargs=kwargs, disable_env_checker=True)
    yield
    for env_id in TEST_ENVS:
        del gymnasium.registry[env_id]


def plain_make(env_id, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return gymnasium.make(env_id, **kwargs)


def plain_stream(env_id, seed, actions, **kwargs):
    """Play ``actions`` the way gymnasium's manual does, starting new episodes where they end.

    Yields (observation before, observation after, reward, terminated, truncated).
    """
    env, episode = plain_make(env_id, **kwargs), 0
    observation, _ = env.reset(seed=episode_seed(seed, 0))
    for action in actions:
        before = observation
        observation, reward, terminated, truncated, _ = env.step(int(action))
        yield before, observation, float(reward), terminated, truncated
        if terminated or truncated:
            episode += 1
            observation, _ = env.reset(seed=episode_seed(seed, episode))
    env.close()


def batch_stream(batch, actions):
    """Play ``actions`` [S, T]; per step, yield a list over rows of the same five values."""
    for column in np.asarray(actions).T:
        before = batch.observe()
        result = batch.step(column)
        yield [(before[row], *(part[row] for part in result)) for row in range(len(before))]
        batch.reset(np.flatnonzero(result.terminated | result.truncated))


def started(env_id, seeds, **kwargs):
    batch = GymBatch(env_id, seeds, **kwargs)
    batch.reset(np.arange(len(seeds)))
    return batch


def assert_same(row, expected):
    np.testing.assert_array_equal(row[0], expected[0])
    np.testing.assert_array_equal(row[1], expected[1])
    assert row[2:] == expected[2:]


@pytest.mark.parametrize("env_id", CONTROL)
def test_stream_equals_plain_gymnasium(env_id):
    seeds, steps = [0, 3, 11], 700
    batch = started(env_id, seeds)
    actions = np.random.default_rng(1).integers(batch.spec.n_actions, size=(len(seeds), steps))
    plain = [plain_stream(env_id, s, a) for s, a in zip(seeds, actions, strict=True)]
    ends = 0
    for rows in batch_stream(batch, actions):
        for row, stream in zip(rows, plain, strict=True):
            assert_same(row, next(stream))
            ends += bool(row[3] or row[4])
    assert ends >= len(seeds)
    batch.close()


@pytest.mark.parametrize("env_id", ["Acrobot-v1", "MountainCar-v0"])
def test_a_time_limit_keeps_the_real_final_observation(env_id):
    cap = 12
    batch = started(env_id, [5], max_episode_steps=cap)
    env = plain_make(env_id).unwrapped  # no time limit: it simply goes on
    env.reset(seed=episode_seed(5, 0))
    for t in range(cap):
        action = t % 3
        result = batch.step(np.array([action]))
        observation, _, terminated, _, _ = env.step(action)
    assert not terminated
    assert result.truncated.tolist() == [True]
    assert result.terminated.tolist() == [False]
    final = observation.astype(np.float32)
    np.testing.assert_array_equal(result.next_obs[0], final)
    np.testing.assert_array_equal(batch.observe()[0], final)
    batch.reset(np.array([0]))
    np.testing.assert_array_equal(result.next_obs[0], final)
    fresh, _ = env.reset(seed=episode_seed(5, 1))
    np.testing.assert_array_equal(batch.observe()[0], fresh.astype(np.float32))
    assert not np.array_equal(fresh, final)


@pytest.mark.parametrize(
    ("env_id", "cap", "length"),
    [
        ("CartPole-v0", None, 200),
        ("CartPole-v1", None, 500),
        ("CartPole-v0", 230, 230),
        ("CartPole-v1", 50, 50),
    ],
)
def test_the_cap_of_cartpole_is_what_the_config_says(env_id, cap, length):
    config = GymEnv(id=env_id, max_episode_steps=cap)
    batch = make_envs(config, [0, 1])
    assert batch.spec.max_episode_steps == length
    assert batch.spec.label == env_id
    batch.reset(np.arange(2))
    for t in range(1, length + 1):
        # A linear controller that balances the pole for as long as it is let.
        push = batch.observe() @ np.array([0.1, 0.3, 1.0, 0.5]) > 0
        result = batch.step(push.astype(np.int64))
        assert not result.terminated.any()
        assert result.truncated.tolist() == [t == length] * 2


@settings(max_examples=15, deadline=None)
@given(
    seeds=st.lists(st.integers(0, 50), min_size=1, max_size=4, unique=True),
    cut=st.integers(1, 60),
    salt=st.integers(0, 1000),
)
def test_rows_are_independent_of_batch_composition(seeds, cut, salt):
    steps = 90
    actions = {seed: np.random.default_rng([salt, seed]).integers(2, size=steps) for seed in seeds}
    batch, kept = started("CartPole-v1", seeds), list(seeds)
    alone = {seed: plain_stream("CartPole-v1", seed, actions[seed]) for seed in seeds}
    order = np.random.default_rng(salt)
    for begin, end in ((0, cut), (cut, steps)):
        table = np.stack([actions[seed] for seed in kept])[:, begin:end]
        for rows in batch_stream(batch, table):
            for seed, row in zip(kept, rows, strict=True):
                assert_same(row, next(alone[seed]))
        rows = order.permutation(len(kept))[: order.integers(1, len(kept) + 1)]
        batch.select(rows)
        kept = [kept[row] for row in rows]
    batch.close()


@settings(max_examples=15, deadline=None)
@given(env_id=st.sampled_from([*CONTROL, ENV_ID]), cut=st.integers(0, 45), salt=st.integers(0, 99))
def test_a_saved_row_goes_on_in_a_fresh_batch(env_id, cut, salt):
    cap = 30
    first = started(env_id, [4, 9], max_episode_steps=cap)
    actions = np.random.default_rng(salt).integers(2, size=(2, cut + 40))
    for _ in batch_stream(first, actions[:, :cut]):
        pass
    second = GymBatch(env_id, [9, 4], max_episode_steps=cap)
    for row in (0, 1):
        # JSON stands for any format that keeps plain values only.
        second.load_state(row, json.loads(json.dumps(first.state(1 - row))))
    np.testing.assert_array_equal(second.observe(), first.observe()[::-1])
    going_on = batch_stream(first, actions[:, cut:])
    for rows in batch_stream(second, actions[::-1, cut:]):
        for row, expected in zip(rows, next(going_on)[::-1], strict=True):
            assert_same(row, expected)
    first.close()
    second.close()


def test_a_finished_row_and_an_unstarted_row_are_loaded_as_such():
    first = started("test_envs/Counter-v0", [1])
    for _ in range(4):
        first.step(np.array([0]))
    second = started("test_envs/Counter-v0", [1, 2])
    second.load_state(0, first.state(0))
    second.load_state(1, GymBatch("test_envs/Counter-v0", [2]).state(0))
    np.testing.assert_array_equal(second.observe(), [[5, 0, 0, 0, 0, 4], [0] * 6])
    with pytest.raises(RuntimeError, match=r"rows \[0, 1\]"):
        second.step(np.array([0, 0]))
    second.reset(np.arange(2))
    assert [second.state(row)["episode"] for row in (0, 1)] == [1, 0]


@pytest.mark.parametrize(
    ("env_id", "steps"), [("test_envs/Leak-v0", 2), ("test_envs/LeakEnd-v0", 2)]
)
def test_an_environment_that_its_seed_does_not_decide_is_refused_at_load(env_id, steps):
    Counter.resets = 0
    first = started(env_id, [3])
    for _ in range(steps):
        first.step(np.array([1]))
    state = first.state(0)
    second = GymBatch(env_id, [3])
    for _ in range(3):
        second.reset(np.array([0]))
    with pytest.raises(RunError, match=r"^test_envs-Leak.*, seed 3: .*not deterministic") as caught:
        second.load_state(0, state)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tamper", ["observation", "running", "actions"])
def test_a_state_that_replays_to_something_else_is_refused(tamper):
    first = started("CartPole-v1", [0])
    for t in range(5):
        first.step(np.array([t % 2]))
    state = first.state(0)
    if tamper == "observation":
        state["observation"][2] = float(np.nextafter(np.float32(state["observation"][2]), 9))
    elif tamper == "running":
        state["running"] = False
    else:
        state["actions"][0] ^= 1
    with pytest.raises(RunError):
        GymBatch("CartPole-v1", [0]).load_state(0, state)


@pytest.mark.parametrize("env_id", ["test_envs/Counter-v0", "test_envs/IntCounter-v0"])
def test_integer_pictures_become_flat_floats_and_actions_may_start_anywhere(env_id):
    batch = started(env_id, [0, 1])
    spec = batch.spec
    assert (spec.obs_dim, spec.stored_shape, spec.stored_dtype) == (6, (6,), np.float32)
    assert (spec.n_actions, spec.max_episode_steps) == (3, None)
    assert (batch.extras(), spec.extra_columns) == ({}, ())
    result = batch.step(np.array([0, 2]))
    assert (result.next_obs.dtype, result.reward.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(result.next_obs, [[5, 0, 0, 0, 0, 1], [7, 0, 0, 0, 0, 1]])
    assert result.reward.tolist() == [0.5, 0.5]


def test_the_chain_is_a_gymnasium_environment_too():
    batch = started(ENV_ID, [0])
    assert batch.spec.label == "vdqn_runner-Chain-v0"
    rewards = []
    for _ in range(19):
        result = batch.step(np.array([1]))
        rewards.append(float(result.reward[0]))
    assert sum(rewards) == 11.0
    assert result.terminated[0] and not result.truncated[0]


def test_each_episode_of_each_seed_starts_elsewhere_and_always_there():
    def starts(seeds):
        batch = GymBatch("CartPole-v1", seeds)
        for _ in range(5):
            batch.reset(np.arange(len(seeds)))
            yield from (tuple(row) for row in batch.observe().tolist())

    assert len(set(starts([0, 1, 2]))) == 15
    assert list(starts([2, 1])) == list(starts([2, 1]))


@pytest.mark.parametrize(
    ("env_id", "words"),
    [
        ("test_envs/DiscreteObs-v0", "observation is a Discrete"),
        ("test_envs/BoxActions-v0", "action is a Box"),
        ("test_envs/Broken-v0", "observation_space"),
        ("CartPole-v9", "v1"),
        ("Cartpole-v1", "CartPole"),
        ("no_such_module:Thing-v0", "no_such_module"),
        ("bad id !", "bad id !"),
    ],
)
def test_an_environment_that_cannot_be_used_is_refused_with_one_line(env_id, words):
    with pytest.raises(ConfigError) as caught:
        GymBatch(env_id, [0])
    message = str(caught.value)
    assert message.startswith(f"env.id={env_id!r}: ")
    assert words in message
    assert "\n" not in message


def test_old_versions_are_made_in_silence_and_other_warnings_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GymBatch("CartPole-v0", [0, 1]).close()
    with pytest.warns(UserWarning, match="latest versioned"):
        GymBatch("CartPole", [0])


def test_one_environment_cannot_be_two_rows():
    with pytest.raises(ValueError, match="different"):
        started("CartPole-v1", [0, 1]).select(np.array([1, 1]))


def test_rows_that_are_not_selected_are_closed():
    closed = []
    batch = started("CartPole-v1", [0, 1, 2])
    for seed, env in enumerate(batch._envs):
        env.close = lambda seed=seed: closed.append(seed)
    batch.select(np.array([2]))
    assert closed == [0, 1]
    batch.close()
    assert closed == [0, 1, 2]
