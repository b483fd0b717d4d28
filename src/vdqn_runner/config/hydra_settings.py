"""Hydra's own settings, as far as they decide where files go: all of them stay below ``out``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra.conf import HydraConf
from omegaconf import DictConfig, OmegaConf

from vdqn_runner.config.suggest import closest, did_you_mean
from vdqn_runner.errors import ConfigError

SWEEPS = ".sweeps"
"""The hidden folder of ``out`` with the bookkeeping of sweeps."""


def check_plugins(hydra: DictConfig) -> None:
    """Check that there is a launcher and a sweeper.

    Raises:
        ConfigError: One has been set to nothing.
    """
    for group in ("launcher", "sweeper"):
        if OmegaConf.select(hydra, f"{group}._target_") is None:
            raise ConfigError(f"hydra.{group}: must name a {group}; leave it as it is")


def check_hydra(hydra: DictConfig, out: object) -> None:
    """Check the settings of Hydra that belong to a composed request.

    Args:
        hydra: The node ``hydra`` of the composed settings.
        out: The request's ``out``.

    Raises:
        ConfigError: One does not exist, is missing, or would put files elsewhere than into ``out``.
    """
    known = {*HydraConf.__dataclass_fields__, "env"}  # of a group that has no field
    for key in hydra:
        if key not in known:
            hint = did_you_mean(closest(str(key), known))
            raise ConfigError(f"hydra.{key!s}: unknown key{hint}")
    for key, fixed in {"run.dir": ".", "sweep.subdir": ".", "output_subdir": None}.items():
        value = OmegaConf.select(hydra, key)
        if value != fixed:
            raise ConfigError(
                f"hydra.{key}={value}: cannot be set; results go to "
                "<out>/<name>/<environment>/<algorithm>/<hash>, so set out and name"
            )
    if hydra.job.chdir:
        raise ConfigError(f"hydra.job.chdir={hydra.job.chdir}: cannot be set; runs stay in place")
    folder = Path(str(hydra.sweep.dir))
    home = Path(str(out), SWEEPS)
    if ".." in folder.parts or home not in folder.parents:
        raise ConfigError(f"hydra.sweep.dir={folder}: must be a folder in {home}; set out instead")
    for logging in ("job_logging", "hydra_logging"):
        settings: Any = OmegaConf.to_container(hydra[logging], resolve=False)
        handlers = settings.get("handlers") or {}
        if any(isinstance(one, Mapping) and "filename" in one for one in handlers.values()):
            raise ConfigError(
                f"hydra/{logging}: must not write a file; hydra/{logging}=stdout prints"
            )
