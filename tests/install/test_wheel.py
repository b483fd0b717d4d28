"""What a user installs: the wheel, in an environment of its own and far from the checkout."""

import csv
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STEM = f"{PROJECT['name'].replace('-', '_')}-{PROJECT['version']}"


def succeed(command, cwd, environment=None):
    """Run ``command``, which must not fail; by default in this process's environment."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(source, target, kind):
    succeed([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", target], source)


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the wheel and of the source archive, both made from the checkout."""
    target = tmp_path_factory.mktemp("built")
    build(ROOT, target, "wheel")
    build(ROOT, target, "sdist")
    return target


@pytest.fixture(scope="module")
def wheel(built):
    return built / f"{STEM}-py3-none-any.whl"


def test_the_wheel_holds_the_package_the_settings_and_nothing_else(wheel):
    expected = {
        f"{STEM}.dist-info/{name}"
        for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    for folder, place in ((ROOT / "src", ""), (ROOT / "conf", "vdqn_runner/conf/")):
        expected |= {
            place + path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.is_file() and not {"__pycache__", ".mypy_cache"} & set(path.parts)
        }
    held = set(contents(wheel))
    assert held == expected
    assert held >= {
        f"vdqn_runner/{name}"
        for name in (
            "py.typed",
            "kernels.c",
            "conf/config.yaml",
            "conf/hydra/launcher/slurm.yaml",
            "runs/folder.py",
            "analysis/report/report.css",
        )
    }


def test_the_source_archive_gives_the_same_wheel(built, wheel, tmp_path):
    archive = built / f"{STEM}.tar.gz"
    # Python 3.11.0 to 3.11.3 has no filters yet.
    checks = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as source:
        source.extractall(tmp_path, **checks)
    unpacked = tmp_path / STEM
    for name in ("LICENSE", "Makefile", "requirements.lock", "tests/install/test_wheel.py"):
        assert (unpacked / name).read_bytes() == (ROOT / name).read_bytes()
    assert not (unpacked / "results").exists()
    build(unpacked, tmp_path, "wheel")
    assert contents(tmp_path / wheel.name) == contents(wheel)


def requirements(lines):
    """Lines as what they mean: equal whatever the order of specifiers and markers."""
    return {Requirement(line) for line in lines}


def test_the_metadata_is_what_pyproject_says(wheel):
    files = contents(wheel)
    said = message_from_bytes(files[f"{STEM}.dist-info/METADATA"])
    for header, key in [
        ("Name", "name"),
        ("Version", "version"),
        ("Summary", "description"),
        ("Requires-Python", "requires-python"),
        ("License-Expression", "license"),
    ]:
        assert said[header] == PROJECT[key]
    assert set(said.get_all("Classifier")) == set(PROJECT["classifiers"])
    extras = PROJECT["optional-dependencies"]
    assert set(said.get_all("Provides-Extra")) == set(extras)
    wanted = list(PROJECT["dependencies"]) + [
        f"{line}; extra == '{extra}'" for extra, lines in extras.items() for line in lines
    ]
    assert requirements(said.get_all("Requires-Dist")) == requirements(wanted)
    assert said.get_payload().startswith("# vdqn-runner")
    entry_points = files[f"{STEM}.dist-info/entry_points.txt"].decode().split()
    assert entry_points[0] == "[console_scripts]"
    assert dict(zip(entry_points[1::3], entry_points[3::3], strict=True)) == PROJECT["scripts"]


def test_the_installed_wheel_works_from_any_folder(wheel, tmp_path):
    """The dependencies are those installed already; the package is the wheel's alone."""
    home, work = tmp_path / "environment", tmp_path / "elsewhere"
    work.mkdir()
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    succeed([*pip, "install", "--quiet", "--no-deps", "--no-index", wheel], work)
    (site,) = home.glob("lib/python*/site-packages")
    # A .pth file adds these folders and does not read the .pth files in them, of which one is the
    # development install of this very package.
    folders = [path for path in sys.path if Path(path).name in {"site-packages", "dist-packages"}]
    (site / "dependencies.pth").write_text("\n".join(folders))
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}  # these may lead to the checkout
    bare = {key: value for key, value in os.environ.items() if key not in hidden}

    def call(name, *arguments):
        return succeed([home / "bin" / name, *arguments], work, bare)

    where = call("python", "-c", "import vdqn_runner; print(vdqn_runner.__file__)")
    assert Path(where.strip()) == site / "vdqn_runner" / "__init__.py"

    for name in PROJECT["scripts"]:
        assert name in call(name, "--help")
    assert call("vdqn-run", "--version").strip() == f"vdqn-run {PROJECT['version']}"
    call("vdqn-run", "env.n=5", "episodes=20", "n_seeds=2", "workers=2", "name=first", "-q")
    seeds = sorted(work.glob("runs/first/chain-5/vdqn/*/seed-*"))
    assert [seed.name for seed in seeds] == ["seed-00000", "seed-00001"]
    for seed in seeds:
        with (seed / "episodes.csv").open(newline="") as stream:
            assert len(list(csv.DictReader(stream))) == 20
        status = json.loads((seed / "status.json").read_text())
        assert status["state"] == "done"
        assert status["versions"]["vdqn-runner"] == PROJECT["version"]
        assert status["commit"] is None
    call("vdqn-plot", "runs/first", "-o", "figures")
    assert list((work / "figures").glob("*.png"))
    assert "chain-5" in call("vdqn-runs", "ls", "runs")
    assert sorted(path.name for path in work.iterdir()) == ["figures", "runs"]
