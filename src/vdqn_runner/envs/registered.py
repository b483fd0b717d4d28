"""Environments that were registered in this process, made known to others."""

import pickle

import gymnasium


def registration(env_id: str) -> bytes | None:
    """Return what makes an environment known in another process.

    None if nothing can: its code is in the main module (a script, a notebook), which other
    processes do not import, or is no function or class of a module at all.
    """
    spec = gymnasium.registry.get(env_id.rpartition(":")[2])
    if spec is None:
        return b""  # its module registers it when it is imported
    entry = spec.entry_point
    module = entry.partition(":")[0] if isinstance(entry, str) else getattr(entry, "__module__", "")
    if module == "__main__":
        return None
    try:
        return pickle.dumps(spec)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def make_known(registered: bytes) -> None:
    """Register what ``registration`` returned in another process."""
    if registered:
        spec = pickle.loads(registered)
        gymnasium.registry[spec.id] = spec
