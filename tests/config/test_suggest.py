"""Suggestions find misspelt, miscased and misplaced names, and stay silent about others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdqn_runner.config.suggest import closest, closest_key

KEYS = ["episodes", "env.n", "env.gamma", "algo.lr", "algo.lam", "algo.network.hidden", "seed"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("epsiodes", "episodes"),
        ("env.nn", "env.n"),
        ("lr", "algo.lr"),
        ("env.lr", "algo.lr"),
        ("algo.network.hiden", "algo.network.hidden"),
        ("hidden", "algo.network.hidden"),
        ("SEED", "seed"),
        ("xyzzy", None),
    ],
)
def test_closest_key(typed: str, meant: str | None) -> None:
    assert closest_key(typed, KEYS) == meant


@given(st.sampled_from(["vdqn", "dqn", "noisynet"]))
def test_a_name_in_capitals_is_recognised(name: str) -> None:
    assert closest(name.upper(), ["vdqn", "dqn", "noisynet"]) == name


@given(st.text(max_size=10))
def test_a_suggestion_is_a_candidate_and_needs_one(name: str) -> None:
    assert closest(name, KEYS) in [*KEYS, None]
    assert closest(name, []) is None
    assert closest_key(name, []) is None
