"""The reference of all commands, from what each says when it is asked for help."""

import contextlib
import importlib
import io
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"
_WIDTH = "90"
# A line of argparse's list of subcommands.
_SUBCOMMAND = re.compile(r"^    ([a-z-]+)  ", re.MULTILINE)


def commands_text() -> str:
    """Return the help of every command, and of the commands within one."""
    return "\n".join(line for name, main in mains().items() for line in _command(name, main))


def mains() -> dict[str, Callable[[list[str]], int]]:
    """Return the entry point of every command that the package installs."""
    scripts = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["scripts"]
    found = {}
    for name, place in scripts.items():
        module, _, function = place.partition(":")
        found[name] = getattr(importlib.import_module(module), function)
    return found


def _command(name: str, main: Callable[[list[str]], int]) -> Iterator[str]:
    text = _help(main)
    yield from (f"## {name}", "", "```text", text, "```", "")
    if " COMMAND " in text.partition("\n")[0]:
        for inner in _SUBCOMMAND.findall(text):
            yield from (f"### {name} {inner}", "", "```text", _help(main, inner), "```", "")


def _help(main: Callable[[list[str]], int], *before: str) -> str:
    """Return what ``main`` prints for ``--help``, in lines of one width."""
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDTH
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([*before, "--help"])
    finally:
        del os.environ["COLUMNS"]
        if width is not None:
            os.environ["COLUMNS"] = width
    return printed.getvalue().rstrip()
