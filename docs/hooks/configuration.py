"""The reference of all settings, from conf/ and the models that check them."""

import re
from collections.abc import Iterable, Iterator

from pydantic.fields import FieldInfo

from vdqn_runner.config.fields import SCHEDULES, allowed, walk
from vdqn_runner.config.files import conf_dir, groups, options
from vdqn_runner.config.help import default_text
from vdqn_runner.config.identity import CIRCUMSTANCES
from vdqn_runner.config.model import Settings
from vdqn_runner.config.schema import GROUPS, AlgoConfig, RunConfig


def groups_text() -> str:
    """Return every group of settings files: its options, and what each file says."""
    return "\n".join(line for group in groups() for line in _group(group))


def keys_text() -> str:
    """Return a table of keys for each kind of settings."""
    common = set(AlgoConfig.model_fields)
    parts = [
        _keys("Top level", RunConfig, "", set()),
        *(_keys(_envs(kind), model, "env.", {"kind"}) for kind, model in GROUPS["env"].items()),
        _keys("Every `algo`", AlgoConfig, "algo.", set()),
    ]
    for name, model in GROUPS["algo"].items():
        parts.append(_keys(f"Further keys of `algo={name}`", model, "algo.", {"name", *common}))
    for kind, model in GROUPS["tracker"].items():
        if len(model.model_fields) > 1:
            parts.append(_keys(f"`tracker={kind}`", model, "tracker.", {"kind"}))
    return "\n".join(line for part in parts for line in part)


def schedules_text() -> str:
    """Return the keys of each kind of schedule."""
    lines = []
    for kind, model in SCHEDULES.items():
        sentence = (model.__doc__ or "").strip().replace("``", "`")
        lines += [f"### {kind}", "", sentence, ""]
        named = ((name, field) for name, field in model.model_fields.items() if name != "kind")
        lines += [*_table(named), ""]
    return "\n".join(lines)


def circumstances_text() -> str:
    """Return the keys that do not change a seed's numbers."""
    return ", ".join(f"`{key}`" for key in sorted(CIRCUMSTANCES))


def _group(group: str) -> Iterator[str]:
    yield from (f"### {group}", "", "| | |", "| --- | --- |")
    for name, sentence in options(group).items():
        yield f"| `{group}={name}` | {sentence} |"
    yield ""
    for name in options(group):
        text = (conf_dir() / group / f"{name}.yaml").read_text(encoding="utf-8")
        yield from (f'??? note "conf/{group}/{name}.yaml"', "", "    ```yaml")
        yield from (f"    {line}".rstrip() for line in text.splitlines())
        yield from ("    ```", "")


def _envs(kind: str) -> str:
    """Return which options of ``env`` are of one kind: those whose files say so."""
    of_kind = re.compile(rf"^  kind: {kind}$", re.MULTILINE)
    texts = {name: (conf_dir() / "env" / f"{name}.yaml").read_text() for name in options("env")}
    return ", ".join(f"`env={name}`" for name, text in texts.items() if of_kind.search(text))


def _keys(title: str, model: type[Settings], prefix: str, skip: set[str]) -> Iterator[str]:
    yield from (f"### {title}", "")
    fields = (
        (key, field)
        for key, field in walk(model, prefix)
        if key.removeprefix(prefix).partition(".")[0] not in skip
    )
    yield from (*_table(fields), "")


def _table(fields: Iterable[tuple[str, FieldInfo]]) -> Iterator[str]:
    yield from ("| key | default | takes | meaning |", "| --- | --- | --- | --- |")
    for key, field in fields:
        default = default_text(field).removeprefix("=")
        shown = f"`{default}`" if default else ""
        cells = [f"`{key}`", shown, allowed(key, field), field.description or ""]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
