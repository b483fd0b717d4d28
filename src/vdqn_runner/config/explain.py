"""Saying in one line why a request does not compose."""

from collections.abc import Sequence
from typing import Any

from hydra._internal.hydra import Hydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import Override
from hydra.errors import MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from vdqn_runner.config.build import unknown_key
from vdqn_runner.config.fields import known_fields
from vdqn_runner.config.schema import GROUPS
from vdqn_runner.config.suggest import closest, did_you_mean
from vdqn_runner.config.words import show
from vdqn_runner.errors import ConfigError

# Options that come with plugins of Hydra, and the extra that installs them.
PLUGINS = {
    "joblib": "cluster",
    "submitit_local": "cluster",
    "submitit_slurm": "cluster",
    "ray": "ray",
    "optuna": "optuna",
}

LONGEST = 300
"""Characters of a message in Hydra's words."""


def explain(
    hydra: Hydra, name: str, overrides: list[Override], error: Exception, where: str
) -> ConfigError:
    """Return the error to show for ``error``, which composing ``overrides`` raised.

    First the options of groups are looked at, then, composed with these options alone, whether
    every key exists. What is neither is told in Hydra's words, on one line.

    Args:
        hydra: The Hydra that tried.
        name: The primary settings file.
        overrides: What was asked for.
        error: What composing raised.
        where: Words that name the job, for the end of the message.
    """
    mine = [override for override in overrides if not override.is_hydra_override()]
    chosen = [override for override in mine if _is_group(hydra, override)]
    for override in chosen:
        problem = _option_problem(hydra, override)
        if problem is not None:
            return ConfigError(f"{problem}{where}")
    lines = [item.input_line for item in overrides if item.is_hydra_override() or item in chosen]
    try:
        base = hydra.compose_config(
            config_name=name,
            overrides=[line for line in lines if line is not None],
            run_mode=RunMode.MULTIRUN,
        )
    except Exception as problem_of_groups:
        return ConfigError(f"{one_line(problem_of_groups, overrides)}{where}")
    for override in mine:
        if override not in chosen:
            problem = _key_problem(base, override)
            if problem is not None:
                return ConfigError(f"{problem}{where}")
    return ConfigError(f"{one_line(error)}{where}")


def one_line(error: BaseException, overrides: Sequence[Override] = ()) -> str:
    """Return an exception's text, or its cause's where it has none, joined into one line.

    A plugin that is missing is told of the one of ``overrides`` that needs it, if one does.
    """
    missing = error.missing_cfg_file if isinstance(error, MissingConfigException) else None
    group, _, option = (missing or "").rpartition("/")
    if group in ("hydra/launcher", "hydra/sweeper") and option in PLUGINS:
        asked = [item.input_line for item in overrides if item.key_or_group == group]
        shown = asked[0] if asked else f"{group}={option}"
        return f"{shown}: needs a plugin: pip install 'vdqn-runner[{PLUGINS[option]}]'"
    if isinstance(error, MissingConfigException) and error.options:
        hint = "; more come with Hydra's plugins" if "launcher" in str(error) else ""
        return f"{error.missing_cfg_file}: must be one of {', '.join(error.options)}{hint}"
    text = str(error) or str(error.__cause__ or type(error).__name__)
    if text.startswith("Error merging override") and error.__cause__ is not None:
        text = f"{text}: {error.__cause__}"
    text = " ".join(text.partition("Config search path")[0].split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _is_group(hydra: Hydra, override: Override) -> bool:
    """Whether an override chooses a group's option."""
    found = hydra.config_loader.list_groups("")
    return override.key_or_group in found and not isinstance(override.value(), dict)


def _option_problem(hydra: Hydra, override: Override) -> str | None:
    """Return what is wrong with the option that an override chooses, if anything."""
    group = override.key_or_group
    names = hydra.config_loader.get_group_options(group, results_filter=ObjectType.CONFIG)
    wanted = list(override.sweep_iterator()) if override.is_sweep_override() else [override.value()]
    if override.is_add() or override.is_force_add():
        return f"{override.input_line}: write {group}=... without {override.get_key_element()[0]}"
    for option in wanted:
        if option not in names:
            suggestion = closest(option, names) if isinstance(option, str) else None
            hint = did_you_mean(f"{group}={suggestion}" if suggestion else None)
            return f"{show(group, option)}: must be one of {', '.join(names)}{hint}"
    return None


def _key_problem(base: DictConfig, override: Override) -> str | None:
    """Return what is wrong with the key of an override, if anything."""
    key = override.key_or_group
    tree: Any = OmegaConf.to_container(base, resolve=False)
    value = None if override.is_sweep_override() else override.value()
    if override.package is not None:
        return f"{override.input_line}: there is no group {key} to place at {override.package}"
    if key in known_fields(tree):
        if override.is_add():
            return f"{override.input_line}: the key exists already; write it without +"
        return None
    return str(unknown_key(key, value, tree)) if key not in GROUPS else None
