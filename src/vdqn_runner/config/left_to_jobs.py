"""Overrides of keys that a sweep's jobs may have although the settings they share do not.

Hydra composes a sweep once before it knows of any job, with the options that groups would have
without the sweep. Where the sweep chooses ``env``, keys of what it chooses are unknown there.
"""

from collections.abc import Collection, Sequence

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from vdqn_runner.config.words import quoted


def inside_a_group(override: Override, groups: Collection[str]) -> bool:
    """Whether an override gives one value to a key inside one of these groups, like ``env.n=5``."""
    group, _, key = override.key_or_group.partition(".")
    one_value = not (override.is_sweep_override() or override.is_hydra_override())
    return one_value and bool(key) and group in groups


def left_to_jobs(
    overrides: Sequence[Override], base: DictConfig, groups: Collection[str]
) -> list[Override]:
    """Return the overrides of keys inside groups of which every job of a sweep chooses the option.

    Args:
        overrides: All that is asked for.
        base: The sweep composed without overrides of keys inside groups.
        groups: The names of the groups of settings files.
    """
    params = OmegaConf.select(base, "hydra.sweeper.params") or {}
    swept = {override.key_or_group for override in overrides if override.is_sweep_override()}
    chosen = (swept | set(map(str, params))) & set(groups)
    return [override for override in overrides if inside_a_group(override, chosen)]


def as_params(overrides: Sequence[Override]) -> str:
    """Return one override that gives others to the jobs alone, as an experiment file would."""
    # Merged into what an experiment file has there; hence ++.
    given = {one.get_key_element(): one.get_value_string() for one in overrides}
    # Interpolations are those of the jobs.
    texts = {key: quoted(value.replace("${", r"\${")) for key, value in given.items()}
    return (
        f"++hydra.sweeper={{params:{{{','.join(f'{key}:{text}' for key, text in texts.items())}}}}}"
    )
