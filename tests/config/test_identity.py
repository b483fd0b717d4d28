"""The identity depends on what decides the numbers, on all of it, and on nothing else."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from mappings import CARTPOLE, request

from vdqn_runner.config import build, identity, identity_mapping

CIRCUMSTANCES = st.fixed_dictionaries(
    {
        "device": st.sampled_from(["cpu"]),
        "workers": st.one_of(st.just("auto"), st.integers(1, 64)),
        "threads": st.integers(1, 64),
        "seed": st.integers(0, 2**31),
        "n_seeds": st.integers(1, 100),
        "out": st.sampled_from(["runs", "/tmp/x", "a/b"]),
        "name": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,9}", fullmatch=True),
        "checkpoint_every": st.integers(1, 10**6),
        "quiet": st.booleans(),
        "tracker": st.sampled_from([{"kind": "none"}, {"kind": "wandb", "mode": "online"}]),
    }
)


@given(CIRCUMSTANCES)
def test_circumstances_do_not_matter(circumstances: dict[str, Any]) -> None:
    assert identity(build(request(**circumstances))) == identity(build(request()))


@pytest.mark.parametrize(
    "change",
    [
        {"episodes": 21},
        {"log_every": 2},
        {"evaluate__every": 0},
        {"evaluate__episodes": 6},
        {"env__n": 11},
        {"env__gamma": 0.5},
        {"env": CARTPOLE},
        {"algo": {"name": "dqn"}},
        {"algo": {"name": "noisynet"}},
        {"algo__lr": 0.01},
        {"algo__lam": {"kind": "linear", "start": 0.02, "end": 0.02, "duration": 5}},
        {"algo__batch_size": 32},
        {"algo__target_period": 99},
        {"algo__learning_starts": 499},
        {"algo__train_every": 2},
        {"algo__reward_scale": 0.5},
        {"algo__network__hidden": [100]},
        {"algo__optimizer__beta1": 0.8},
        {"algo__optimizer__beta2": 0.99},
        {"algo__optimizer__eps": 1e-7},
        {"algo__replay__capacity": 1000},
        {"algo__resample": "episode"},
        {"algo__theta_samples": "per_batch"},
        {"algo__sigma_init": 0.018},
    ],
    ids=str,
)
def test_everything_that_decides_numbers_matters(change: dict[str, Any]) -> None:
    assert identity(build(request(**change))) != identity(build(request()))


@pytest.mark.parametrize(
    "same",
    [
        {"algo__lam": 0.02},
        {"algo__lam": {"kind": "constant", "value": 0.02}},
        {"algo__reward_scale": 1},
        {"env__gamma": 1},
        {"env": {"n": 10, "gamma": 1.0, "kind": "chain"}},
    ],
    ids=str,
)
def test_other_ways_to_say_the_same_have_the_same_identity(same: dict[str, Any]) -> None:
    assert identity(build(request(**same))) == identity(build(request()))


def test_minus_zero_is_zero() -> None:
    assert identity(build(request(algo__lam=-0.0))) == identity(build(request(algo__lam=0)))


def test_identity_is_the_digest_of_the_canonical_mapping() -> None:
    config = build(request("dqn"))
    text = json.dumps(identity_mapping(config), sort_keys=True, separators=(",", ":"))
    assert identity(config) == hashlib.sha256(text.encode()).hexdigest()[:8]


def test_identity_of_a_known_run_stays() -> None:
    """A change here orphans every finished run: do not update the value lightly."""
    assert identity(build(request())) == "dc287bc2"


@given(
    n=st.integers(3, 10_000),
    lr=st.floats(1e-9, 1.0),
    lam=st.floats(0, 10),
    hidden=st.lists(st.integers(1, 500), min_size=1, max_size=3),
    algo=st.sampled_from(["vdqn", "noisynet", "dqn"]),
)
def test_the_mapping_builds_the_same_run_again(
    n: int, lr: float, lam: float, hidden: list[int], algo: str
) -> None:
    extra = {"algo__lam": lam} if algo == "vdqn" else {}
    config = build(request(algo, env__n=n, algo__lr=lr, algo__network__hidden=hidden, **extra))
    mapping = json.loads(json.dumps(identity_mapping(config)))
    again = build(mapping)
    assert (again.env, again.algo, again.episodes) == (config.env, config.algo, config.episodes)
    assert identity(again) == identity(config)


def test_runs_that_are_kept_go_by_the_names_that_they_had() -> None:
    """Whatever settings came later: a run of before is found, and resumed, by its fingerprint."""
    kept = sorted((Path(__file__).parents[2] / "results" / "runs").rglob("config.yaml"))
    assert len(kept) > 50
    for file in kept:
        config = build({"env": {}, **yaml.safe_load(file.read_text(encoding="utf-8"))})
        assert identity(config) == file.parent.name, file


LATER = [
    {"algo__double": True},
    {"algo__network__dueling": True},
    {"algo__replay__alpha": 0.6},
    {"algo__replay": {"alpha": 0.6, "beta": 0.5}},
    {"algo__replay": {"alpha": 0.6, "floor": 1e-5}},
    {"algo__vime": {"eta": 0.1}},
    {"algo__vime": {"eta": 0.1, "window": 9}},
]


@pytest.mark.parametrize("change", LATER, ids=str)
def test_later_settings_matter_where_they_are_used(change: dict[str, Any]) -> None:
    config = build(request(**change))
    names = {identity(config), identity(build(request())), identity(build(request(**LATER[2])))}
    assert len(names) == (2 if change == LATER[2] else 3)
    assert build({"episodes": 1, **identity_mapping(config)}).algo == config.algo
