"""Which learning rate an experiment gets, and that a request may say otherwise."""

import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from vdqn_runner.config import rates
from vdqn_runner.config.files import conf_dir
from vdqn_runner.config.paper_lr import nearest_on_log_scale, rate, register
from vdqn_runner.errors import ConfigError

TABLE = {
    "chain-10": {"vdqn": 0.1, "dqn": 0.2},
    "chain-32": {"vdqn": 0.3},
    "chain-100": {"vdqn": 0.4},
    "CartPole-v1": {"vdqn": 0.5},
}


@pytest.mark.parametrize(
    ("n", "nearest"),
    [
        # Borders: sqrt(10 * 32) = 17.9 and sqrt(32 * 100) = 56.6.
        (3, 10), (5, 10), (8, 10), (10, 10), (17, 10), (18, 32), (20, 32), (32, 32), (50, 32),
        (56, 32), (57, 100), (70, 100), (100, 100), (128, 100), (200, 100), (10_000, 100),
    ],
)  # fmt: skip
def test_another_chain_takes_the_nearest_on_a_log_scale(n: int, nearest: int) -> None:
    assert nearest_on_log_scale(n, [100, 10, 32]) == nearest


def test_a_tie_takes_the_smaller() -> None:
    assert nearest_on_log_scale(20, [40, 10]) == 10
    assert nearest_on_log_scale(21, [63, 7]) == 7  # log(3) twice, but not as rounded logarithms


@given(st.integers(1, 10_000), st.lists(st.integers(1, 10_000), min_size=1))
def test_no_other_is_nearer(n: int, tuned: list[int]) -> None:
    chosen = nearest_on_log_scale(n, tuned)
    assert chosen in tuned
    best = min(abs(math.log(n) - math.log(k)) for k in tuned)
    assert abs(math.log(n) - math.log(chosen)) <= best + 1e-12


def test_rate_of_a_chain_and_of_another_environment() -> None:
    assert rate(TABLE, "chain", 50, "vdqn") == 0.3
    assert rate(TABLE, "CartPole-v1", None, "vdqn") == 0.5


def test_a_gap_in_the_table_is_told() -> None:
    with pytest.raises(ConfigError, match="no rate of dqn for CartPole-v1, only for chain-10;"):
        rate(TABLE, "CartPole-v1", None, "dqn")
    with pytest.raises(ConfigError, match="no rate of sarsa for chain"):
        rate(TABLE, "chain", 50, "sarsa")


def test_resolver_reads_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paper_lr.yaml").write_text(yaml.safe_dump(TABLE))
    monkeypatch.setattr(rates, "conf_dir", lambda: tmp_path)
    rates.load_table.cache_clear()
    register()
    try:
        lr = "${paper_lr:${env},${algo.name}}"
        for env, expected in (
            ({"kind": "chain", "n": 70}, 0.4),
            ({"kind": "gym", "id": "CartPole-v1"}, 0.5),
            ({"kind": "gym", "id": "???"}, None),
            ({"kind": "chain", "n": "many"}, None),
            ({"kind": "chain", "n": 0}, None),
        ):
            tree = OmegaConf.create({"env": env, "algo": {"name": "vdqn", "lr": lr}})
            assert tree.algo.lr == expected
    finally:
        rates.load_table.cache_clear()


def test_shipped_table_has_a_rate_of_the_paper_for_everything_that_is_tuned() -> None:
    table = yaml.safe_load((conf_dir() / "paper_lr.yaml").read_text())
    control = {"CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0"}
    assert set(table) == {"chain-10", "chain-32", "chain-100"} | control
    for row in table.values():
        assert set(row) == {"vdqn", "dqn", "noisynet"}
        assert set(row.values()) <= {0.001, 0.01}
