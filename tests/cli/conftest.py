"""What the tests of the command share: an empty folder to run in, and jobs that only record."""

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from vdqn_runner.config import RunConfig


@pytest.fixture(autouse=True)
def fresh_logging() -> Iterator[None]:
    """Leave logging as it was: Hydra gives a process's root logger handlers of its own."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in an empty folder; Hydra's errors in their short form."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    return tmp_path


@pytest.fixture
def replace_training(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], None]:
    """Return a function that puts another in the place of training."""

    def replace(execute: Callable[..., object]) -> None:
        module = ModuleType("vdqn_runner.run")
        module.execute = execute  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "vdqn_runner.run", module)

    return replace


@pytest.fixture
def trained(replace_training: Callable[[Callable[..., object]], None]) -> list[RunConfig]:
    """Replace training by a note of what would have been trained."""
    runs: list[RunConfig] = []
    replace_training(runs.append)
    return runs
