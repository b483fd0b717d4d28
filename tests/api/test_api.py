"""The functions for notebooks do what the command does, and give its logs as tables."""

import subprocess
import sys

import pandas as pd
import pytest

from vdqn_runner.api import load_runs, settings, train
from vdqn_runner.errors import ConfigError

SMALL = ("env.n=5", "algo.network.hidden=[8]", "algo.learning_starts=30", "algo.batch_size=4")


def top(tmp_path, **more):
    return {"out": tmp_path / "my runs", "episodes": 20, "workers": 1, "quiet": True} | more


def test_training_gives_the_rows_of_the_log(tmp_path):
    found = train("algo=dqn", *SMALL, **top(tmp_path, n_seeds=2))
    assert found.groupby("seed").size().to_dict() == {0: 20, 1: 20}
    (folder,) = (tmp_path / "my runs").glob("default/chain-5/dqn/*")
    for seed in (0, 1):
        logged = pd.read_csv(folder / f"seed-{seed:05d}" / "episodes.csv")
        mine = found[found["seed"] == seed].reset_index(drop=True)[list(logged.columns)]
        pd.testing.assert_frame_equal(mine, logged, check_dtype=False)
    assert set(found["run"]) == {str(folder)} and set(found["label"]) == {"DQN"}
    # More seeds train only those that are missing, and fewer give fewer rows.
    assert set(train("algo=dqn", *SMALL, **top(tmp_path, n_seeds=3))["seed"]) == {0, 1, 2}
    assert set(train("algo=dqn", *SMALL, **top(tmp_path, n_seeds=1, seed=1))["seed"]) == {1}


def test_runs_are_told_apart_by_what_differs(tmp_path):
    for lr in (0.01, 0.001):
        train("algo=vdqn", f"algo.lr={lr}", *SMALL, **top(tmp_path, n_seeds=1))
    for table, rows in (("episodes", 20), ("updates", 2), ("evaluations", 10)):
        found = load_runs(tmp_path, table)
        assert found.groupby("label").size().to_dict() == {
            "VDQN lr=0.001": rows,
            "VDQN lr=0.01": rows,
        }
        assert len(load_runs(str(found["run"][0]), table)) == rows


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (0.25, 0.25),
        ({"kind": "linear", "start": 1.0, "end": 0.1, "duration": 50}, 50),
        ({"kind": "piecewise", "points": [[0, 1.0], [10, 0.5]]}, ((0, 1.0), (10, 0.5))),
    ],
)
def test_values_keep_their_types(value, found):
    config = settings("algo=dqn", **{"algo.epsilon": value})
    epsilon = config.algo.epsilon
    assert found in (getattr(epsilon, name, None) for name in ("value", "duration", "points"))


@pytest.mark.parametrize(
    "out", ["a b", "it's", "a\\b", "a\\'b", "a\\\\'", "a\\", "a,b", "{a}", "a=b", "$x"]
)
def test_any_text_is_taken_as_it_is(out):
    assert settings(out=out).out == out
    assert settings(quiet=True).quiet is True


def test_refusals(tmp_path):
    for overrides, values, words in (
        (("env.m=5",), {}, "env.m=5: unknown key"),
        ((), {"episode": 5}, "episode=5: unknown key; did you mean episodes?"),
        (("-m",), {}, "-m: is a flag"),
        (("algo=dqn,vdqn",), {}, "several values are a sweep"),
        (("experiment=fig3",), {}, "experiment=fig3: is a sweep of several runs; use vdqn-run -m"),
    ):
        with pytest.raises(ConfigError) as caught:
            settings(*overrides, **values)
        assert words in str(caught.value)
    with pytest.raises(ConfigError, match="table='rows': must be one of episodes, updates"):
        load_runs(tmp_path, "rows")
    with pytest.raises(ConfigError, match="no run"):
        load_runs(tmp_path)


def test_reading_needs_no_torch(tmp_path):
    script = (
        "import sys; from vdqn_runner.api import load_runs, settings\n"
        "try: load_runs(sys.argv[1])\n"
        "except Exception as error: print(error)\n"
        "settings('env.n=9')\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
