"""The replay against lists, its uniformity, and what an episode's end does to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vdqn_runner.envs.spec import EnvSpec
from vdqn_runner.replay import UniformReplay


def spec(shape=(), dtype="uint16", limit=None, actions=3):
    return EnvSpec(
        obs_dim=2,
        n_actions=actions,
        stored_shape=shape,
        stored_dtype=np.dtype(dtype),
        max_episode_steps=limit,
        extra_columns=(),
        label="made up",
    )


class Lists:
    """The same memory as plain lists: one of transitions for each seed, the oldest first."""

    def __init__(self, n_seeds, capacity):
        self.capacity = capacity
        self.memory = [[] for _ in range(n_seeds)]

    def add(self, transitions):
        for memory, transition in zip(self.memory, transitions, strict=True):
            memory.append(transition)
            del memory[: -self.capacity]


class World:
    """Episodes of given lengths; observations are numbers that never come twice."""

    def __init__(self, lengths, shape):
        """``lengths``: for each seed the lengths of its episodes, gone through again and again."""
        self.shape, self.lengths = shape, lengths
        self.serial = 0
        self.left = [0] * len(lengths)
        self.at = [0] * len(lengths)
        self.obs = [None] * len(lengths)
        self.rng = np.random.default_rng(0)

    def fresh(self):
        self.serial += 1
        return np.full(self.shape, self.serial, np.uint16)

    def step(self, replay, lists, keep_terminal, between=lambda: None):
        """Take a step in every seed; ``between`` is called when episodes have been begun."""
        n = len(self.lengths)
        starting = [k for k in range(n) if self.left[k] == 0]
        for k in starting:
            self.left[k] = self.lengths[k][self.at[k] % len(self.lengths[k])]
            self.at[k] += 1
            self.obs[k] = self.fresh()
        if starting:
            replay.begin(np.array(starting), np.stack([self.obs[k] for k in starting]))
        between()
        after = [self.fresh() for _ in range(n)]
        self.left = [left - 1 for left in self.left]
        action = self.rng.integers(0, 3, n)
        reward = self.rng.normal(size=n).astype(np.float32)
        terminal = np.array([left == 0 and keep_terminal for left in self.left])
        replay.add(action, reward, terminal, np.stack(after))
        lists.add(list(zip(self.obs, action, reward, terminal, after, strict=True)))
        self.obs = after

    def select(self, rows):
        for name in ("lengths", "left", "at", "obs"):
            setattr(self, name, [getattr(self, name)[row] for row in rows])


def draw(replay, uniform):
    """Draw at a time that does not matter to uniform replay."""
    return replay.sample(uniform, 0, np.zeros(len(uniform), np.int64))


def contents(replay, n_seeds):
    """All transitions that can be drawn, for each seed, sorted by observation."""
    n = len(replay)
    uniform = np.tile((np.arange(n) + 0.5) / n, (n_seeds, 1))
    got = draw(replay, uniform)
    assert got.action.shape == got.reward.shape == got.terminal.shape == (n_seeds, n)
    found = []
    for k in range(n_seeds):
        rows = zip(
            got.obs[k].reshape(n, -1)[:, 0].tolist(),
            got.action[k].tolist(),
            got.reward[k].tolist(),
            got.terminal[k].tolist(),
            got.next_obs[k].reshape(n, -1)[:, 0].tolist(),
            strict=True,
        )
        found.append(sorted(rows))
    return found


def expected(lists):
    return [
        sorted(
            (int(o.flat[0]), int(a), float(r), bool(t), int(x.flat[0])) for o, a, r, t, x in memory
        )
        for memory in lists.memory
    ]


lengths = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=3)


@given(
    lengths=lengths,
    capacity=st.integers(1, 9),
    steps=st.integers(1, 40),
    shape=st.sampled_from([(), (2,)]),
    keep_terminal=st.booleans(),
    tight=st.booleans(),
)
def test_holds_what_lists_hold(lengths, capacity, steps, shape, keep_terminal, tight):
    # ``tight``: as few episodes are announced as can take place in these steps.
    episodes = steps if tight else 1000
    replay = UniformReplay(len(lengths), spec(shape), capacity, episodes)
    lists, world = Lists(len(lengths), capacity), World(lengths, shape)

    def check():
        if len(replay):
            assert contents(replay, len(lengths)) == expected(lists)

    for count in range(1, steps + 1):
        world.step(replay, lists, keep_terminal, check)
        assert len(replay) == min(count, capacity)
        check()


@given(
    lengths=lengths,
    capacity=st.integers(1, 9),
    before=st.integers(1, 25),
    after=st.integers(0, 25),
    data=st.data(),
)
def test_select_and_state_keep_it_going(lengths, capacity, before, after, data):
    replay = UniformReplay(len(lengths), spec(), capacity, 1000)
    lists, world = Lists(len(lengths), capacity), World(lengths, ())
    for _ in range(before):
        world.step(replay, lists, True)
    rows = data.draw(st.permutations(range(len(lengths))))[: data.draw(st.integers(1, 3))]
    replay.select(np.array(rows))
    lists.memory = [lists.memory[row] for row in rows]
    world.select(rows)
    assert contents(replay, len(rows)) == expected(lists)
    again = UniformReplay(len(rows), spec(), capacity, 1000)
    for row in range(len(rows)):
        again.load(row, replay.state(row))
    assert len(again) == len(replay)
    uniform = np.random.default_rng(1).random((len(rows), 32))
    for one, two in zip(
        vars(draw(replay, uniform)).values(), vars(draw(again, uniform)).values(), strict=True
    ):
        np.testing.assert_array_equal(one, two)
    for _ in range(after):
        world.step(again, lists, True)
        assert contents(again, len(rows)) == expected(lists)


def test_next_observation_of_an_episodes_last_step_is_its_final_one():
    replay = UniformReplay(1, spec(limit=2), 100, 3)
    for start in (10, 20, 30):
        replay.begin(np.array([0]), np.array([start]))
        for step in (1, 2):
            replay.add(np.array([0]), np.array([0.0]), np.array([step == 2]), [start + step])
    pairs = {(o, x, t) for o, _, _, t, x in contents(replay, 1)[0]}
    assert pairs == {
        (start + step, start + step + 1, step == 1) for start in (10, 20, 30) for step in (0, 1)
    }


def test_ties_its_size_to_the_episodes_there_will_be():
    assert UniformReplay(1, spec(limit=7), 10**6, 3).capacity == 21
    assert UniformReplay(1, spec(limit=7), 5, 3).capacity == 5
    assert UniformReplay(1, spec(), 50, 3).capacity == 50


@pytest.mark.parametrize("filled", [37, 100, 163])
def test_draws_uniformly(filled):
    capacity = 100
    replay = UniformReplay(2, spec(), capacity, 1000)
    world, lists = World([[7, 3], [4]], ()), Lists(2, capacity)
    for _ in range(filled):
        world.step(replay, lists, True)
    rng = np.random.default_rng(2)
    held = min(filled, capacity)
    drawn = [draw(replay, rng.random((2, 64))).obs for _ in range(400)]
    for seed in range(2):
        counts = np.unique(np.stack(drawn)[:, seed], return_counts=True)[1]
        assert len(counts) == held
        assert stats.chisquare(counts).pvalue > 1e-3


def test_seeds_do_not_see_each_other():
    replay = UniformReplay(2, spec(), 10, 10)
    replay.begin(np.array([0, 1]), np.array([100, 200]))
    for step in range(1, 8):
        replay.add(np.zeros(2), np.zeros(2), np.zeros(2, bool), np.array([100, 200]) + step)
    drawn = draw(replay, np.random.default_rng(0).random((2, 500)))
    for values in (drawn.obs, drawn.next_obs):
        assert (values[0] // 100 == 1).all() and (values[1] // 100 == 2).all()


def test_the_largest_uniform_number_stays_inside():
    replay = UniformReplay(1, spec(), 3, 10)
    replay.begin(np.array([0]), np.array([1]))
    for step in range(3):
        replay.add(np.zeros(1), np.zeros(1), np.zeros(1, bool), np.array([step + 2]))
    assert draw(replay, np.array([[np.nextafter(1.0, 0.0), 0.0]])).obs.tolist() == [[3, 1]]


def test_many_actions_fit():
    replay = UniformReplay(1, spec(actions=300), 3, 10)
    replay.begin(np.array([0]), np.array([1]))
    replay.add(np.array([299]), np.zeros(1), np.zeros(1, bool), np.array([2]))
    assert draw(replay, np.array([[0.0]])).action.tolist() == [[299]]
