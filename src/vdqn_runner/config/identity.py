"""What decides the numbers of a run, and a short name for it."""

import hashlib
import json
from typing import Any

from vdqn_runner.config.model import Settings
from vdqn_runner.config.schema import RunConfig

# Where, on what, how often saved and for which seeds: none of it changes a seed's numbers.
CIRCUMSTANCES = frozenset(
    {
        "device",
        "workers",
        "threads",
        "seed",
        "n_seeds",
        "out",
        "name",
        "checkpoint_every",
        "policy_every",
        "quiet",
        "tracker",
    }
)


def identity_mapping(config: RunConfig) -> dict[str, Any]:
    """Return everything that decides a seed's numbers, as plain nested dicts and lists.

    Schedules are in their full form and numbers in one form, so two requests that mean the same
    give equal mappings; ``build`` accepts the mapping again. Keys that came later (see
    ``schema.later``) are left out at their defaults: a run keeps its name.
    """
    dump = config.model_dump(mode="json", exclude=set(CIRCUMSTANCES))
    _leave_out_later(config, dump)
    return {key: _plain(value) for key, value in dump.items()}


def _leave_out_later(settings: Settings, dump: dict[str, Any]) -> None:
    """Remove from a model's ``dump`` what came later and is at its default."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        extra = field.json_schema_extra
        if name not in dump:
            continue
        if isinstance(extra, dict) and extra.get("later") and value == field.default:
            del dump[name]
        elif isinstance(value, Settings):
            _leave_out_later(value, dump[name])


def identity(config: RunConfig) -> str:
    """Return 8 hexadecimal digits that name the run: equal for runs with equal numbers."""
    text = json.dumps(
        identity_mapping(config), sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _plain(value: Any) -> Any:
    """Return ``value`` with every -0.0 in it turned into 0.0, which means the same."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value + 0.0 if isinstance(value, float) else value
