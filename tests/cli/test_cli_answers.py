"""What the command says without running anything."""

from pathlib import Path

import pytest
import yaml
from processes import run_python

from vdqn_runner.cli import main
from vdqn_runner.config import RunConfig
from vdqn_runner.config.fields import known_names
from vdqn_runner.config.files import conf_dir
from vdqn_runner.config.schema import DISCRIMINATORS, GROUPS

CHOICES = [path for path in sorted(conf_dir().glob("*/*.yaml"))]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what the command prints where all is well."""
    assert main(list(arguments)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_every_settings_file_and_every_key(
    flag: str, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = answer(capsys, "epsiodes=3", flag)
    flat = " ".join(words.split())
    assert CHOICES
    for path in CHOICES:
        first = next(line for line in path.read_text().splitlines() if not line.startswith("# @"))
        assert f"{path.parent.name}={path.stem} {first.removeprefix('# ')}" in flat
    for name in known_names():
        if name not in GROUPS and name not in {f"{g}.{key}" for g, key in DISCRIMINATORS.items()}:
            assert f"\n  {name}" in words
    assert max(map(len, words.splitlines())) <= 100


def test_help_needs_neither_hydra_nor_any_number_library(empty: Path) -> None:
    program = (
        "import sys; from vdqn_runner.cli import main; main(['--help']); "
        "print(sorted({'torch', 'numpy', 'hydra', 'omegaconf', 'gymnasium'} & set(sys.modules)))"
    )
    done = run_python(program)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "[]"


def test_show_settings(
    empty: Path, trained: list[RunConfig], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = yaml.safe_load(answer(capsys, "--cfg", "job", "algo=dqn", "env.n=7"))
    assert (shown["algo"]["name"], shown["env"]["n"], shown["algo"]["epsilon"]) == ("dqn", 7, 0.1)
    assert trained == []
    assert list(empty.iterdir()) == []


def test_hydra_answers_its_own_flags(
    empty: Path, trained: list[RunConfig], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "env/chain" in answer(capsys, "--info", "defaults")
    assert "--multirun" in answer(capsys, "--hydra-help")
    assert "hydra_bash_completion" in answer(capsys, "-sc", "install=bash")
    assert trained == []
