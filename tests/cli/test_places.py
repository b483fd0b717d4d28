"""Whatever a request is called, it writes nothing outside of ``out``."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vdqn_runner.cli import main
from vdqn_runner.config import build
from vdqn_runner.errors import ConfigError
from vdqn_runner.prepare import check_place
from vdqn_runner.runs.folder import run_path

QUICK = ["-q", "env.n=3", "episodes=1", "n_seeds=1", "algo.network.hidden=[4]"]


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@given(name=st.text(max_size=12), env_id=st.text(max_size=30), out=st.text(max_size=20))
def test_no_name_leaves_out(name: str, env_id: str, out: str) -> None:
    request = {
        "episodes": 1,
        "name": name,
        "out": out,
        "env": {"kind": "chain", "n": 3},
        "algo": {"name": "dqn"},
    }
    try:
        config = build(request)
    except ConfigError:
        return
    path = run_path(config, env_id, "0123abcd")
    assert ".." not in path.parts
    assert path.is_relative_to(out)
    assert len(path.relative_to(out).parts) == 4
    assert os.path.normpath(path) == str(path)


@pytest.mark.parametrize(
    "line",
    [
        ["name=../x"],
        ["name=/etc"],
        ["name=a/b"],
        ["name=.."],
        ["name='\u2025'"],  # a character that normalises to two dots
        ["name='a\uff0fb'"],  # and one that does to a slash
        ["name='x\u202e'"],
        [f"name={'x' * 101}"],
        ["out=.."],
        ["out=a/../../b"],
        ["out='~/x'"],
        ["out=' x'"],
        ["out='a\tb'"],
        [f"out={'x' * 300}"],
        ["hydra.run.dir=elsewhere"],
        ["hydra.output_subdir=elsewhere"],
        ["hydra.job.chdir=true"],
        ["hydra/job_logging=default"],
        ["-m", "hydra.sweep.dir=elsewhere", "seed=0,1"],
        ["-m", "hydra.sweep.dir=runs/.sweeps/../../elsewhere", "seed=0,1"],
        ["-m", "hydra.sweep.subdir=elsewhere", "seed=0,1"],
        ["-m", "out=a,b"],
    ],
    ids=lambda line: line[-1][:30].encode("unicode_escape").decode(),
)
def test_a_place_outside_is_refused(
    line: list[str], empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*line, *QUICK]) == 2
    assert capsys.readouterr().err[:-1].isprintable()
    assert list(empty.iterdir()) == []


def test_a_slash_in_an_environments_id_makes_no_folder(empty: Path) -> None:
    config = build(
        {"episodes": 1, "env": {"kind": "chain", "n": 3}, "algo": {"name": "dqn"}, "name": "x"}
    )
    assert run_path(config, "ALE/Breakout-v5", "0") == Path("runs/x/ALE-Breakout-v5/dqn/0")
    assert run_path(config, "/../../etc", "0").parts[2] == "etc"


def test_a_run_and_a_sweep_write_below_out_alone(empty: Path) -> None:
    """``out`` may be a link, and then what it leads to is written."""
    (empty / "elsewhere").mkdir()
    (empty / "link").symlink_to("elsewhere")
    assert main([*QUICK, "out=link"]) == 0
    assert main(["-m", *QUICK, "out=link", "seed=1,2"]) == 0
    assert {path.name for path in empty.iterdir()} == {"elsewhere", "link"}
    written = tree(empty / "elsewhere")
    assert {name.split("/")[0] for name in written} == {"default", ".sweeps"}


def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    for out in ("file", "dangling"):
        for place in (tmp_path / out, tmp_path / out / "a" / "b"):
            with pytest.raises(ConfigError, match=f"{out} is in the way"):
                check_place(place)
    check_place(tmp_path / "new" / "folder")
    check_place(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 300))
def test_a_place_is_refused_just_when_it_cannot_be_made(tmp_path: Path, length: int) -> None:
    folder = tmp_path / ("x" * length)
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        with pytest.raises(ConfigError, match="cannot be made"):
            check_place(folder / "below")
    else:
        check_place(folder / "below")
