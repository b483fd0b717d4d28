"""Systems side by side: names, statistics against SciPy and by hand, and the command's files."""

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from report_pages import STATUS
from run_folders import chain, write_config, write_seed
from scipy import stats

from vdqn_runner.analysis.compare.command import main
from vdqn_runner.analysis.compare.entries import entries, systems
from vdqn_runner.analysis.compare.ranking import (
    interquartile_mean,
    probability_of_improvement,
    with_interval,
)
from vdqn_runner.analysis.compare.rates import choose, mean_returns, table_text
from vdqn_runner.analysis.compare.tables import as_markdown, rankings
from vdqn_runner.analysis.load import find_runs
from vdqn_runner.analysis.pack import pack
from vdqn_runner.analysis.solve import NEVER
from vdqn_runner.config.system_lr import rate
from vdqn_runner.config.systems import system_name
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.runs.status import write_status

NAMES = {
    "DQN": {"name": "dqn"},
    "VDQN": {"name": "vdqn", "lam": 0.5},
    "Double VDQN": {"name": "vdqn", "double": True, "network": {"dueling": False}},
    "Dueling DQN": {"name": "dqn", "network": {"dueling": True}, "replay": {"alpha": 0.0}},
    "Prioritised DQN": {"name": "dqn", "replay": {"alpha": 0.6}},
    "Double dueling prioritised NoisyNet": {
        "name": "noisynet", "noise": "independent", "double": True,
        "network": {"dueling": True}, "replay": {"alpha": 0.6},
    },
    "NoisyNet with factorised noise": {"name": "noisynet", "noise": "factorised"},
    "Bootstrapped DQN": {"name": "bootstrapped", "prior_scale": 0.0},
    "Bootstrapped DQN with priors": {"name": "bootstrapped", "prior_scale": 3.0},
    "BBQ network with spikes": {"name": "bbq", "spike_episodes": 3},
    "DQN with VIME": {"name": "dqn", "vime": {"eta": 0.1}},
    "Boltzmann": {"name": "boltzmann"},
}  # fmt: skip


def sea(n):
    return {"kind": "deep_sea", "n": n, "gamma": 0.99, "stochastic": False}


@pytest.mark.parametrize("name", NAMES)
def test_systems_are_named_by_their_options(name):
    assert system_name(NAMES[name]) == name


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9), m=st.integers(2, 9))
def test_probability_of_improvement_is_mann_whitneys_u(seed, n, m):
    rng = np.random.default_rng(seed)
    tasks = [(rng.integers(0, 5, n) / 4.0, rng.integers(0, 5, m) / 4.0) for _ in range(3)]
    ours, theirs = zip(*tasks, strict=True)
    wanted = np.mean([stats.mannwhitneyu(x, y).statistic / (n * m) for x, y in tasks])
    assert probability_of_improvement(ours, theirs) == pytest.approx(wanted)
    assert probability_of_improvement(theirs, ours) == pytest.approx(1 - wanted)
    assert probability_of_improvement(ours, ours) == 0.5


def test_interquartile_mean_by_hand():
    assert interquartile_mean([np.array([0.0, 1.0, 2.0, 3.0])]) == 1.5
    # Both environments together, however their scores lie.
    assert interquartile_mean([np.array([0.0, 100.0]), np.array([4.0, 8.0])]) == 6.0


def mean_of_all(tasks):
    return np.concatenate(tasks, axis=-1).mean(axis=-1)


def test_statistics_of_resamples_are_those_of_each():
    rng = np.random.default_rng(1)
    ours, theirs = ([rng.integers(0, 4, (5, n)) / 2.0 for n in (4, 7)] for _ in range(2))
    for statistic, groups in (
        (interquartile_mean, [ours]),
        (probability_of_improvement, [ours, theirs]),
    ):
        each = [statistic(*([task[i] for task in group] for group in groups)) for i in range(5)]
        np.testing.assert_allclose(statistic(*groups), each)


def test_seeds_are_resampled_within_their_environment():
    """One environment's level does not stray into the interval of the other's seeds."""
    tasks = [np.full(10, 0.0), np.full(10, 1.0)]
    assert with_interval(mean_of_all, tasks) == (0.5, 0.5, 0.5)
    rng = np.random.default_rng(0)
    tasks = [rng.normal(0.0, 1.0, 40), rng.normal(10.0, 1.0, 40)]
    middle, low, high = with_interval(mean_of_all, tasks)
    # The standard error of the mean of 80 seeds of deviation 1.
    assert low < middle < high
    assert high - low == pytest.approx(2 * 1.96 / 80**0.5, rel=0.25)


def write_system(top, env, algo, starts, episodes=300, best=11.0, lr=0.01):
    """A run whose seeds have the best return from episode ``starts[seed]`` on, else none."""
    label = f"{env['kind']}-{env['n']}"
    name = system_name(algo).replace(" ", "_")
    folder = top / label / algo["name"] / f"{name}{lr:g}"
    full = algo | {"lr": {"kind": "constant", "value": lr}}
    write_config(folder, env, full, episodes)
    for seed, start in enumerate(starts):
        returns = [0.0] * start + [best] * (episodes - start)
        visits = [(0, 0, 0)] * episodes if env["kind"] == "chain" else None
        write_seed(folder, seed, returns, visits)
    return folder


