"""The rule that chooses the learning rates, on runs whose returns are known."""

import csv
import importlib.util
from itertools import product
from pathlib import Path

import pytest
import yaml
from run_folders import algo as algo_config
from run_folders import chain, gym, write_config, write_seed

from vdqn_runner.analysis.load import find_runs
from vdqn_runner.analysis.paper.learning_rates import Score, choose, scores, table_text
from vdqn_runner.config.paper_lr import rate
from vdqn_runner.errors import RunError

SCRIPT = Path(__file__).parents[2] / "scripts" / "choose_lr.py"
CHAINS = {"chain-10": chain(10), "chain-32": chain(32), "chain-100": chain(100)}
TASKS = {name: gym(name) for name in ("CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0")}
ALGOS = ("vdqn", "dqn", "noisynet")
# Where 0.01 is better: everywhere else it is worse, but for the tie.
BETTER = {("chain-32", "vdqn"), ("CartPole-v1", "dqn"), ("MountainCar-v0", "noisynet")}
TIE = ("chain-100", "dqn")


def write_run(top: Path, env: str, algo: str, lr: float, seeds: dict[int, float]) -> Path:
    folder = top / env / algo / f"{lr:g}"
    episodes = 500 if env in CHAINS else 300
    write_config(folder, (CHAINS | TASKS)[env], algo_config(algo, lr), episodes)
    visits = [(0, 0, 0)] * episodes if env in CHAINS else None
    for seed, value in seeds.items():
        # Half of the return in the first half of the training: all episodes count.
        returns = [value / 2] * (episodes // 2) + [1.5 * value] * (episodes // 2)
        write_seed(folder, seed, returns, visits)
    return folder


@pytest.fixture(scope="module")
def tuning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("runs") / "lr"
    for env, algo in product(CHAINS | TASKS, ALGOS):
        slow = {1000: 1.0, 1001: 2.0, 1002: 6.0}  # mean 3
        fast = {1000: 2.5, 1001: 2.5, 1002: 2.5}
        if (env, algo) in BETTER:
            fast = {1000: 9.0, 1001: 0.0, 1002: 0.5}  # mean 3.17, median and best seed aside
        if (env, algo) == TIE:
            fast = slow
        write_run(top, env, algo, 0.001, slow)
        write_run(top, env, algo, 0.01, fast)
    return top


def load_script():
    spec = importlib.util.spec_from_file_location("choose_lr", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_script_writes_the_table_and_the_scores(tuning, tmp_path, capsys):
    table, file = tmp_path / "paper_lr.yaml", tmp_path / "new" / "scores.csv"
    arguments = [str(tuning), "--table", str(table), "--scores", str(file)]
    assert load_script().main(arguments) == 0
    assert capsys.readouterr() == (f"{table}\n{file}\n", "")
    got = yaml.safe_load(table.read_text())
    assert list(got) == [*CHAINS, *TASKS]
    for env, algo in product(CHAINS | TASKS, ALGOS):
        assert got[env][algo] == (0.01 if (env, algo) in BETTER else 0.001)
    assert rate(got, "chain", 20, "vdqn") == 0.01  # what experiments read
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 7 * 3 * 2
    chosen = {(r["env"], r["algo"]): float(r["lr"]) for r in rows if r["chosen"] == "1"}
    assert chosen == {(env, algo): got[env][algo] for env in got for algo in got[env]}
    means = [float(r["mean_return"]) for r in rows if (r["env"], r["algo"]) == ("chain-32", "vdqn")]
    assert means == pytest.approx([3.0, 9.5 / 3])
    comment = [line for line in table.read_text().splitlines() if "chain-32" in line]
    assert "3.000" in comment[0] and "3.167" in comment[0]
    assert comment[0].startswith("#")


def test_a_tie_goes_to_the_smaller_in_either_order():
    pair = [Score("chain-10", "dqn", 0.01, 5.0), Score("chain-10", "dqn", 0.001, 5.0)]
    for scored in (pair, pair[::-1]):
        assert choose(scored) == {"chain-10": {"dqn": 0.001}}
        assert yaml.safe_load(table_text(choose(scored), scored)) == {"chain-10": {"dqn": 0.001}}


def test_seeds_that_are_not_for_tuning_do_not_count(tuning, tmp_path):
    other = tmp_path / "lr"
    other.symlink_to(tuning)
    runs = find_runs([other])
    before = scores(runs)
    extra = write_seed(tuning / "chain-10" / "vdqn" / "0.01", 7, [100.0] * 500, [(0, 0, 0)] * 500)
    try:
        assert scores(find_runs([other])) == before
    finally:
        (extra / "episodes.csv").unlink()
        extra.rmdir()


def test_a_run_that_is_missing_or_unfinished_is_told(tmp_path, capsys):
    write_run(tmp_path, "chain-10", "vdqn", 0.001, {1000: 1.0, 1001: 1.0})
    with pytest.raises(RunError, match="41 of 42 tuning runs are missing: chain-10 vdqn lr=0.01;"):
        scores(find_runs([tmp_path]))
    table = tmp_path / "t.yaml"
    assert load_script().main([str(tmp_path), "--table", str(table)]) == 1
    assert "41 of 42" in capsys.readouterr().err
    assert not table.exists()
    for env, algo, lr in product(CHAINS | TASKS, ALGOS, (0.001, 0.01)):
        if (env, algo, lr) != ("chain-10", "vdqn", 0.001):
            write_run(tmp_path, env, algo, lr, {1000: 1.0})
    with pytest.raises(RunError, match=r"chain-10.*of 500 episodes seed 1000 has 500.*1002 has 0"):
        scores(find_runs([tmp_path]))


def test_two_runs_of_one_rate_are_refused(tmp_path):
    for name in ("a", "b"):
        write_run(tmp_path / name, "chain-10", "vdqn", 0.001, {1000: 1.0})
    with pytest.raises(RunError, match=r"chain-10 vdqn lr=0\.001: there twice"):
        scores(find_runs([tmp_path]))
