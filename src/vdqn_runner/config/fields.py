"""The settings as a flat table of dotted keys, and what each key takes, in words."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeGuard, get_args, get_origin

from pydantic import AfterValidator
from pydantic.fields import FieldInfo

from vdqn_runner.config.model import Settings
from vdqn_runner.config.ranges import ScheduleWithin, Within
from vdqn_runner.config.schedule import AnySchedule
from vdqn_runner.config.schema import DISCRIMINATORS, GROUPS, OUT, RunConfig

SCHEDULES: dict[str, type[Settings]] = {
    model.model_fields["kind"].default: model for model in get_args(AnySchedule)
}
NAME = "letters, digits, '.', '_' and '-', starting with a letter or digit, at most 100"
TEXTS = {
    "name": NAME,
    "workers": "auto or a whole number from 1 to 4096",
    "out": OUT,
    "tracker.experiment": NAME,
    "tracker.project": NAME,
    "tracker.entity": f"{NAME}, or null",
    "tracker.uri": "a database or server like sqlite:///all.db or http://host:5000, or null",
    "env.id": "the id of a registered gymnasium environment, like LunarLander-v3",
    "algo.network.hidden": "a list of 1 to 32 whole numbers from 1 to 1000000, like [100,100]",
    "algo.vime.hidden": "a list of 1 to 32 whole numbers from 1 to 1000000, like [32]",
    ".points": "a list of [time, value] with whole times from 0 up that rise",
}


def _is_settings(annotation: Any) -> TypeGuard[type[Settings]]:
    """Whether a field's type is a group of settings of its own."""
    return isinstance(annotation, type) and issubclass(annotation, Settings)


def walk(model: type[Settings], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    """Yield (dotted key, field) of ``model`` and the groups inside it.

    Fields that are a choice of groups (``env``, ``algo`` and ``tracker`` of a run) are left out.
    """
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        inner: Any = field.annotation
        if _is_settings(inner):
            yield from walk(inner, f"{key}.")
        elif not (model is RunConfig and name in GROUPS):
            yield key, field


def chosen(mapping: Mapping[str, Any], group: str) -> str | None:
    """Return which option of ``group`` a raw mapping chooses, if it is a valid one."""
    settings = mapping.get(group)
    option = settings.get(DISCRIMINATORS[group]) if isinstance(settings, Mapping) else None
    return option if isinstance(option, str) and option in GROUPS[group] else None


def known_fields(mapping: Mapping[str, Any]) -> dict[str, FieldInfo]:
    """Return the fields, by dotted key, of the kind of run that ``mapping`` chooses."""
    fields = dict(walk(RunConfig, ""))
    for group, options in GROUPS.items():
        option = chosen(mapping, group)
        if option is not None:
            fields |= dict(walk(options[option], f"{group}."))
    return fields


def known_names() -> list[str]:
    """Return every dotted key that some run has, and the names of the groups."""
    return sorted({name for name, _ in _every_field()} | set(GROUPS))


def takes_list(key: str) -> bool:
    """Whether a list is a value of the dotted key, in some run."""
    return key.endswith(".points") or any(
        name == key and get_origin(field.annotation) is tuple for name, field in _every_field()
    )


def _every_field() -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields of all kinds of runs, with their dotted keys."""
    yield from walk(RunConfig, "")
    for group, options in GROUPS.items():
        for model in options.values():
            yield from walk(model, f"{group}.")


def schedule_field(value: Any, name: str) -> FieldInfo | None:
    """Return the field ``name`` of the schedule that a raw value describes, if there is one."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    model = SCHEDULES.get(kind) if isinstance(kind, str) else None
    return model.model_fields.get(name) if model is not None else None


def allowed(key: str, field: FieldInfo) -> str:
    """Return what the field at the dotted ``key`` takes, in words that follow "must be"."""
    text = TEXTS.get(".points" if key.endswith(".points") else key)
    return text or _type_words(field.annotation, field.metadata)


def _type_words(annotation: Any, metadata: list[Any]) -> str:
    """Return a type with its constraints in words."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return _type_words(inner, more)
    if annotation == AnySchedule:
        return f"a number{_interval(metadata)}, or a schedule of such numbers"
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(get_args(annotation))
    parts = get_args(annotation)
    if type(None) in parts:
        return f"{_type_words(parts[0], metadata)}, or null"
    if annotation is bool:
        return "true or false"
    if annotation is int:
        return f"a whole number{_interval(metadata)}"
    if annotation is float:
        return f"a number{_interval(metadata)}"
    return "a text"


def _interval(metadata: list[Any]) -> str:
    """Return the range among a field's constraints in words, with a space before."""
    bounds: dict[str, float] = {}
    for constraint in metadata:
        if isinstance(constraint, AfterValidator) and isinstance(
            constraint.func, Within | ScheduleWithin
        ):
            return f" {constraint.func}"
        for name in ("ge", "gt", "le"):
            if (bound := getattr(constraint, name, None)) is not None:
                bounds[name] = bound
    match bounds:
        case {"ge": low, "le": high}:
            return f" {Within(low, high)}"
        case {"ge": low}:
            return f" {Within(low)}"
        case {"gt": low}:
            return f" {Within(low, above=True)}"
    return ""