@pytest.fixture
def runs(tmp_path):
    top = tmp_path / "runs" / "deep"
    for n in (10, 20):
        write_system(top, chain(n), NAMES["DQN"], [300, 300, 100])
        write_system(top, chain(n), NAMES["VDQN"], [20, 50, 80])
        write_system(top, sea(n), NAMES["DQN"], [300, 300, 300], best=0.99)
        write_system(top, sea(n), NAMES["VDQN"], [0, 300, 30], best=0.99)
    write_system(top, chain(20), NAMES["Double VDQN"], [10, 10, 10])
    return top


def test_entries_say_when_each_seed_learned_it_and_how_well_it_did_throughout(runs):
    found = {(e.env, e.system): e for e in entries(find_runs([runs]))}
    assert len(found) == 9
    dqn = found["chain-10", "DQN"]
    assert dqn.episodes.tolist() == [NEVER, NEVER, 110] and dqn.learned == dqn.settled == 1
    np.testing.assert_allclose(dqn.scores, [0.0, 0.0, 2 / 3])
    assert dqn.median()[0] > dqn.limit
    vdqn = found["deep_sea-20", "VDQN"]
    assert vdqn.episodes.tolist() == [10, NEVER, 40] and vdqn.median()[0] == 40
    np.testing.assert_allclose(vdqn.scores, [1.0, 0.0, 0.9])
    assert systems(list(found.values())) == ["Double VDQN", "VDQN", "DQN"]


def test_what_epsilon_greedy_policies_can_earn_is_what_the_page_says():
    """The best policy under random actions in one step of ten, by dynamic programming."""

    def best(n, epsilon):
        states = np.arange(1, n + 1)
        reward = np.where(states == n, 1.0, np.where(states == 1, 0.001, 0.0))
        left, right = np.maximum(states - 1, 1) - 1, np.minimum(states + 1, n) - 1
        value = np.zeros(n)
        for _ in range(n + 9):
            both = np.stack([value[left], value[right]])
            value = reward + (1 - epsilon) * both.max(axis=0) + epsilon * both.mean(axis=0)
        return value[1]

    assert best(50, 0.0) == pytest.approx(11.0)
    shares = [f"{best(n, 0.1) / 11:.0%}".replace("%", " %") for n in (10, 50, 100, 200)]
    page = " ".join((Path(__file__).parents[2] / "docs" / "algorithms.md").read_text().split())
    wanted = "more than {} of the best on a chain of 10 states, {} at 50, {} at 100 and {} at 200"
    assert wanted.format(*shares) in page


def test_moves_that_find_nothing_are_no_score(tmp_path):
    folder = write_system(tmp_path, sea(10), NAMES["DQN"], [300])
    write_seed(folder, 0, [-0.01] * 300, None)
    (entry,) = entries(find_runs([tmp_path]))
    assert entry.scores.tolist() == [0.0] and entry.learned == 0


def diverged(folder, seed, episodes_done):
    """Write the status that training leaves where numbers were no longer finite."""
    reason = "diverged at step 900 (grad_norm: inf); no checkpoint yet"
    status = dataclasses.replace(
        STATUS, seed=seed, state="failed", reason=reason, episodes_done=episodes_done
    )
    write_status(folder / f"seed-{seed:05d}", status)


def test_a_diverged_seed_counts_with_what_it_reached_and_nothing_after(tmp_path):
    """Left out, it would make the others' success that of all."""
    folder = write_system(tmp_path / "a", chain(10), NAMES["VDQN"], [0, 100, 300, 300])
    visits = [(0, 0, 0)] * 300
    write_seed(folder, 1, [0.0] * 100 + [11.0] * 150, visits)
    write_seed(folder, 3, [], visits)
    (unfinished,) = entries(find_runs([tmp_path]))
    assert len(unfinished.scores) == 2 and unfinished.diverged == 0
    diverged(folder, 1, 250)
    diverged(folder, 3, 0)
    (entry,) = entries(find_runs([tmp_path]))
    np.testing.assert_allclose(entry.scores, [1.0, 0.5, 0.0, 0.0])
    assert entry.episodes.tolist() == [10, 110, NEVER, NEVER]
    assert (entry.settled, entry.diverged) == (1, 2)
    # One that ended a single episode early would pass for settled.
    write_seed(folder, 1, [0.0] * 100 + [11.0] * 199, visits)
    diverged(folder, 1, 299)
    (entry,) = entries(find_runs([tmp_path]))
    assert entry.settled == 1 and entry.learned == 2
    # Packed, it is the same run.
    assert list(pack([tmp_path], tmp_path / "kept"))
    (kept,) = entries(find_runs([tmp_path / "kept"]))
    assert kept.scores.tolist() == entry.scores.tolist() and kept.diverged == 2
    (line,) = (line for line in as_markdown([kept], rankings([kept])) if "iverged" in line)
    assert line.endswith(": 2 of 4 seeds of VDQN on chain-10.")


