"""How every gymnasium environment is made, whatever it is for."""

import re
import warnings
from pathlib import Path

import gymnasium
import pytest

import vdqn_runner
from vdqn_runner.envs.making import make_gym_env

SOURCE = Path(vdqn_runner.__file__).parent


class Warns(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        warnings.warn("this environment is deprecated", DeprecationWarning, stacklevel=1)


@pytest.fixture
def warns():
    gymnasium.register("test_making/Warns-v0", Warns, disable_env_checker=True)
    yield "test_making/Warns-v0"
    del gymnasium.registry["test_making/Warns-v0"]


def test_an_old_version_is_made_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_gym_env("CartPole-v0").close()


def test_other_warnings_are_heard(warns):
    with pytest.warns(DeprecationWarning, match="this environment is deprecated"):
        make_gym_env(warns).close()


def test_nothing_makes_one_in_another_way():
    makes = re.compile(r"^[^`]*\bgymnasium\.make\(", re.MULTILINE)
    files = [path for path in SOURCE.rglob("*.py") if makes.search(path.read_text("utf-8"))]
    assert files == [SOURCE / "envs" / "making.py"]
