"""The harness: turns, timers, requests, and a small measurement with what it writes."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scripts.bench import parts, report, roofline, run, sampler, studies
from scripts.bench.ours import lockstep, step
from scripts.bench.parts import Clockwork
from scripts.bench.peers import MODULES
from scripts.bench.rounds import Effort, measure
from scripts.bench.work import Contestant
from vdqn_runner import kernels
from vdqn_runner.errors import RunError
from vdqn_runner.normals import NormalStreams
from vdqn_runner.streams import Purpose

ROOT = Path(__file__).parents[2]

TINY = Effort(repeats=3, seconds=0.001, warm_up=520)


def test_contestants_take_turns_and_the_files_are_written(tmp_path, monkeypatch):
    tasks = [
        Contestant("ours", "chain-5", "vdqn", n_seeds=2, width=8),
        Contestant("published", "chain-5", "vdqn", width=8),
    ]
    monkeypatch.setattr(studies, "speed", lambda quick, without: [tasks])
    monkeypatch.setattr(run, "_effort", lambda arguments: TINY)
    assert run.main(["--without", "sb3,sbx", "--only", "speed", "--out", str(tmp_path)]) == 0
    bench = pd.read_csv(tmp_path / "bench.csv")
    names = [task.name for task in tasks]
    turns = [list(group["contestant"]) for _, group in bench.groupby("repeat")]
    assert turns == [names, names[::-1], names]
    assert (bench["seconds"] > 0).all() and (bench["peak_mib"] > 50).all()
    assert (bench["cpu_seconds"] > 0).all()
    per_second = bench["steps"] * bench["n_seeds"] / bench["seconds"]
    np.testing.assert_allclose(bench["seed_steps_per_second"], per_second)
    np.testing.assert_allclose(bench["us_per_step_and_seed"], 1e6 / per_second)
    text = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert all(name in text for name in names)
    assert (tmp_path / "speed.png").stat().st_size > 1000
    assert (tmp_path / "speed.pdf").read_bytes().startswith(b"%PDF")


def test_a_contestant_that_fails_is_named_with_its_last_words():
    with pytest.raises(RunError, match="dqn n_seeds=1 on Nowhere-v0 ended early and said: .*Nowh"):
        measure("speed", [Contestant("ours", "Nowhere-v0", "dqn")], TINY)


@pytest.mark.parametrize("peer", sorted(MODULES))
def test_a_peer_takes_the_steps_it_is_asked_for(peer):
    pytest.importorskip(MODULES[peer])
    rows = measure("speed", [Contestant(peer, "chain-5", "dqn", width=8)], TINY)
    assert [row["steps"] for row in rows] == [100, 100, 100]


def test_a_missing_peer_is_refused_before_anything_is_made(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "sbx" else name)
    assert run.main(["--out", str(tmp_path / "new")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'.[bench]'" in line and "--without sbx" in line
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--without", "sb4"], "'sb4' is not one of sb3, sbx, published; did you mean sb3?"),
        (["--only", "sped"], "did you mean speed?"),
        (["--only", "startup", "--repeats", "0"], "--repeats 0"),
        (["--only", "startup", "--cpu", "9999"], "--cpu 9999"),
    ],
)
def test_a_wrong_request_ends_with_one_line(arguments, words, tmp_path, capsys):
    assert run.main([*arguments, "--out", str(tmp_path / "new")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "new").exists()


def test_filling_the_replay_is_what_the_loop_would_have_stored():
    task = Contestant("ours", "chain-5", "dqn", n_seeds=3, width=8, stored=2_500)
    batch = lockstep(task)
    assert len(batch.replay) == 2_500
    picks = np.random.default_rng(0).random((3, 400))
    drawn = batch.replay.sample(picks, batch.step, batch.episodes)
    moved = drawn.next_obs.astype(int) - drawn.obs.astype(int)
    ends = np.isin(drawn.obs, (1, 5))
    assert (moved[ends] == 0).all()
    np.testing.assert_array_equal(moved[~ends], np.where(drawn.action == 1, 1, -1)[~ends])
    for _ in range(20):
        step(batch)
    assert batch.algo.learner.updates == 20


def test_timers_count_a_moment_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(parts.time, "perf_counter", lambda: now[0])
    clockwork = Clockwork()

    def spend(seconds, *inner):
        now[0] += seconds
        for function in inner:
            function()

    noise = clockwork.timed(lambda: spend(2.0), "noise")
    first = clockwork.timed(lambda: spend(3.0, noise), "forward")
    second = clockwork.timed(lambda: spend(5.0), "forward")
    act = clockwork.timed(lambda: spend(7.0, noise, second), "act")
    kernel = clockwork.counted(lambda: spend(11.0), "vr_update")
    learn = clockwork.timed(lambda: spend(1.0, first, second, kernel), "other")
    act()
    learn()
    assert clockwork.seconds == {
        "act": 14.0,
        "noise": 2.0,
        "forward target": 3.0,
        "forward online": 5.0,
        "fused update": 11.0,
        "other": 1.0,
    }
    assert clockwork.kernels == {"vr_update": [1, 11.0]}


def test_timers_see_a_real_step_and_leave_no_trace():
    clockwork = Clockwork()
    with parts.engine_timed(clockwork):
        batch = lockstep(Contestant("ours", "chain-5", "vdqn", n_seeds=2, width=8))
        before = {name: getattr(type(batch), name) for name in ("learn", "_batch")}
        with parts.batch_timed(batch, clockwork):
            for _ in range(505):
                step(batch)
    assert {"act", "env step", "replay add", "replay sample", "other"} <= set(clockwork.seconds)
    assert set(clockwork.seconds) <= {*parts.PARTS}
    assert {name: getattr(type(batch), name) for name in before} == before
    clockwork.reset()
    step(batch)
    assert not clockwork.seconds


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        (("normals_row", "targets", "vr_update"), "noise"),
        (("product", "gaussian_hidden", "targets", "vr_update"), "forward target"),
        (("product", "gaussian_hidden", "vr_update"), "forward online"),
        (("product", "gaussian_backward", "vr_update"), "backward"),
        (("second_gradient", "descend", "vr_update"), "Adam + sigma"),
        (("vr_update",), "fused update"),
    ],
)
def test_samples_are_sorted_by_what_their_callers_do(stack, part):
    assert sampler.part_of(stack) == part


def test_numbers_are_shown_with_three_digits():
    assert [report.number(x) for x in (12345.6, 123.4, 1.234, 0.01234, 0.0)] == [
        "12,346", "123", "1.23", "0.0123", "0",
    ]  # fmt: skip


def test_a_ratio_is_taken_within_a_repeat():
    slow = pd.DataFrame({"repeat": [0, 1], report.COST: [10.0, 30.0]})
    fast = pd.DataFrame({"repeat": [1, 0], report.COST: [10.0, 5.0]})
    assert sorted(report.ratio(fast, slow)) == [2.0, 3.0]


def test_a_fused_update_is_taken_apart_in_proportion_to_samples(monkeypatch):
    timed = {**dict.fromkeys(parts.PARTS, 0.0), "noise": 1.0, "fused update": 10.0}
    answers = {
        "measure": {"parts": timed, "row": {}},
        "sampled_parts": {"noise": 1, "backward": 3},
    }
    monkeypatch.setattr(roofline, "_process", lambda what, *rest: answers[what])
    case = roofline.run_case(Contestant("ours", "chain-5", "vdqn"), TINY)
    assert {part: us for part, us in case["parts"].items() if us} == {
        "noise": 3.5,
        "backward": 7.5,
    }


def _named_normals():
    """Return the samples that fell into the kernel of normals, and all."""
    streams = NormalStreams.of([0], Purpose.ACTING)

    def work():
        end = time.process_time() + 0.3
        while time.process_time() < end:
            streams.draw(200_000)

    stacks = sampler.sample(work)
    if stacks is None:
        pytest.skip("no addr2line here")
    named = sum(n for stack, n in stacks.items() if any("normals" in name for name in stack))
    return named, sum(stacks.values())


def test_the_sampler_names_the_kernel_that_runs():
    if not kernels.available():
        pytest.skip("no compiled kernels here")
    named, of = _named_normals()
    assert named > 5
    assert named > 0.9 * of


def test_the_sampler_names_kernels_whose_file_another_process_replaced(tmp_path):
    if not kernels.available():
        pytest.skip("no compiled kernels here")
    program = """
import os, pathlib, shutil, sys
from tests.bench.test_measuring import _named_normals
from vdqn_runner import kernels
assert kernels.available()
[built] = pathlib.Path(sys.argv[1]).glob("vdqn-runner/kernels-*.so")
shutil.copy(built, f"{built}.new")
os.replace(f"{built}.new", built)
print(*_named_normals())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if "Skipped" in done.stderr:
        pytest.skip("no addr2line here")
    named, of = map(int, done.stdout.split())
    assert named > 5
    assert named > 0.9 * of


@pytest.mark.parametrize(("cpu", "warned"), [(0.99, False), (0.5, True)])
def test_a_shared_core_is_told(cpu, warned):
    text = report._busy(pd.DataFrame({"seconds": [1.0, 1.0], "cpu_seconds": [cpu, cpu]}))
    assert f"{cpu:.0%} in the median" in text
    assert ("do not quote" in text) == warned
