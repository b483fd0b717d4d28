import gc
import sys

import pytest
from forms import FORMS, in_form
from hypothesis import settings

# No test depends on how fast the machine is.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(params=FORMS)
def engine(request):
    """Both forms of the numerical work, one after the other."""
    with in_form(request.param) as name:
        yield name


@pytest.fixture(autouse=True)
def ordinary_arithmetic():
    """Training flushes denormal numbers to zero, for the whole process: undo that."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


def pytest_collection_finish():
    """All that is imported by now stays: no collection need look through it."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Let slow tests take as long as they do."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(0))
