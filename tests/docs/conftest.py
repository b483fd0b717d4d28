"""What the tests of the documentation share."""

import logging

import pytest


@pytest.fixture(autouse=True)
def fresh_logging():
    """Leave logging as it was: Hydra gives a process's root logger handlers of its own."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
    root.setLevel(level)
