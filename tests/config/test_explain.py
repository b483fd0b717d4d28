"""What is said of options whose plugin is not installed."""

import pytest
from hydra.errors import MissingConfigException

from vdqn_runner.config.explain import one_line


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("hydra/launcher/submitit_slurm", "pip install 'vdqn-runner[cluster]'"),
        ("hydra/launcher/ray", "pip install 'vdqn-runner[ray]'"),
        ("hydra/sweeper/optuna", "pip install 'vdqn-runner[optuna]'"),
        ("hydra/launcher/sulrm", "must be one of basic"),
    ],
)
def test_the_extra_is_named(file, said):
    error = MissingConfigException(f"Could not load {file}", file, ["basic"])
    assert said in one_line(error) and "\n" not in one_line(error)
