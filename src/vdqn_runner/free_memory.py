"""How much memory is free for a run, where the system tells: Linux, its containers, and Slurm."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_ROOT = Path("/")


def free_memory(root: Path = _ROOT, environ: Mapping[str, str] | None = None) -> int | None:
    """Return the bytes that can still be used, or None where nothing tells.

    That is the least of what the system has available, of what the memory limits of this process's
    control groups leave (version 2 or 1, files that can be dropped not counted as used), and of
    ``SLURM_MEM_PER_NODE``.

    Args:
        root: Where ``proc`` and ``sys`` are.
        environ: By default the process's environment variables.
    """
    slurm = (os.environ if environ is None else environ).get("SLURM_MEM_PER_NODE", "")
    found = [*_available(root / "proc/meminfo"), *_left_by_groups(root)]
    if slurm.isdecimal() and int(slurm):  # 0 is all that the node has
        found.append(int(slurm) * 2**20)
    return min(found, default=None)


def _available(meminfo: Path) -> Iterator[int]:
    """Yield what the system says is available."""
    kilobytes = _table(meminfo).get("MemAvailable:")
    if kilobytes is not None:
        yield kilobytes * 1024


def _left_by_groups(root: Path) -> Iterator[int]:
    """Yield what each limit on this process's control groups and those above them leaves."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            files, limit, usage, cache = "", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            files, limit, usage = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        top = root / "sys/fs/cgroup" / files
        folder = top / group.lstrip("/")
        # In a container the group's path may be one of the host, of which only the top is seen.
        for place in (folder, *folder.parents):
            if not place.is_relative_to(top):
                break
            numbers = [_number(place / name) for name in (limit, usage)]
            if numbers[0] is not None and numbers[1] is not None:
                droppable = _table(place / "memory.stat").get(cache, 0)
                yield max(0, numbers[0] - numbers[1] + droppable)


def _number(path: Path) -> int | None:
    """Return the whole number in a file; None where there is none, as for no limit."""
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _table(path: Path) -> dict[str, int]:
    """Return the lines of a file that begin with a name and a whole number."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    words = (line.split() for line in lines)
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdecimal()}
