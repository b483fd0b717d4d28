"""What is said of options whose plugin is not installed."""

import pytest
from hydra.errors import MissingConfigException

from vdqn_runner.config.explain import one_line
from vdqn_runner.config.overrides import parse


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


@pytest.mark.parametrize(
    ("asked", "file", "extra"),
    [
        ("hydra/launcher=ray_cluster", "hydra/launcher/ray", "ray"),
        ("hydra/launcher=slurm", "hydra/launcher/submitit_slurm", "cluster"),
        ("hydra/launcher=joblib", "hydra/launcher/joblib", "cluster"),
    ],
)
def test_what_was_asked_for_is_named_and_not_what_it_is_made_of(asked, file, extra):
    error = MissingConfigException(f"Could not load {file}", file, ["basic"])
    found = one_line(error, parse(["env.n=5", asked]))
    assert found == f"{asked}: needs a plugin: pip install 'vdqn-runner[{extra}]'"
    # An experiment may choose it too.
    assert one_line(error, parse(["env.n=5"])).startswith(f"{file.replace('er/', 'er=')}: needs")
