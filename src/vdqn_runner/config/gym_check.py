"""Whether gymnasium has an environment, and whether the algorithms here can learn in it."""

import re
import warnings
from collections.abc import Iterable
from functools import cache

from vdqn_runner.config.suggest import closest, did_you_mean
from vdqn_runner.config.words import show
from vdqn_runner.errors import ConfigError

# Gymnasium's packages of environments whose own dependencies come with an extra.
EXTRAS = {
    "box2d": "box2d",
    "mujoco": "mujoco",
    "toy_text": "toy-text",
    "classic_control": "classic-control",
}


@cache
def check_environment(env_id: str, max_episode_steps: int | None) -> None:
    """Make the environment once to see that it exists, has a Box to see and Discrete actions.

    Raises:
        ConfigError: It does not, in one line with the closest registered id or what to install.
    """
    import gymnasium

    from vdqn_runner.envs.making import make_gym_env  # its package registers the chain, too

    shown = show("env.id", env_id)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told when it is made to train in
        if ":" not in env_id and env_id not in gymnasium.registry:
            raise ConfigError(
                f"{shown}: gymnasium has no environment of this id"
                f"{did_you_mean(_closest_id(env_id, gymnasium.registry))}"
            )
        try:
            env = make_gym_env(env_id, max_episode_steps=max_episode_steps)
        except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
            raise ConfigError(
                f"{shown}: this environment needs a package that is not installed"
                f"{_remedy(env_id)} ({_first_line(error)})"
            ) from error
        except Exception as error:
            raise ConfigError(
                f"{shown}: gymnasium cannot make it ({_first_line(error)})"
            ) from error
    try:
        if not isinstance(env.observation_space, gymnasium.spaces.Box):
            raise ConfigError(
                f"{shown}: observations must be a Box, "
                f"and here they are {_first_line(env.observation_space)}"
            )
        if not isinstance(env.action_space, gymnasium.spaces.Discrete):
            raise ConfigError(
                f"{shown}: actions must be Discrete, "
                f"and here they are {_first_line(env.action_space)}"
            )
    finally:
        env.close()


def _closest_id(name: str, registered: Iterable[str]) -> str | None:
    """Return the registered id most like ``name``; of versions of one name the newest."""
    versions: dict[str, dict[int, str]] = {}
    for env_id in registered:
        base, version = _split(env_id)
        versions.setdefault(base, {})[version] = env_id
    base_meant = closest(_split(name)[0], versions)
    return versions[base_meant][max(versions[base_meant])] if base_meant is not None else None


def _split(env_id: str) -> tuple[str, int]:
    """Return an id without its version, and the version; -1 for none."""
    match = re.fullmatch(r"(.+)-v(\d+)", env_id)
    return (match[1], int(match[2])) if match else (env_id, -1)


def _remedy(env_id: str) -> str:
    """Return what to do about a package that an environment lacks, if known."""
    import gymnasium

    if ":" in env_id:
        module = env_id.partition(":")[0]
        return f"; install it, or put the folder of the module {module} on PYTHONPATH"
    spec = gymnasium.registry.get(env_id)
    entry = spec.entry_point if spec is not None else None
    package = entry.split(":")[0].split(".")[2:3] if isinstance(entry, str) else []
    extra = EXTRAS.get(package[0]) if package else None
    return f'; run pip install "gymnasium[{extra}]"' if extra else ""


def _first_line(what: object) -> str:
    """Return an object's text up to its first line break."""
    return (str(what).splitlines() or [""])[0]
