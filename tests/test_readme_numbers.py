"""Every table of measured numbers in the README is what its command makes of results/ now."""

import re
import shlex
from pathlib import Path

import pytest

from vdqn_runner.analysis import summary
from vdqn_runner.analysis.claims import command as claims

ROOT = Path(__file__).parent.parent
COMMANDS = {"vdqn-summary": summary.main, "vdqn-claims": claims.main}
BLOCK = re.compile(r"<!-- made by: (.+?) -->\n(.*?)<!-- end -->", re.DOTALL)


def blocks():
    """(command, text below it) of each table that a command made."""
    return BLOCK.findall((ROOT / "README.md").read_text())


def test_there_are_such_tables():
    assert blocks()


@pytest.mark.parametrize(("command", "text"), blocks(), ids=lambda value: value[:40])
def test_a_table_is_what_its_command_prints(command, text, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    name, *arguments = shlex.split(command)
    assert COMMANDS[name](arguments) == 0
    lines = [line for line in text.splitlines() if line != "```"]
    assert "\n".join(lines).strip() == capsys.readouterr().out.strip()
