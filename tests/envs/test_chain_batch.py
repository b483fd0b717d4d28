"""The fast chain against ``ChainEnv``, one environment a row."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vdqn_runner import config
from vdqn_runner.envs import ChainBatch, ChainEnv, make_envs
from vdqn_runner.errors import ConfigError
from vdqn_runner.layout import Layout
from vdqn_runner.nets import features


class Reference:
    """One ``ChainEnv`` and the set of states that its episode has visited."""

    def __init__(self, n):
        self.n, self.env, self.running, self.state = n, ChainEnv(n), False, 0
        self.visited = set()

    def reset(self):
        self.state = self.env.reset()[1]["state"]
        self.visited, self.running = {self.state}, True

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.state, self.running = info["state"], not terminated
        self.visited.add(self.state)
        return observation, float(reward), terminated, truncated

    def extras(self):
        names = ("visited_first", "visited_middle", "visited_last")
        marks = (1, self.n // 2, self.n)
        return {name: mark in self.visited for name, mark in zip(names, marks, strict=True)}


def assert_same(batch, references):
    assert batch.observe().tolist() == [r.state for r in references]
    extras = batch.extras()
    assert tuple(extras) == batch.spec.extra_columns
    for row, reference in enumerate(references):
        if reference.visited:
            assert {name: bool(column[row]) for name, column in extras.items()} == (
                reference.extras()
            )


@settings(max_examples=60, deadline=None)
def thermometer(n, state):
    """What a network sees of a stored state."""
    return features(Layout([n, 1, 2]), torch.tensor([[int(state)]], dtype=torch.int32))[0, 0]


@given(data=st.data(), n=st.integers(3, 24), rows=st.integers(1, 5))
def test_equals_the_chain_step_by_step(data, n, rows):
    batch, references = ChainBatch(n, rows), [Reference(n) for _ in range(rows)]
    batch.reset(np.arange(rows))
    for reference in references:
        reference.reset()
    # Biased walks, so that both ends are met and left alone.
    bias = data.draw(st.sampled_from([0.1, 0.5, 0.9]))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for _ in range(3 * n):
        actions = (random.random(len(references)) < bias).astype(np.int64)
        result = batch.step(actions)
        for row, (reference, action) in enumerate(zip(references, actions, strict=True)):
            observation, reward, terminated, truncated = reference.step(action)
            np.testing.assert_array_equal(thermometer(n, result.next_obs[row]), observation)
            assert result.reward[row] == reward
            assert result.terminated[row] == terminated
            assert result.truncated[row] == truncated
        assert_same(batch, references)
        event = random.random()
        if event < 0.05 and len(references) > 1:
            keep = random.permutation(len(references))[: random.integers(1, len(references) + 1)]
            batch.select(keep)
            references = [references[row] for row in keep]
        # Also in the middle of an episode, so that rows are out of step with each other.
        again = [row for row, r in enumerate(references) if not r.running or random.random() < 0.05]
        batch.reset(np.array(again, np.int64))
        for row in again:
            references[row].reset()
        assert_same(batch, references)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(3, 20), walks=st.lists(st.binary(min_size=20, max_size=20), min_size=1))
def test_a_row_does_not_depend_on_the_rows_beside_it(n, walks):
    actions = np.array([list(walk) for walk in walks], np.int64) % 2  # [S, T]
    together = ChainBatch(n, len(walks))
    alone = [ChainBatch(n, 1) for _ in walks]
    for batch in (together, *alone):
        batch.reset(np.arange(len(batch.observe())))
    for t in range(min(20, n + 9)):
        result = together.step(actions[:, t])
        for row, batch in enumerate(alone):
            single = batch.step(actions[[row], t])
            assert [column[row] for column in result] == [column[0] for column in single]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(3, 20), before=st.lists(st.integers(0, 1)), after=st.lists(st.integers(0, 1)))
def test_a_loaded_state_goes_on_as_the_saved_row(n, before, after):
    first, second = ChainBatch(n, 2), ChainBatch(n, 3)
    first.reset(np.arange(2))
    second.reset(np.arange(3))
    for action in before[: n + 9]:
        first.step(np.array([1 - action, action]))
    second.load_state(0, json.loads(json.dumps(first.state(1))))
    second.select(np.array([0]))
    for action in after[: max(0, n + 9 - len(before))]:
        result, expected = second.step(np.array([action])), first.step(np.array([0, action]))
        assert [column[0] for column in result] == [column[1] for column in expected]
    assert {k: v[0] for k, v in second.extras().items()} == {
        k: v[1] for k, v in first.extras().items()
    }


def test_spec_and_factory():
    batch = make_envs(config.ChainEnv(n=100), [7, 8, 9])
    assert isinstance(batch, ChainBatch)
    spec = batch.spec
    assert (spec.obs_dim, spec.n_actions, spec.label) == (100, 2, "chain-100")
    assert (spec.stored_shape, spec.stored_dtype) == ((), np.uint16)
    assert spec.max_episode_steps == 109
    batch.reset(np.arange(3))
    assert batch.observe().dtype == np.uint16
    result = batch.step(np.array([0, 1, 1]))
    assert [column.dtype for column in result] == [np.uint16, np.float64, np.bool_, np.bool_]


def test_what_a_step_returned_is_not_changed_later():
    batch = ChainBatch(5, 2)
    batch.reset(np.arange(2))
    observed = batch.observe()
    result = batch.step(np.array([1, 1]))
    kept = [column.copy() for column in result]
    batch.step(np.array([1, 0]))
    batch.reset(np.arange(2))
    assert observed.tolist() == [2, 2]
    for column, copy in zip(result, kept, strict=True):
        np.testing.assert_array_equal(column, copy)


def test_stepping_a_row_without_an_episode_raises():
    batch = ChainBatch(3, 2)
    with pytest.raises(RuntimeError, match=r"rows \[0 1\]"):
        batch.step(np.array([0, 0]))
    batch.reset(np.array([0, 1]))
    for _ in range(12):
        result = batch.step(np.array([0, 1]))
    assert result.terminated.all()
    batch.reset(np.array([0]))
    with pytest.raises(RuntimeError, match=r"rows \[1\]"):
        batch.step(np.array([0, 0]))


def test_impossible_size_is_refused():
    with pytest.raises(ConfigError, match=r"env\.n=2"):
        ChainBatch(2, 1)
