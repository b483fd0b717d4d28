"""The two ways in which a command can end badly, and their exit codes."""

from collections.abc import Iterable, Mapping


class ConfigError(Exception):
    """A request that cannot be carried out as written; nothing has been created (exit code 2).

    The message is one line: the key, its value, what is allowed and the closest valid name.
    """


class RunError(Exception):
    """A run that started and could not go on (exit code 1).

    The message is one line that says what failed, where, and what to do about it.
    """


class SeedsFailedError(RunError):
    """Some seeds of a run could not go on, while the others did.

    Attributes:
        reasons: By seed, what is wrong with it, in one line.
    """

    def __init__(self, reasons: Mapping[int, str]) -> None:
        self.reasons = dict(reasons)
        seeds: dict[str, list[int]] = {}
        for seed, reason in sorted(self.reasons.items()):
            seeds.setdefault(reason, []).append(seed)
        super().__init__("; ".join(f"{seed_names(who)}: {why}" for why, who in seeds.items()))

    def __reduce__(self) -> tuple[type, tuple[dict[int, str]]]:
        """Workers send it to their parent."""
        return SeedsFailedError, (self.reasons,)


def seed_names(seeds: Iterable[int]) -> str:
    """Return ``seed 3`` or ``seeds 0, 2, 4``."""
    names = [str(seed) for seed in sorted(seeds)]
    return f"{'seed' if len(names) == 1 else 'seeds'} {', '.join(names)}"
