"""Paths of runs, and the file that says whose folder it is."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.runs.folder import create_run, run_path, safe_name, seed_path

MAPPING = {
    "env": {"kind": "chain", "n": 100, "gamma": 1.0},
    "algo": {"lr": 1e-05, "hidden": [100, 100], "noise": None, "on": True, "text": "1e-3"},
    "episodes": 2000,
}


def _config(out: str = "runs", name: str = "default", algo: str = "vdqn"):
    return SimpleNamespace(out=out, name=name, algo=SimpleNamespace(name=algo))


def test_the_path_is_the_identity():
    run = run_path(_config(), "chain-100", "0123abcd")
    assert run == Path("runs/default/chain-100/vdqn/0123abcd")
    assert seed_path(run, 3) == run / "seed-00003"
    assert seed_path(run, 1234567) == run / "seed-1234567"
    other = run_path(_config("/data", "figure-1", "dqn"), "ALE/Pong-v5", "0")
    assert other == Path("/data/figure-1/ALE-Pong-v5/dqn/0")


def test_labels_become_file_names():
    assert safe_name("CartPole-v1") == "CartPole-v1"
    assert safe_name("ALE/Breakout-v5") == "ALE-Breakout-v5"
    assert safe_name("my_module:Env v0") == "my_module-Env-v0"
    assert safe_name("../..") == "unnamed"


@given(label=st.text(), out=st.sampled_from(["runs", "/a/b", "../x", "."]))
def test_no_label_leaves_the_output_folder(label, out):
    path = run_path(_config(out), label, "0123abcd")
    assert os.path.normpath(path).startswith(os.path.normpath(Path(out, "default")))
    assert len(path.relative_to(out).parts) == 4
    assert len(os.fsencode(path.parts[-3])) <= 100


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "/etc", "a/b", "a\0b", ".hidden", "x" * 101]
)
def test_a_name_that_is_no_folder_name_is_refused(name):
    with pytest.raises(ConfigError, match="^name=.*one folder name"):
        run_path(_config(name=name), "chain-5", "0")


def test_the_config_is_written_once_and_read_back_exactly(tmp_path):
    run = tmp_path / "a" / "b"
    create_run(run, MAPPING)
    path = run / "config.yaml"
    assert yaml.safe_load(path.read_text()) == MAPPING
    before = path.stat()
    create_run(run, dict(reversed(MAPPING.items())))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [file.name for file in run.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    "change", [{"episodes": 2001}, {"episodes": 2000.0}, {"more": 1}, {"env": {"kind": "chain"}}]
)
def test_other_settings_are_refused_and_left_alone(tmp_path, change):
    create_run(tmp_path, MAPPING | change)
    before = (tmp_path / "config.yaml").read_bytes()
    with pytest.raises(RunError, match=r"config\.yaml was changed"):
        create_run(tmp_path, MAPPING)
    assert (tmp_path / "config.yaml").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"a: [1", b"\xff\xfe\xff", b"!!python/name:os.system"])
def test_a_broken_config_is_one_line(tmp_path, content):
    (tmp_path / "config.yaml").write_bytes(content)
    with pytest.raises(RunError, match=r"config\.yaml (was changed|cannot be read)") as caught:
        create_run(tmp_path, MAPPING)
    assert "\n" not in str(caught.value)


def test_many_at_once_agree(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            list(pool.map(lambda _, n=number: create_run(tmp_path / str(n), MAPPING), range(8)))
            assert [file.name for file in (tmp_path / str(number)).iterdir()] == ["config.yaml"]


def test_a_file_in_the_way_is_one_line(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(RunError, match="cannot be written: Not a directory"):
        create_run(tmp_path / "runs" / "x", MAPPING)
