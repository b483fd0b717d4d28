"""Every table of measured numbers in a README is what its command makes of results/ now."""

import re
import shlex
from pathlib import Path

import pytest

from scripts import settled, trials
from vdqn_runner.analysis import summary
from vdqn_runner.analysis.claims import command as claims
from vdqn_runner.analysis.compare import command as compare

ROOT = Path(__file__).parent.parent
COMMANDS = {
    "vdqn-summary": summary.main,
    "vdqn-claims": claims.main,
    "python scripts/settled.py": settled.main,
    "python scripts/trials.py": trials.main,
    "vdqn-compare": compare.main,
}
PAGES = ("README.md", "results/README.md")
BLOCK = re.compile(r"<!-- made by: (.+?) -->\n(.*?)<!-- end -->", re.DOTALL)


def blocks():
    """(command, text below it) of each table that a command made."""
    return [block for page in PAGES for block in BLOCK.findall((ROOT / page).read_text())]


def test_there_are_such_tables():
    assert all(BLOCK.search((ROOT / page).read_text()) for page in PAGES)


@pytest.mark.parametrize(("command", "text"), blocks(), ids=lambda value: value[:40])
def test_a_table_is_what_its_command_prints(command, text, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    name = next(name for name in COMMANDS if command.startswith(f"{name} "))
    assert COMMANDS[name](shlex.split(command.removeprefix(name))) == 0
    lines = [line for line in text.splitlines() if line != "```"]
    # Files that are written are named too.
    printed = [line for line in capsys.readouterr().out.splitlines() if not Path(line).is_file()]
    assert "\n".join(lines).strip() == "\n".join(printed).strip()
