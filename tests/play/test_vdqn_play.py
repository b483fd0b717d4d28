"""The command `vdqn-play`: films of trained agents doing what they did when evaluated."""

import csv
import subprocess
import sys

import imageio.v3 as iio
import imageio_ffmpeg
import numpy as np
import pytest
import torch

from vdqn_runner.analysis.pack import pack
from vdqn_runner.config import build
from vdqn_runner.envs.chain_strip import strip
from vdqn_runner.play import command
from vdqn_runner.run import execute

CHAIN = {"kind": "chain", "n": 6}
CARTPOLE = {"kind": "gym", "id": "CartPole-v1"}
ORANGE = (213, 94, 0)


def train(out, env, algo, **settings):
    learner = {"name": algo, "learning_starts": 40, "batch_size": 8, "network": {"hidden": [12]}}
    wanted = {"out": str(out), "workers": 1, "quiet": True, "env": env, "algo": learner | settings}
    return execute(build(wanted | {"episodes": 12, "n_seeds": 2, "seed": 4}))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    chain = {algo: train(out, CHAIN, algo) for algo in ("vdqn", "dqn", "noisynet")}
    return chain | {"cartpole": train(out, CARTPOLE, "vdqn")}


def evaluated(run, seed, policy):
    """(return, length) of each trial after training, as it was logged."""
    with (run / f"seed-{seed:05d}" / "evaluations.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["policy"] == policy]
    return [(float(row["return"]), int(row["length"])) for row in rows if row["episode"] == "12"]


def played(capsys, *arguments):
    code = command.main([*map(str, arguments)])
    caught = capsys.readouterr()
    return code, caught.out.splitlines(), caught.err


@pytest.mark.parametrize("name", ["vdqn", "dqn", "noisynet", "cartpole"])
@pytest.mark.parametrize("seed", [4, 5])
def test_the_film_shows_the_episodes_of_the_last_evaluation(runs, tmp_path, capsys, name, seed):
    film = tmp_path / "new" / "film.gif"
    code, lines, err = played(capsys, runs[name], "--seed", seed, "--episodes", 3, "-o", film)
    assert (code, err) == (0, "")
    expected = evaluated(runs[name], seed, "mean")[:3]
    assert lines[:-1] == [
        f"episode {trial}: return {value:g} in {length} steps"
        for trial, (value, length) in enumerate(expected)
    ]
    assert lines[-1] == str(film)


def test_the_one_run_below_a_folder_is_meant(runs, tmp_path, capsys):
    """As for the other commands that are about one run."""
    films = []
    for name, folder in enumerate((runs["dqn"], runs["dqn"].parent)):
        films.append(tmp_path / f"{name}.gif")
        code, lines, err = played(capsys, folder, "--seed", 5, "-o", films[-1])
        assert (code, err) == (0, "")
    assert films[0].read_bytes() == films[1].read_bytes()


def test_a_packed_run_has_no_policies(runs, tmp_path, capsys):
    (packed,) = pack([runs["dqn"]], tmp_path)
    code, lines, err = played(capsys, packed)
    assert (code, lines) == (2, [])
    assert err == f"vdqn-play: {packed}: is packed, which leaves policies behind\n"


def test_a_gif_shows_every_step(runs, tmp_path, capsys):
    film = tmp_path / "film.gif"
    code, lines, _ = played(capsys, runs["dqn"] / "seed-00005", "-o", film)
    assert code == 0 and "in 15 steps" in lines[0]
    pictures = iio.imread(film)
    assert pictures.shape == (16, 96, 640, 3)
    # The agent starts in state 2 of 6, in the second sixth of the strip.
    columns = np.flatnonzero((np.abs(pictures[0, 48].astype(int) - ORANGE) < 12).all(axis=1))
    assert columns.min() >= 120 and columns.max() < 221


def test_an_mp4(runs, tmp_path, capsys):
    film = tmp_path / "film.mp4"
    code, lines, err = played(capsys, runs["cartpole"], "--policy", "sample", "-o", film)
    assert (code, err) == (0, "")
    steps = int(lines[0].split()[-2])
    assert imageio_ffmpeg.count_frames_and_secs(film)[0] == steps + 1


@pytest.mark.parametrize(("n", "state"), [(3, 1), (6, 4), (100, 100), (10_000, 5000)])
def test_the_strip_shows_where_the_agent_is(n, state):
    picture = strip(n, state, "text")
    assert picture.shape == (96, 640, 3) and picture.dtype == np.uint8
    columns = np.flatnonzero((picture[28] == ORANGE).all(axis=1))
    middle = 20 + 600 * (state - 0.5) / n
    assert columns.min() - 2 <= middle <= columns.max() + 2
    assert len(columns) >= max(3, 600 // n - 1)


def test_refusals(runs, tmp_path, capsys):
    run = runs["dqn"]
    for arguments, words in (
        ((run, "--seed", 7), "--seed 7: the run has 4, 5"),
        ((run, "--policy", "sample"), "--policy sample: dqn has only mean"),
        ((run, "-o", "film.avi"), "--output film.avi: must end in .gif or .mp4"),
        ((run, "--fps", 0), "--fps 0: must be at least 1"),
        ((tmp_path,), f"{tmp_path}: no run (a folder with config.yaml and seed-* folders"),
        ((run.parents[2],), f"{run.parents[2]}: holds 4 runs, name one of them: "),
        ((tmp_path / "seed-00001",), "is no folder of a seed"),
    ):
        code, lines, err = played(capsys, *arguments)
        assert (code, lines) == (2, []) and err.count("\n") == 1 and words in err


@pytest.mark.parametrize(
    ("place", "writable", "words"),
    [
        ("there.gif", True, "there.gif: is a folder; name a file in it"),
        ("file/film.gif", True, "film.gif: its folder cannot be made: File exists"),
        ("file/new/film.gif", True, "film.gif: its folder cannot be made: Not a directory"),
        ("film.gif", False, "film.gif: its folder cannot be written to"),
    ],
)
def test_no_episode_is_played_for_a_place_that_takes_no_film(
    runs, tmp_path, capsys, monkeypatch, place, writable, words
):
    (tmp_path / "there.gif").mkdir()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("os.access", lambda path, mode: writable)
    code, lines, err = played(capsys, runs["dqn"], "-o", tmp_path / place)
    assert (code, lines) == (2, []) and err.count("\n") == 1
    assert f"--output {tmp_path}" in err and words in err


def test_files_that_are_not_there_or_not_a_policy(tmp_path, capsys):
    run = train(tmp_path, CHAIN, "dqn")
    policy = run / "seed-00004" / "policy.pt"
    for content, code, words in (
        (b"rubbish", 1, "cannot be read"),
        (None, 2, "is not there; a seed has it when its training is done"),
    ):
        policy.unlink()
        if content:
            policy.write_bytes(content)
        found, _, err = played(capsys, run)
        assert found == code and err.count("\n") == 1 and words in err
    torch.save({"theta": {"layer1.weight": torch.zeros(2, 3)}}, policy)
    code, _, err = played(capsys, run)
    assert code == 1 and "does not hold the parameters of this run" in err


def test_a_wrong_request_imports_no_torch(tmp_path):
    script = (
        "import sys; from vdqn_runner.play.command import main; code = main(sys.argv[1:]);"
        "assert not {'torch', 'gymnasium', 'imageio'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True)
    assert done.returncode == 2
