import sys

import pytest
from hypothesis import settings

from vdqn_runner import kernels

# No test depends on how fast the machine is.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="module", params=["compiled", "torch"])
def engine(request):
    """Both forms of the numerical work, one after the other."""
    if request.param == "compiled":
        if not kernels.available():
            pytest.skip("no compiled kernels here")
        yield request.param
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels, "available", lambda: False)
            yield request.param


@pytest.fixture(autouse=True)
def ordinary_arithmetic():
    """Training flushes denormal numbers to zero, for the whole process: undo that."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


def pytest_collection_modifyitems(items):
    """Let slow tests take as long as they do."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(0))
