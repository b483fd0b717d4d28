"""Reading the overrides of a command line, and refusing those that hide a mistake."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import OverrideParseException

from vdqn_runner.config.fields import known_names, takes_list
from vdqn_runner.config.suggest import closest_key, did_you_mean
from vdqn_runner.config.words import shortened
from vdqn_runner.errors import ConfigError

DEEPEST = 20
"""Brackets inside brackets in an override; many more would take the parser past its limits."""


def parse(overrides: Sequence[str]) -> list[Override]:
    """Parse overrides as Hydra does, with one line about the first that is malformed.

    Raises:
        ConfigError: One cannot be read.
    """
    parsed: list[Override] = []
    for number, item in enumerate(overrides):
        if _depth(item) > DEEPEST:
            raise ConfigError(f"{shortened(item)!r}: has brackets nested deeper than {DEEPEST}")
        try:
            parsed += OverridesParser.create().parse_overrides([item])
        except OverrideParseException as error:
            rest = overrides[number + 1 :]
            raise ConfigError(_unreadable(item, rest)) from error
        except ValueError as error:  # a whole number of thousands of digits
            raise ConfigError(f"{shortened(item)!r}: cannot be read as key=value") from error
    return parsed


def refuse_misuse(overrides: Sequence[Override], groups: Collection[str]) -> None:
    """Refuse what Hydra would take without a word: removed keys, and values that replace others.

    Args:
        overrides: All that is asked for.
        groups: The names of the groups of settings files.

    Raises:
        ConfigError: A key is removed or given twice, a group's option is a list, or a mapping is
            added to what there is.
    """
    given: dict[str, str] = {}
    for override in overrides:
        key, line = override.key_or_group, override.input_line or ""
        mine = not override.is_hydra_override()
        if override.is_delete() and mine:
            raise ConfigError(_about_removal(shortened(line), key, key in groups))
        is_group = key in groups or key.startswith("hydra/")
        if is_group and isinstance(override.value(), list):
            raise ConfigError(f"{shortened(line)}: must be one option of {key}, not a list")
        if override.is_add() and mine and isinstance(override.value(), dict):
            raise ConfigError(f"{shortened(line)}: write {key}=... without +")
        for leaf in _leaves(override):
            for other, first in given.items():
                if _overlap(leaf, other, groups):
                    raise ConfigError(_about_repetition(first, line, min(leaf, other, key=len)))
            given[leaf] = line


def refuse_sweeps(overrides: Sequence[Override], *, showing: bool = False) -> None:
    """Refuse several values for a key where only one run is asked for.

    Raises:
        ConfigError: There are several.
    """
    for override in overrides:
        if override.is_sweep_override():
            remedy = (
                "--cfg and --info show one run, so give one value"
                if showing
                else "several values are a sweep; add -m to run one job for each"
            )
            key = override.key_or_group
            as_list = f", or write {key}=[...] for a list" if takes_list(key) else ""
            raise ConfigError(f"{shortened(override.input_line or '')}: {remedy}{as_list}")


def _depth(text: str) -> int:
    """Return how deeply brackets and braces are nested."""
    deepest = depth = 0
    for character in text:
        depth += (character in "[{(") - (character in ")}]")
        deepest = max(deepest, depth)
    return deepest


def _unreadable(item: str, rest: Sequence[str]) -> str:
    """Return what is wrong with an override that cannot be read, given those after it."""
    shown = repr(shortened(item))
    if "=" not in item and not item.startswith("~"):
        if rest and rest[0].startswith("="):
            value = rest[0][1:] or "".join(rest[1:2])
            return f"{shown}: write {shortened(f'{item}={value}')}, without blanks around ="
        suggestion = closest_key(item, known_names())
        hint = did_you_mean(f"{suggestion}=..." if suggestion else None)
        return f"{shown}: must have the form key=value{hint}"
    key, _, value = item.partition("=")
    if value.endswith(",") and not value.startswith(("{", "[")):
        return f"{shown}: ends with a comma; write {shortened(item.rstrip(','))}"
    if value.startswith(("{", "[")):
        return (
            f"{shown}: cannot be read as key=value; quote what has braces or brackets, "
            f"as in '{shortened(key)}={value[0]}...{']' if value[0] == '[' else '}'}'"
        )
    return (
        f"{shown}: cannot be read as key=value; quote a value with special characters, "
        f"""as in 'key="a, b"'"""
    )


def _about_removal(line: str, key: str, group: bool) -> str:
    """Return what to do instead of removing a key or a group."""
    if group:
        return f"{line}: {key} cannot be removed; choose one with {key}=..."
    return f"{line}: a key cannot be removed; give it a value"


def _about_repetition(first: str, second: str, key: str) -> str:
    """Return what is wrong with two overrides of one key."""
    # What a shell makes of key={a,b}: key=a key=b.
    torn = "; quote what has braces: 'key={...}'" if ":" in first and ":" in second else ""
    return f"{shortened(first)} and {shortened(second)}: {key} is given twice{torn}"


def _overlap(one: str, other: str, groups: Collection[str]) -> bool:
    """Whether two keys are the same, or one lies inside the other and that is no group."""
    outer, inner = sorted((one, other), key=len)
    return outer == inner or (outer not in groups and inner.startswith(f"{outer}."))


def _leaves(override: Override) -> Iterator[str]:
    """Yield the keys to which an override gives values: those inside a mapping each."""
    key = override.key_or_group
    value = None if override.is_sweep_override() else override.value()
    if isinstance(value, dict):
        yield from _inner(key, value)
    else:
        yield f"{key}{f'@{override.package}' if override.package else ''}"


def _inner(key: str, value: Any) -> Iterator[str]:
    """Yield the keys of the values inside a mapping; of the mapping itself where it is empty."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _inner(f"{key}.{name}", inner)
    else:
        yield key
