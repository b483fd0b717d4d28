"""A trained seed, read back from its folder."""

from dataclasses import dataclass
from pathlib import Path

import torch
import yaml
from torch import Tensor

from vdqn_runner.algos import make_algorithm
from vdqn_runner.algos.base import Algorithm, Context
from vdqn_runner.config import RunConfig, build
from vdqn_runner.envs import EnvSpec, make_envs
from vdqn_runner.errors import ConfigError, RunError
from vdqn_runner.layout import Layout, q_layout
from vdqn_runner.runs.folder import CONFIG, POLICY


@dataclass(frozen=True)
class Agent:
    """A seed as it stood when its policy was kept.

    Attributes:
        config: The run's settings.
        seed: Its number.
        algo: The algorithm, for this seed alone (S = 1), with the kept parameters.
        spec: Its environment.
    """

    config: RunConfig
    seed: int
    algo: Algorithm
    spec: EnvSpec


def read_agent(seed_folder: Path, policy: str = POLICY) -> Agent:
    """Read a seed's parameters and the settings that they belong to.

    Args:
        seed_folder: ``<run>/seed-00003``.
        policy: Which of its files of parameters.

    Raises:
        ConfigError: There is no such seed, or it has no such file (yet).
        RunError: A file cannot be read, or does not belong to the run.
    """
    number = seed_folder.name.removeprefix("seed-")
    if not number.isdecimal() or not seed_folder.is_dir():
        raise ConfigError(f"{seed_folder}: is no folder of a seed, as in seed-00003")
    file = seed_folder / policy
    if not file.exists():
        raise ConfigError(f"{file}: is not there; a seed has it when its training is done")
    config = _read_config(seed_folder.parent / CONFIG)
    try:
        kinds = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever the bytes of a damaged file provoke in the unpickler
        raise RunError(f"{file}: cannot be read ({type(error).__name__})") from error
    seed = int(number)
    envs = make_envs(config.env, [seed])
    envs.close()
    layout = q_layout(config.algo, envs.spec)
    algo = make_algorithm(config.algo, Context([seed], layout))
    try:
        _fill(layout, algo.learner.online, kinds)
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise RunError(f"{file}: does not hold the parameters of this run") from error
    algo.online_changed()
    return Agent(config, seed, algo, envs.spec)


def _read_config(file: Path) -> RunConfig:
    try:
        mapping = yaml.safe_load(file.read_bytes())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise RunError(f"{file}: cannot be read ({type(error).__name__})") from error
    if not isinstance(mapping, dict):
        raise RunError(f"{file}: holds no settings")
    return build(mapping)


def _fill(layout: Layout, online: dict[str, Tensor], kinds: dict[str, dict[str, Tensor]]) -> None:
    """Copy named parameters, as ``Layout.named`` gives them, into the rows [1, P]."""
    if set(kinds) != set(online):
        raise KeyError(sorted(kinds))
    with torch.no_grad():
        for kind, rows in online.items():
            for number, layer in enumerate(layout.layers(rows), start=1):
                layer.weight[0].copy_(kinds[kind][f"layer{number}.weight"])
                layer.bias[0, 0].copy_(kinds[kind][f"layer{number}.bias"])
