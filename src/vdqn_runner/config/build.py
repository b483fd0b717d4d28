"""From a plain mapping to a valid run, or to one line that says what is wrong with it."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vdqn_runner.config.fields import (
    SCHEDULES,
    allowed,
    chosen,
    known_fields,
    schedule_field,
    walk,
)
from vdqn_runner.config.gym_check import check_environment
from vdqn_runner.config.schema import DISCRIMINATORS, GROUPS, GymEnv, RunConfig
from vdqn_runner.config.suggest import closest, closest_key, did_you_mean
from vdqn_runner.config.words import show
from vdqn_runner.errors import ConfigError

MISSING = "???"


def build(mapping: Mapping[str, Any]) -> RunConfig:
    """Return the run that ``mapping`` describes.

    Args:
        mapping: Nested plain dicts, lists, numbers, strings, booleans and None.

    Raises:
        ConfigError: The mapping is no valid run; one line with key, value, what is allowed and
            the closest valid name. Gymnasium is asked about ``env.id`` only once all else is
            valid.
    """
    missing = _first_missing(mapping, "")
    if missing is not None:
        raise _missing(missing, mapping)
    try:
        config = RunConfig.model_validate(dict(mapping))
    except ValidationError as error:
        details = min(error.errors(include_url=False), key=_rank)
        raise _translate(details, mapping) from error
    if isinstance(config.env, GymEnv):
        check_environment(config.env.id, config.env.max_episode_steps)
    return config


def unknown_key(key: str, value: Any, mapping: Mapping[str, Any]) -> ConfigError:
    """Return the error for a ``key`` that does not exist in the run that ``mapping`` describes."""
    fields = known_fields(mapping)
    parent = key.rpartition(".")[0]
    if parent in fields:
        return ConfigError(
            f"{show(key, value)}: {parent} has no keys of its own here; it must be "
            f"{allowed(parent, fields[parent])}"
        )
    for group, options in GROUPS.items():
        owners = [name for name, model in options.items() if key in dict(walk(model, f"{group}."))]
        option = chosen(mapping, group)
        if owners and option is not None:
            there = " and ".join(f"{group}.{DISCRIMINATORS[group]}={owner}" for owner in owners)
            return ConfigError(
                f"{show(key, value)}: unknown key for {group}.{DISCRIMINATORS[group]}={option}; "
                f"it belongs to {there}"
            )
    siblings = sorted(
        {
            name[len(parent) + 1 if parent else 0 :].partition(".")[0]
            for name in fields
            if not parent or name.startswith(f"{parent}.")
        }
        | (set(GROUPS) if not parent else set())
    )
    takes = f"; {parent or 'the top level'} takes {', '.join(siblings)}" if siblings else ""
    suggestion = did_you_mean(closest_key(key, [*fields, *GROUPS]))
    if suggestion and not parent:
        takes = ""
    return ConfigError(f"{show(key, value)}: unknown key{takes}{suggestion}")


def _rank(details: ErrorDetails) -> int:
    """Return how late an error should be told: a wrong name explains what else is wrong."""
    order = ["union_tag_invalid", "union_tag_not_found", "extra_forbidden"]
    return order.index(details["type"]) if details["type"] in order else len(order)


def _first_missing(value: Any, key: str) -> str | None:
    """Return the dotted key of the first value that still has to be given, if any."""
    if value == MISSING:
        return key
    if isinstance(value, Mapping):
        for name, inner in value.items():
            found = _first_missing(inner, f"{key}.{name}" if key else str(name))
            if found is not None:
                return found
    return None


def _missing(key: str, mapping: Mapping[str, Any]) -> ConfigError:
    """Return the error for a key that has no value."""
    field = known_fields(mapping).get(key)
    text = f"; it must be {allowed(key, field)}" if field is not None else ""
    return ConfigError(f"{key}: a value must be given{text}")


def _locate(location: tuple[int | str, ...], mapping: Mapping[str, Any]) -> tuple[str, Any, Any]:
    """Return (dotted key, value, the value one level up) of an error in the raw mapping.

    Pydantic's location also holds the tags of unions, which are no keys, and the keys of what a
    bare number stands for; both are left out.
    """
    key: list[str] = []
    value: Any = mapping
    parent: Any = mapping
    for part in location:
        if isinstance(value, Mapping) and part in value:
            parent, value = value, value[part]
            key.append(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            return ".".join(key), value, parent
    return ".".join(key), value, parent


def _translate(details: ErrorDetails, mapping: Mapping[str, Any]) -> ConfigError:
    """Return one of pydantic's errors as one line in the project's words."""
    key, value, parent = _locate(details["loc"], mapping)
    context = details.get("ctx", {})
    match details["type"]:
        case "extra_forbidden":
            return _unknown(key, value, parent, mapping)
        case "pair":
            dotted = f"{key}.{context['key']}" if key else str(context["key"])
            return ConfigError(f"{show(dotted, context['value'])}: {context['allowed']}")
        case "missing":
            absent = str(details["loc"][-1])
            dotted = f"{key}.{absent}" if key else absent
            field = known_fields(mapping).get(dotted) or schedule_field(value, absent)
            if field is not None:
                return ConfigError(f"{dotted}: missing; it must be {allowed(dotted, field)}")
            return ConfigError(f"{dotted}: missing")
        case "union_tag_invalid" | "union_tag_not_found":
            return _wrong_tag(key, value)
    field = known_fields(mapping).get(key) or schedule_field(parent, key.rpartition(".")[2])
    if field is None:
        return ConfigError(f"{show(key, value)}: must be a group of settings, not a single value")
    words = allowed(key, field)
    return ConfigError(f"{show(key, value)}: must be {words}{_hint(value, words)}")


def _unknown(key: str, value: Any, parent: Any, mapping: Mapping[str, Any]) -> ConfigError:
    """Return the error for an unknown key, which may be one of a schedule."""
    name = key.rpartition(".")[2]
    kind = parent.get("kind") if isinstance(parent, Mapping) else None
    if kind in SCHEDULES and key.count(".") > 1:
        names = [*SCHEDULES[kind].model_fields]
        return ConfigError(
            f"{show(key, value)}: unknown key; the {kind} schedule takes {', '.join(names)}"
            f"{did_you_mean(closest(name, names))}"
        )
    return unknown_key(key, value, mapping)


def _wrong_tag(key: str, value: Any) -> ConfigError:
    """Return the error for a group whose ``kind`` or ``name`` is no valid one."""
    tag = DISCRIMINATORS.get(key, "kind")
    options = [*GROUPS.get(key, SCHEDULES)]
    given = value.get(tag) if isinstance(value, Mapping) else None
    suggestion = did_you_mean(closest(given, options) if isinstance(given, str) else None)
    return ConfigError(
        f"{show(f'{key}.{tag}', given)}: must be one of {', '.join(options)}{suggestion}"
    )


def _hint(value: Any, words: str) -> str:
    """Return what helps with a wrong value: the whole number or the name that was meant."""
    if isinstance(value, float) and value.is_integer() and words.startswith("a whole number"):
        return f"; write {int(value)}"
    if isinstance(value, str) and words.startswith("one of "):
        return did_you_mean(closest(value, words.removeprefix("one of ").split(", ")))
    return ""
