"""The tutorial and the page on results: every command is carried out, and prints what they show.

Numbers that are measured differ from machine to machine, so only where they stand is compared;
names of files and fingerprints of settings are compared as they are.
"""

import contextlib
import importlib
import io
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import groupby

import pytest
from documentation import ROOT, blocks

for package in ("plotly", "imageio"):
    pytest.importorskip(package)

# A number with its sign and separators, unless it is part of a word or of a file's name.
NUMBER = re.compile(r"(?<![\w/.-])-?\d+(?:,\d{3})*(?:\.\d*)?(?:e[-+]?\d+)?(?![\w/-])")


def skeleton(text):
    """What is left of an output where no numbers and no widths of columns count."""
    lines = []
    for line in text.strip().splitlines():
        line = re.sub(r" in \d+ processes$", "", line)
        line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d\d:\d\d(?= left)", "TIME", line)
        line = re.sub(r"\d+(?=/\d+ episodes, )", "#", line)
        line = NUMBER.sub("#", line).replace("[ ", "[").replace(" ]", "]")
        lines.append(" ".join(line.split()))
    # Training that takes longer reports more often.
    reports = re.compile(r"^\w+ on \S+: .* TIME left$")
    return [next(same) for _, same in groupby(lines, lambda one: reports.sub("", one) or "report")]


def commands(text):
    """(command, shown output) of each line that begins with ``$ `` in a block."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def carry_out(line):
    """What a command prints, both streams, in this process if it is one of the package's."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    name, *arguments = shlex.split(line)
    if name not in scripts:
        return subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout
    module, _, function = scripts[name].partition(":")
    main = getattr(importlib.import_module(module), function)
    printed = io.StringIO()
    before, sys.argv = sys.argv, [name, *arguments]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            main(arguments)
    finally:
        sys.argv = before
    return printed.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the tutorial is gone through, with one processor as far as workers are concerned."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    monkeypatch.setenv("MPLBACKEND", "agg")  # as vdqn-plot will, but not for other tests
    return tmp_path


# One test, since tests that share its runs may be dealt to several processes, which train them all.
def test_commands_and_examples_print_what_the_pages_show(folder):
    shown = [
        pair
        for language, _, text in blocks("tutorial.md")
        if language == "console"
        for pair in commands(text)
    ]
    assert len(shown) > 12
    for line, text in shown:
        assert skeleton(carry_out(line)) == skeleton(text), line
    for name in ("training_curves.png", "posterior.png"):
        assert (folder / "figures" / name).stat().st_size > 10_000
    assert (folder / "play.gif").read_bytes().startswith(b"GIF8")
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")
    found = blocks("reading-results.md")
    examples = [
        (code, after[2])
        for (language, _, code), after in zip(found, found[1:], strict=False)
        if language == "python" and after[0] == "text"
    ]
    assert len(examples) >= 4
    names = {}
    for code, text in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert skeleton(printed.getvalue()) == skeleton(text), code


def test_skeletons_tell_outputs_apart():
    report = "vdqn on chain-20: 300/300 episodes, return 8.431, 1,077 steps/s, 00:00 left"
    longer = report.replace("300/300", "120/300").replace("8.431", "11") + "\n" + report
    assert skeleton(report) == skeleton(longer)
    assert skeleton(report) != skeleton(report.replace("chain-20", "chain-30"))
    assert skeleton("runs/a/ca294a48: 3 of 3") != skeleton("runs/a/ca294a49: 3 of 3")
    assert skeleton("a  1.5  done") == skeleton("a 12    done") != skeleton("a 12 failed")
    assert skeleton("[1.3  -2.15]") == skeleton("[ 1  2]")
