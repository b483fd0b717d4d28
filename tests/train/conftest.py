import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Runs set the number of threads for the whole process: set it back."""
    yield
    torch.set_num_threads(1)
    torch.set_flush_denormal(False)
