"""The two ways in which a command can end badly, and their exit codes."""

import os
from collections.abc import Iterable, Mapping

NOWHERE = "the folder in which it runs is gone; change to one that is there"
"""What to say where the working folder was deleted, of which the system's errors name nothing."""

_TOLD = 3


class ConfigError(Exception):
    """A request that cannot be carried out as written; nothing has been created (exit code 2).

    The message is one line: the key, its value, what is allowed and the closest valid name.
    """


class RunError(Exception):
    """A run that started and could not go on (exit code 1).

    The message is one line that says what failed, where, and what to do about it.
    """


class HeldError(RunError):
    """Another process trains the seeds: nothing failed, and nothing was done here."""


class SeedFailures(RunError):
    """Some seeds of a run could not go on; the others did.

    Attributes:
        reasons: One line for each seed that failed.
    """

    def __init__(self, reasons: Mapping[int, str]) -> None:
        """At least one seed."""
        self.reasons = dict(reasons)
        # What a copy in another process is made from.
        super().__init__(self.reasons)

    def __str__(self) -> str:
        """Seeds that failed alike together, and the first few reasons only."""
        seeds: dict[str, list[int]] = {}
        for seed, reason in sorted(self.reasons.items()):
            seeds.setdefault(reason, []).append(seed)
        told = [f"{seed_names(same)}: {reason}" for reason, same in seeds.items()]
        if len(told) <= _TOLD:
            return "; ".join(told)
        others = [seed for same in list(seeds.values())[_TOLD:] for seed in same]
        return "; ".join([*told[:_TOLD], f"and {seed_names(others)}, see their status.json"])


def os_error_line(error: OSError) -> str:
    """Return what the system says is wrong, and with which file."""
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return NOWHERE if working_folder_is_gone() else str(error)


def working_folder_is_gone() -> bool:
    """Whether the folder in which this process runs was deleted."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def seed_names(seeds: Iterable[int]) -> str:
    """Return ``seed 3`` or ``seeds 3, 5``."""
    names = [str(seed) for seed in sorted(seeds)]
    return f"{'seed' if len(names) == 1 else 'seeds'} {', '.join(names)}"
