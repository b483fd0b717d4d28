"""Plain mappings as the settings files give them, for tests to change."""

from copy import deepcopy
from typing import Any

CHAIN: dict[str, Any] = {"kind": "chain", "n": 10}
CARTPOLE: dict[str, Any] = {"kind": "gym", "id": "CartPole-v1"}


def request(algo: str = "vdqn", /, **changes: Any) -> dict[str, Any]:
    """Return a valid request; ``changes`` are values by dotted key with ``__`` for the dot."""
    mapping: dict[str, Any] = {"episodes": 20, "env": deepcopy(CHAIN), "algo": {"name": algo}}
    for key, value in changes.items():
        *groups, last = key.split("__")
        place = mapping
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    return mapping
