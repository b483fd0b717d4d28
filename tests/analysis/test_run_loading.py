"""Finding run folders and reading their logs, also while they are being written."""

import math
import re

import pandas as pd
import pytest
from run_folders import algo, chain, gym, write_chain_run, write_config, write_seed

from vdqn_runner.analysis.curves import env_order, env_title
from vdqn_runner.analysis.load import find_runs, load_episodes, unfinished
from vdqn_runner.errors import ConfigError, RunError


@pytest.fixture
def run_folder(tmp_path):
    folder = tmp_path / "runs" / "default" / "chain-5" / "vdqn" / "0a1b2c3d"
    write_config(folder, chain(5), algo("vdqn"), 3)
    write_seed(folder, 0, [0.1 + 0.2, 1 / 3, 5e-324], [(0, 1, 0), (1, 1, 0), (1, 1, 1)])
    write_seed(folder, 12, [math.pi, 11.0, -0.0], [(0, 1, 1), (0, 1, 1), (0, 1, 1)])
    return folder


def test_any_folder_above_or_at_a_run_finds_it_once(run_folder):
    top = run_folder.parents[3]
    for paths in ([top], [run_folder], [run_folder.parent, top, str(run_folder)]):
        (run,) = find_runs(paths)
        assert (run.algo, run.env, run.n, run.episodes) == ("vdqn", "chain-5", 5, 3)
        assert list(run.seeds) == [0, 12]


def test_values_are_read_bit_for_bit_with_the_config_attached(run_folder):
    frame = load_episodes(find_runs([run_folder])[0])
    assert frame["return"].tolist() == [0.1 + 0.2, 1 / 3, 5e-324, math.pi, 11.0, -0.0]
    assert math.copysign(1, frame["return"].iloc[-1]) == -1
    assert frame["seed"].tolist() == [0, 0, 0, 12, 12, 12]
    assert frame["visited_first"].tolist() == [0, 1, 1, 0, 0, 0]
    assert set(frame["env"]) == {"chain-5"} and set(frame["algo"]) == {"vdqn"}
    assert set(frame["n"]) == {5}


def test_environments_that_are_no_chain_have_no_n(tmp_path):
    write_config(tmp_path, gym("ALE/Pong-v5"), algo("dqn"), 1)
    write_seed(tmp_path, 0, [1.0])
    (run,) = find_runs([tmp_path])
    assert (run.env, run.n) == ("ALE/Pong-v5", None)
    assert load_episodes(run)["n"].isna().all()


@pytest.mark.parametrize("torn", ["12", "12,3", "12,3,0,20,1.5,5,1,0,1,1", '12,3,"'])
def test_a_torn_last_line_is_left_out(run_folder, torn):
    run = find_runs([run_folder])[0]
    before = load_episodes(run)
    with (run.seeds[12] / "episodes.csv").open("a") as stream:
        stream.write(torn)
    pd.testing.assert_frame_equal(load_episodes(run), before)


@pytest.mark.parametrize("content", [None, "", "seed,epi", "whole header"])
def test_seeds_that_have_not_started_have_no_rows(run_folder, content):
    run = find_runs([run_folder])[0]
    file = run.seeds[0] / "episodes.csv"
    header = file.read_text().splitlines(keepends=True)[0]
    if content is None:
        file.unlink()
    else:
        file.write_text(header if content == "whole header" else content)
    frame = load_episodes(run)
    assert set(frame["seed"]) == {12}
    assert frame["return"].dtype == "float64" and frame["episode"].dtype == "int64"
    assert "seed 0 has 0" in unfinished(run, frame) and "seed 12" not in unfinished(run, frame)


def test_a_run_without_any_episode_gives_an_empty_frame(tmp_path):
    write_chain_run(tmp_path, 5, "vdqn", seeds=2, episodes=0, tau=1)
    run = find_runs([tmp_path])[0]
    frame = load_episodes(run)
    assert frame.empty and "return" in frame and "env" in frame


def test_finished_runs_are_not_called_unfinished(run_folder):
    run = find_runs([run_folder])[0]
    assert unfinished(run, load_episodes(run)) == ""


def test_a_missing_path_is_told_with_its_closest_sibling(run_folder):
    top = run_folder.parents[3]
    (top / "other").mkdir()
    with pytest.raises(ConfigError, match="did you mean .*default") as error:
        find_runs([top / "defualt" / "chain-5"])
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match="does not exist$"):
        find_runs([top / "zzzzzz"])


def test_a_folder_without_runs_and_one_inside_a_run_are_refused(tmp_path, run_folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="empty: no run"):
        find_runs([run_folder, tmp_path / "empty"])
    with pytest.raises(ConfigError, match="part of the run .*0a1b2c3d"):
        find_runs([run_folder / "seed-00012"])
    with pytest.raises(ConfigError, match=r"config\.yaml: no run"):
        find_runs([run_folder / "config.yaml"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("return", "reward", "no column return"),
        ("12,1,0,10", "12,2,0,10", "row 1 is of episode 2, not 1"),
        ("11.0", "high", "could not convert string to float: 'high'"),
        ("11.0", "inf", "not finite"),
        ("11.0", "", "could not convert string to float: ''"),
        ("12,1,0,10", "12,1,0,ten", "not a number"),
        ("12,1,0,10", "12,1,0,", "not a number"),
        ("12,1,0,10", "12,1,0,10,1,1,1", "no table"),
    ],
)
def test_damaged_logs_are_named(run_folder, old, new, message):
    run = find_runs([run_folder])[0]
    file = run.seeds[12] / "episodes.csv"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(RunError, match=f"{re.escape(str(file))}.*{message}") as error:
        load_episodes(run)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["", "[1, 2]", "env: {kind: chain", "env: {kind: chain, n: 5}"])
def test_damaged_configs_are_named(run_folder, content):
    (run_folder / "config.yaml").write_text(content)
    with pytest.raises(RunError, match=r"config\.yaml") as error:
        find_runs([run_folder])
    assert "\n" not in str(error.value)


def test_environments_have_names_and_an_order(tmp_path):
    sea = {"kind": "deep_sea", "n": 10, "stochastic": False, "mapping_seed": 42, "gamma": 0.99}
    envs = [sea, sea | {"n": 5}, gym("Pendulum-v1"), gym("CartPole-v1"), chain(50), chain(8)]
    envs += [{"kind": "stochastic_chain", "n": 4, "slip": None, "gamma": 1.0}]
    for number, env in enumerate(envs):
        write_config(tmp_path / str(number), env, algo("dqn"), 1)
        visits = [(0, 0, 0)] if env["kind"] == "chain" else None
        write_seed(tmp_path / str(number), 0, [1.0], visits)
    runs = sorted(find_runs([tmp_path]), key=env_order)
    assert [run.env for run in runs] == [
        "chain-8", "chain-50", "CartPole-v1", "Pendulum-v1", "deep_sea-5", "deep_sea-10",
        "stochastic_chain-4",
    ]  # fmt: skip
    assert [env_title(run) for run in runs] == [
        "Chain, $N$ = 8", "Chain, $N$ = 50", "CartPole-v1", "Pendulum-v1", "Deep sea, $N$ = 5",
        "Deep sea, $N$ = 10", "Stochastic chain, $N$ = 4",
    ]  # fmt: skip
