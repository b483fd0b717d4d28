"""What runs are called in legends."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from run_folders import algo, chain, gym

from vdqn_runner.analysis.labels import labels, legend_order
from vdqn_runner.analysis.load import Run


def run(path="a", env=None, algo_config=None, **more):
    config = {"episodes": 100, "env": env or chain(5), "algo": algo_config or algo("vdqn"), **more}
    return Run(Path("/runs") / path, config, {})


def linear(end):
    return {"kind": "linear", "start": 1.0, "end": end, "duration": 500, "unit": "steps"}


def test_one_run_of_each_algorithm_is_called_by_its_name():
    runs = [run(env=e, algo_config=algo(a)) for e in (chain(5), gym("X-v0")) for a in ("dqn", "q")]
    assert labels(runs) == ["DQN", "q", "DQN", "q"]


def test_only_differing_keys_are_shown():
    runs = [run("a", algo_config=algo("vdqn", lr)) for lr in (0.01, 0.001)]
    assert labels(runs) == ["VDQN lr=0.01", "VDQN lr=0.001"]
    assert labels([*runs, run("b", algo_config=algo("dqn", 0.5))])[2] == "DQN"


def test_a_key_is_shown_in_all_environments_or_in_none():
    first, second = (run(algo_config=algo("vdqn", lr)) for lr in (0.01, 0.001))
    elsewhere = run(env=chain(9), algo_config=algo("vdqn", 0.01), episodes=7)
    assert labels([first, elsewhere]) == ["VDQN", "VDQN"]
    assert labels([first, second, elsewhere])[2] == "VDQN lr=0.01"


def test_schedules_lists_flags_and_absent_keys():
    base = {"name": "dqn", "epsilon": linear(0.1), "network": {"hidden": [100, 100]}}
    runs = [
        run("a", algo_config=base),
        run("b", algo_config=base | {"epsilon": linear(0.01), "network": {"hidden": [64]}}),
        run("c", algo_config=base | {"epsilon": 0.1, "dueling": True}),
    ]
    assert labels(runs) == [
        "DQN epsilon=linear(1.0,0.1,500,steps) hidden=(100,100)",
        "DQN epsilon=linear(1.0,0.01,500,steps) hidden=(64)",
        "DQN dueling=true epsilon=0.1 hidden=(100,100)",
    ]


def test_a_run_is_not_called_by_settings_that_it_lacks():
    """Those of another environment, and one that is none (null), which is a value."""
    on_gym = [run(env={**gym("X-v0"), "max_episode_steps": limit}) for limit in (None, 50)]
    on_chain = [run(env=chain(5), episodes=episodes) for episodes in (10, 20)]
    assert labels([*on_gym, *on_chain]) == [
        "VDQN max_episode_steps=none episodes=100",
        "VDQN max_episode_steps=50 episodes=100",
        "VDQN episodes=10",
        "VDQN episodes=20",
    ]


def test_a_bare_number_and_a_constant_schedule_are_the_same():
    runs = [run("a/x"), run("b/x", algo_config={**algo("vdqn"), "lr": 0.001})]
    assert labels(runs) == ["VDQN [a]", "VDQN [b]"]


def test_keys_with_the_same_last_part_are_written_in_full():
    runs = [
        run("a", env={**chain(5), "eps": x}, algo_config={"name": "dqn", "optimizer": {"eps": x}})
        for x in (1, 2)
    ]
    assert labels(runs)[0] == "DQN algo.optimizer.eps=1 env.eps=1"


def test_equal_configs_are_told_apart_by_the_part_of_the_path_that_differs():
    runs = [run(f"{name}/chain-5/vdqn/0a1b") for name in ("first", "second")]
    assert labels(runs) == ["VDQN [first]", "VDQN [second]"]


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 1]), st.integers(1, 3)), max_size=6))
def test_labels_tell_runs_of_one_environment_apart(settings_of_runs):
    runs = [
        run(f"{i}/vdqn", algo_config={"name": "vdqn", "lr": lr, "deep": {"k": k}})
        for i, (lr, k) in enumerate(settings_of_runs)
    ]
    assert len(set(labels(runs))) == len(runs)


def test_legends_follow_the_paper_then_names_then_numbers():
    entries = [
        ("zen", "zen"), ("noisynet", "NoisyNet"), ("dqn", "DQN"), ("alpha", "alpha"),
        ("vdqn", "VDQN lr=0.01"), ("vdqn", "VDQN lr=0.001"), ("vdqn", "VDQN lr=1e-05"),
    ]  # fmt: skip
    assert [label for _, label in sorted(entries, key=lambda e: legend_order(*e))] == [
        "VDQN lr=1e-05", "VDQN lr=0.001", "VDQN lr=0.01", "DQN", "NoisyNet", "alpha", "zen",
    ]  # fmt: skip
