"""Both forms of the numerical work, compiled and in torch."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vdqn_runner import kernels

FORMS = ("compiled", "torch")


@contextmanager
def in_form(name: str) -> Iterator[str]:
    """Do all numerical work in this form; skip the test where there is no compiler."""
    if name == "compiled" and not kernels.available():
        pytest.skip("no compiled kernels here")
    with pytest.MonkeyPatch.context() as patch:
        if name == "torch":
            patch.setattr(kernels, "available", lambda: False)
        yield name
