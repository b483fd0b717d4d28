"""Every console command says which version it is of."""

import importlib

import pytest
from test_unread_output import SCRIPTS

from vdqn_runner.console import version_line


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_version_of_every_command(script, capsys):
    module, _, function = SCRIPTS[script].partition(":")
    main = getattr(importlib.import_module(module), function)
    try:
        code = main(["--version"])
    except SystemExit as end:
        code = end.code or 0
    assert (code, capsys.readouterr().out) == (0, f"{version_line(script)}\n")
