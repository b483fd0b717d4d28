"""The command beside each figure, as it stands on the page, makes the figure from nothing."""

import html
import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from vdqn_runner import cli
from vdqn_runner.analysis.load import find_runs
from vdqn_runner.analysis.pack import main as pack
from vdqn_runner.analysis.paper import command
from vdqn_runner.analysis.paper.making import making
from vdqn_runner.analysis.paper.product import Product
from vdqn_runner.analysis.paper.selection import Loaded
from vdqn_runner.analysis.paper.specs import specs

ROOT = Path(__file__).parents[2]
TINY = ["name=tiny", "n_seeds=1", "episodes=10"]


def carry_out(line):
    """Carry out the package's commands that a line joins by &&."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    for part in line.split(" && "):
        name, *arguments = shlex.split(part)
        module, _, function = scripts[name].partition(":")
        assert getattr(importlib.import_module(module), function)(arguments) == 0, part


def made_by(page, figure):
    text = page.read_text(encoding="utf-8")
    section = text[text.index(f'<section id="{figure}">') :]
    return html.unescape(re.search(r"Made by</p><p><code>(.*?)</code>", section)[1])


@pytest.mark.parametrize("folder", ["runs", "runs of mine", "kept"])
def test_the_command_beside_a_figure_makes_it(folder, tmp_path, monkeypatch):
    first, again = tmp_path / "first", tmp_path / "again"
    first.mkdir()
    again.mkdir()
    monkeypatch.chdir(first)
    out = "runs" if folder == "kept" else folder
    assert cli.main(["experiment=fig4", *TINY, f"out={out}"]) == 0
    if folder == "kept":
        assert pack(["runs/tiny", "-o", folder]) == 0
    assert command.main([folder, "-o", "figures"]) == 0
    line = made_by(first / "figures" / "index.html", "figure4")
    assert ("vdqn-pack" in line) == (folder == "kept")
    monkeypatch.chdir(again)
    carry_out(line)
    for name in ("figure4.csv", "index.html"):
        assert (again / "figures" / name).read_bytes() == (first / "figures" / name).read_bytes()


def product(path):
    return Product(None, "", runs=[Loaded(run) for run in find_runs([path])])


def test_a_figure_of_several_experiments_needs_all_of_them():
    (spec,) = (spec for spec in specs("chain-50") if spec.name == "ablation_timeout")
    kept = ROOT / "results" / "runs"
    found = [product(kept / name / "CartPole-v0").runs for name in ("ablation", "paper")]
    line = making(spec, Product(None, "", runs=[*found[0], *found[1]]), "draw")
    assert line == (
        "vdqn-run experiment=fig2 && vdqn-run experiment=ablation_timeout"
        f" && vdqn-pack runs/ablation runs/paper -o {kept} && draw"
    )


def test_a_figure_without_runs_is_only_drawn():
    first = specs("chain-50")[0]
    assert making(first, Product(None, ""), "draw") == "draw"


def test_the_folder_of_runs_is_found_from_within(monkeypatch):
    (spec,) = (spec for spec in specs("chain-50") if spec.name == "figure4")
    kept = ROOT / "results" / "runs"
    monkeypatch.chdir(kept / "paper")
    line = making(spec, product("chain-32"), "draw")
    assert f"vdqn-pack runs/paper -o {kept} &&" in line
