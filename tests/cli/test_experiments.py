"""What every experiment file asks for, written out here a second time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from vdqn_runner import sweep
from vdqn_runner.cli import job, main
from vdqn_runner.config import RunConfig, identity
from vdqn_runner.config import paper_lr as module
from vdqn_runner.config.files import conf_dir, options
from vdqn_runner.config.paper_lr import FILE
from vdqn_runner.config.rates import load_table
from vdqn_runner.config.systems import system_name

CONTROL = ["CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0"]
ALL = ["vdqn", "dqn", "noisynet"]
RATES = [0.001, 0.01]
# A table in which every entry differs, so that a rate tells where it was read.
TABLE = {
    row: {algo: 0.001 * (10 * i + j + 1) for j, algo in enumerate(ALL)}
    for i, row in enumerate(["chain-10", "chain-32", "chain-100", *CONTROL])
}
ROW = {
    5: "chain-10", 8: "chain-10", 10: "chain-10", 20: "chain-32", 32: "chain-32", 50: "chain-32",
    70: "chain-100", 100: "chain-100", 128: "chain-100", 200: "chain-100",
}  # fmt: skip


class Begun(Exception):
    """A sweep begins: its jobs take the settings that are written down now (see test_sweep.py)."""

    def __init__(self, runs: Iterable[RunConfig]) -> None:
        super().__init__()
        self.runs = list(runs)


@pytest.fixture
def jobs(
    empty: Path, trained: list[RunConfig], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], list[RunConfig]]:
    """Return a function from a command line to the runs that it trains."""

    def begin(folder: Path, runs: Mapping[RunConfig, Sequence[str]]) -> None:
        raise Begun(runs)

    monkeypatch.setattr(module, "load_table", lambda file: TABLE)
    # Every job composed by Hydra once more would take as long again.
    monkeypatch.setattr(sweep, "begin", begin)

    def run(line: str) -> list[RunConfig]:
        trained.clear()
        try:
            assert main(line.split()) == 0
        except Begun as begun:
            return begun.runs
        return list(trained)

    return run


def where(config: RunConfig) -> object:
    return getattr(config.env, "n", None) or getattr(config.env, "id", None)


def lr(config: RunConfig) -> float:
    assert config.algo.lr.kind == "constant"
    return config.algo.lr.value


def seeds(config: RunConfig) -> range:
    return range(config.seed, config.seed + config.n_seeds)


def fixed(configs: list[RunConfig]) -> set[tuple[str, range, int]]:
    """What the runs of an experiment share: name, seeds, episodes."""
    return {(config.name, seeds(config), config.episodes) for config in configs}


def tuned(config: RunConfig) -> float:
    env = where(config)
    return TABLE[ROW[env] if isinstance(env, int) else str(env)][config.algo.name]


PAPER = {
    "fig2": (CONTROL, ["vdqn", "dqn"], 1000),
    "fig3": ([5, 10, 50, 100], ALL, 2000),
    "fig4": ([32], ["vdqn", "dqn"], 2000),
    "fig5": ([8, 32, 128], ALL, 2000),
    "scaling": ([5, 10, 20, 32, 50, 70, 100, 128, 200], ALL, 2000),
}


@pytest.mark.parametrize("name", PAPER)
def test_figures_of_the_paper(name: str, jobs: Callable[[str], list[RunConfig]]) -> None:
    envs, algos, episodes = PAPER[name]
    got = jobs(f"experiment={name}")
    assert [(where(c), c.algo.name) for c in got] == list(product(envs, algos))
    assert fixed(got) == {("paper", range(10), episodes)}
    assert [lr(c) for c in got] == [tuned(c) for c in got]


def test_runs_that_figures_share_are_the_same_run(jobs: Callable[[str], list[RunConfig]]) -> None:
    four, five = ({identity(c) for c in jobs(f"experiment={name}")} for name in ("fig4", "fig5"))
    assert four < five
    scaling = {identity(c) for c in jobs("experiment=scaling")}
    assert {identity(c) for c in jobs("experiment=fig3")} < scaling


@pytest.mark.parametrize(
    ("name", "envs", "episodes"), [("lr_chain", [10, 32, 100], 500), ("lr_control", CONTROL, 300)]
)
def test_choice_of_the_learning_rate(
    name: str, envs: list[object], episodes: int, jobs: Callable[[str], list[RunConfig]]
) -> None:
    got = jobs(f"experiment={name}")
    assert [(where(c), c.algo.name, lr(c)) for c in got] == list(product(envs, ALL, RATES))
    assert fixed(got) == {("lr", range(1000, 1003), episodes)}


def test_lambda(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=lambda")
    weights = [0.0002, 0.0006, 0.002, 0.006, 0.02, 0.06, 0.2, 0.6, 2.0]
    values = [(where(c), c.algo.lam.value) for c in got]  # type: ignore[union-attr]
    assert values == list(product([10, 50], weights))
    assert fixed(got) == {("lambda", range(5), 2000)}
    assert {c.algo.name for c in got} == {"vdqn"}
    assert [lr(c) for c in got] == [tuned(c) for c in got]


def settings(config: RunConfig, *names: str) -> tuple[object, ...]:
    return tuple(getattr(config.algo, name) for name in names)


def test_ablation_of_weight_samples(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=ablation_theta")
    assert {c.algo.name for c in got} == {"vdqn"}
    values = [(where(c), *settings(c, "theta_samples", "resample"), lr(c)) for c in got]
    assert values == list(product([10, 50], ["per_tuple", "per_batch"], ["step", "episode"], RATES))
    assert fixed(got) == {("ablation", range(5), 2000)}


def test_ablation_of_noisynet(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=ablation_noisynet")
    assert {c.algo.name for c in got} == {"noisynet"}
    pairs = [
        ("independent", "per_batch"), ("independent", "per_tuple"), ("factorised", "per_batch"),
    ]  # fmt: skip
    values = [(where(c), settings(c, "noise", "theta_samples"), lr(c)) for c in got]
    assert values == list(product([10, 50], pairs, RATES))
    assert {settings(c, "sigma_init") for c in got if c.algo.noise == "factorised"} == {(0.5,)}  # type: ignore[union-attr]
    assert fixed(got) == {("ablation", range(5), 2000)}


def test_ablation_of_time_limits(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=ablation_timeout")
    values = [(where(c), c.algo.name, c.env.bootstrap_on_timeout) for c in got]  # type: ignore[union-attr]
    assert values == list(product(CONTROL, ["vdqn", "dqn"], [True]))
    assert fixed(got) == {("ablation", range(5), 1000)}
    assert [lr(c) for c in got] == [tuned(c) for c in got]


def test_what_the_swept_environments_alone_have_can_be_overridden(
    jobs: Callable[[str], list[RunConfig]],
) -> None:
    got = jobs("experiment=ablation_timeout env.bootstrap_on_timeout=false")
    values = [(where(c), c.algo.name, c.env.bootstrap_on_timeout) for c in got]  # type: ignore[union-attr]
    assert values == list(product(CONTROL, ["vdqn", "dqn"], [False]))


def test_deep_sea(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=deep_sea")
    values = [(c.env.kind, c.env.n, c.algo.name, lr(c)) for c in got]  # type: ignore[union-attr]
    assert values == list(product(["deep_sea"], [5, 10], ALL, RATES))
    assert fixed(got) == {("deep_sea", range(10), 2000)}


def constant(config: RunConfig, name: str) -> float:
    schedule = getattr(config.algo, name)
    assert schedule.kind == "constant"
    return float(schedule.value)


def test_dqn_as_a_limit(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=map_is_dqn")
    values = [(*settings(c, "family", "sigma_init"), constant(c, "lam")) for c in got]
    assert values == [
        ("point", 0.017, 64.0),
        ("gaussian", 0.017, 0.02),
        ("gaussian", 0.0017, 0.0002),
        ("gaussian", 0.00017, 0.000002),
    ]
    other = jobs("experiment=map_is_dqn_reference")
    assert [(c.algo.name, constant(c, "epsilon")) for c in other] == [("dqn", 0.0)]
    for configs in (got, other):
        assert fixed(configs) == {("map_is_dqn", range(5), 2000)}
        assert {(where(c), lr(c), c.algo.batch_size) for c in configs} == {(10, 0.001, 64)}


def test_cold_posterior(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=cold_posterior")
    assert {(where(c), c.algo.name) for c in got} == {(50, "vdqn")}
    assert [constant(c, "lam") for c in got[:5]] == [0.0002, 0.002, 0.02, 0.2, 2.0]
    cooled = [c.algo.lam.model_dump() for c in got[5:]]  # type: ignore[union-attr]
    shared = {"start": 0.2, "duration": 500, "unit": "episodes"}
    assert cooled == [
        shared | {"kind": "linear", "end": 0.002},
        shared | {"kind": "exponential", "end": 0.002},
        shared | {"kind": "exponential", "end": 0.00002},
    ]
    assert fixed(got) == {("cold_posterior", range(5), 1000)}
    assert [lr(c) for c in got] == [tuned(c) for c in got]


def test_inference(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=inference")
    names = ("family", "estimator", "samples", "prior_sigma")
    kinds = [
        ("gaussian", "pathwise", 1, None),
        ("gaussian", "pathwise", 10, None),
        ("gaussian", "pathwise", 1, 1.0),
        ("gaussian", "score", 10, None),
        ("laplace", "pathwise", 1, None),
        ("laplace", "score", 10, None),
        ("low_rank", "pathwise", 1, None),
        ("low_rank", "score", 10, None),
    ]
    values = [(where(c), settings(c, *names), lr(c)) for c in got]
    assert values == list(product([10], kinds, RATES))
    assert fixed(got) == {("inference", range(5), 1000)}


def systems(configs: list[RunConfig]) -> set[str]:
    return {system_name(config.algo.model_dump()) for config in configs}


def system_rates() -> dict[str, dict[str, float]]:
    rates: dict[str, dict[str, float]] = yaml.safe_load((conf_dir() / "system_lr.yaml").read_text())
    return rates


def test_deep_exploration(jobs: Callable[[str], list[RunConfig]]) -> None:
    """Twelve systems, each at its rate, on chains and deep seas of growing size."""
    got = jobs("experiment=deep_exploration")
    assert fixed(got) == {("deep_exploration", range(10), 1000)}
    table = system_rates()
    sizes: dict[tuple[str, str], list[object]] = {}
    for config in got:
        system = system_name(config.algo.model_dump())
        sizes.setdefault((config.env.kind, system), []).append(where(config))
        assert lr(config) == table[config.env.kind][system]
    assert set(sizes) == {(kind, system) for kind in table for system in table[kind]}
    assert len(sizes) == 2 * len(systems(got)) == 2 * 12
    for (kind, _), ns in sizes.items():
        assert ns == ([10, 20, 50, 100, 200] if kind == "chain" else [10, 20, 30])


def test_the_rates_of_systems_have_one_budget(jobs: Callable[[str], list[RunConfig]]) -> None:
    """Both rates for each system, on seeds and sizes that deep_exploration does not have."""
    got = jobs("experiment=lr_systems")
    assert fixed(got) == {("lr_systems", range(1000, 1003), 1000)}
    rates = system_rates()  # test_deep_exploration says that they are of all systems compared
    tried = [(where(c), system_name(c.algo.model_dump()), lr(c)) for c in got]
    wanted = [*product([8], rates["deep_sea"], RATES), *product([32], rates["chain"], RATES)]
    assert sorted(tried, key=str) == sorted(wanted, key=str)


def test_every_experiment_is_tested_here() -> None:
    # That of Optuna is not composed without its plugin; see tests/launchers.
    others = {"lr_chain", "lr_control", "lambda", "optuna_chain", "deep_sea"}
    others |= {"lr_systems", "deep_exploration", "ablation_theta", "ablation_noisynet"}
    others |= {"ablation_timeout"}
    others |= {"map_is_dqn", "map_is_dqn_reference", "cold_posterior", "inference"}
    assert set(options("experiment")) == set(PAPER) | others


@pytest.mark.parametrize(
    "line",
    [
        "experiment=fig3 algo.lr=0.5",
        "-m algo.lr=0.5 experiment=fig2",
        "experiment=scaling algo.lr=0.5",
    ],
)
def test_a_rate_on_the_command_line_wins(line: str, jobs: Callable[[str], list[RunConfig]]) -> None:
    assert {lr(c) for c in jobs(line)} == {0.5}


def test_quick_variant_of_a_figure(jobs: Callable[[str], list[RunConfig]]) -> None:
    got = jobs("experiment=fig3 n_seeds=2 episodes=60 name=quick")
    assert len(got) == 12
    assert fixed(got) == {("quick", range(2), 60)}


def test_the_run_of_a_job_holds_the_number(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing replaces training here: config.yaml is read as it was written."""
    line = "experiment=fig4 algo=dqn n_seeds=1 episodes=1 algo.learning_starts=64 -q"
    assert main(line.split()) == 0
    (file,) = (empty / "runs" / "paper" / "chain-32" / "dqn").glob("*/config.yaml")
    rate = load_table(FILE)["chain-32"]["dqn"]
    assert f"lr:\n    kind: constant\n    value: {rate}\n" in file.read_text()


def test_a_job_in_a_process_of_its_own_knows_the_table(trained: list[RunConfig]) -> None:
    """As under a launcher that hands composed settings to a process that composed nothing."""
    OmegaConf.clear_resolver("paper_lr")
    algo = {"name": "dqn", "lr": "${paper_lr:${env},${algo.name}}"}
    env = {"kind": "chain", "n": 32}
    job(OmegaConf.create({"episodes": 1, "env": env, "algo": algo}))
    assert [lr(config) for config in trained] == [load_table(FILE)["chain-32"]["dqn"]]