def test_the_command_writes_what_it_found(runs, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([str(runs), "-o", str(out)]) == 0
    text = capsys.readouterr().out
    names = ["compare.md", "learning.csv", "ranking.csv", "improvement.csv"]
    names += [f"{kind}.{end}" for kind in ("chain", "deep_sea") for end in ("png", "pdf")]
    assert {path.name for path in out.iterdir()} == set(names)
    assert (out / "compare.md").read_text() in text

    def read(name):
        with (out / name).open(newline="") as stream:
            return list(csv.DictReader(stream))

    learning = {(row["env"], row["system"]): row for row in read("learning.csv")}
    assert learning["chain-10", "DQN"]["median_episodes"] == ""
    assert learning["chain-10", "VDQN"]["median_episodes"] == "60.0"
    assert learning["deep_sea-10", "VDQN"]["learned"] == "2"
    # One that is not everywhere is not ranked.
    ranks = [(row["kind"], row["system"], row["environments"]) for row in read("ranking.csv")]
    assert ranks == [
        ("all", "VDQN", "4"), ("all", "DQN", "4"), ("chain", "VDQN", "2"), ("chain", "DQN", "2"),
        ("deep_sea", "VDQN", "2"), ("deep_sea", "DQN", "2"),
    ]  # fmt: skip
    chance = {
        (row["system"], row["over"]): float(row["probability"])
        for row in read("improvement.csv")
        if row["kind"] == "all"
    }
    scores = {
        e.system + e.env: e.scores for e in entries(find_runs([runs])) if e.system != "Double VDQN"
    }
    wanted = np.mean(
        [
            stats.mannwhitneyu(scores["VDQN" + env], scores["DQN" + env]).statistic / 9
            for env in ("chain-10", "chain-20", "deep_sea-10", "deep_sea-20")
        ]
    )
    assert chance["VDQN", "DQN"] == pytest.approx(wanted, abs=1e-4)
    assert chance["DQN", "VDQN"] == pytest.approx(1 - wanted, abs=1e-4)
    again = {name: (out / name).read_bytes() for name in names}
    assert main([str(runs), "-o", str(out)]) == 0
    assert again == {name: (out / name).read_bytes() for name in names}


def test_two_runs_for_one_system_are_refused(runs, capsys, tmp_path):
    write_system(runs, chain(10), NAMES["VDQN"], [5, 5], lr=0.5)
    assert main([str(runs), "-o", str(tmp_path / "out")]) == 2
    assert "chain-10 VDQN: two runs for one system" in capsys.readouterr().err


def test_environments_whose_best_return_is_not_known_are_refused(tmp_path, capsys):
    write_system(tmp_path, sea(5) | {"stochastic": True}, NAMES["DQN"], [5])
    assert main([str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    assert "the best return is known of chain, deep_sea" in capsys.readouterr().err


def test_each_system_takes_the_better_rate_on_each_kind_of_environment(tmp_path):
    for kind, env in (("chain", chain(32)), ("deep_sea", sea(8))):
        for name, slow, fast in (("DQN", 100, 50), ("VDQN", 40, 90), ("Double VDQN", 30, 30)):
            slow, fast = (slow, fast) if kind == "chain" else (fast, slow)
            write_system(tmp_path, env, NAMES[name], [slow, slow], lr=0.001)
            write_system(tmp_path, env, NAMES[name], [fast, fast], lr=0.01)
    means = mean_returns(find_runs([tmp_path]))
    assert choose(means) == {
        ("chain", "DQN"): 0.01,
        ("chain", "VDQN"): 0.001,
        ("chain", "Double VDQN"): 0.001,
        ("deep_sea", "DQN"): 0.001,
        ("deep_sea", "VDQN"): 0.01,
        ("deep_sea", "Double VDQN"): 0.001,
    }
    table = yaml.safe_load(table_text(means))
    assert rate(table, "deep_sea", "VDQN") == 0.01
    with pytest.raises(ConfigError, match="no rate of NoisyNet on env.kind=chain, only of"):
        rate(table, "chain", "NoisyNet")


def test_a_missing_rate_or_seed_is_told(tmp_path):
    folder = write_system(tmp_path, chain(32), NAMES["DQN"], [5, 5], lr=0.001)
    with pytest.raises(RunError, match="DQN on chain: has not the rates"):
        mean_returns(find_runs([tmp_path]))
    write_system(tmp_path, chain(32), NAMES["DQN"], [5, 5], lr=0.01)
    assert mean_returns(find_runs([tmp_path]))
    write_seed(Path(folder), 1, [0.0] * 20, [(0, 0, 0)] * 20)
    with pytest.raises(RunError, match="seeds that are not finished"):
        mean_returns(find_runs([tmp_path]))
