"""The rows of a seed's logs that have come since the last look."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from vdqn_runner.errors import RunError
from vdqn_runner.runs.folder import EPISODES, EVALUATIONS, TIMING, UPDATES
from vdqn_runner.trackers.points import Row

LOGS = (EPISODES, UPDATES, EVALUATIONS, TIMING)


class Tail:
    """One log, read from where the last look ended.

    A row is passed over only once it stays (see ``rows``), so a log that is cut back and written
    again in between is read as if it had never been.
    """

    def __init__(self, path: Path, open_log: Callable[[], BinaryIO] | None = None) -> None:
        """``open_log`` opens what is read, by default the file at ``path``."""
        self._path = path
        self._open = open_log or (lambda: path.open("rb"))
        self._columns: list[str] = []
        self._offset = 0

    def rows(self, upto: int, most: int | None = None) -> list[Row]:
        """Return the next rows whose step is at most ``upto``; no more than ``most``.

        A log that is not there has none.

        Raises:
            RunError: It cannot be read, or is none.
        """
        found: list[Row] = []
        try:
            with self._open() as file:
                if not self._columns:
                    header = file.readline()
                    if not header.endswith(b"\n"):
                        return []
                    self._columns = header.decode().rstrip("\n").split(",")
                    self._offset = len(header)
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n") or len(found) == most:
                        break
                    cells = line.decode().rstrip("\n").split(",")
                    row = dict(zip(self._columns, cells, strict=True))
                    if int(row["step"]) > upto:
                        break
                    found.append(row)
                    self._offset += len(line)
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError) as error:
            raise RunError(f"{self._path}: is no log that can be read: {error}") from error
        return found


class SeedLogs:
    """All logs of a seed, read together."""

    def __init__(self, tails: Mapping[str, Tail]) -> None:
        """``tails`` are the logs by file name."""
        self._tails = tails

    def next(self, upto: int, episodes: int) -> tuple[int, dict[str, list[Row]]]:
        """Return the next rows of all logs: those of some episodes, and what belongs to them.

        Args:
            upto: The last step whose rows stay.
            episodes: No more episodes than this.

        Returns:
            The step up to which nothing is left out, and the rows by file name.

        Raises:
            RunError: A log cannot be read.
        """
        tables = {EPISODES: self._tails[EPISODES].rows(upto, episodes)}
        # Rows of the other logs are written at the end of an episode, at its step.
        if len(tables[EPISODES]) == episodes:
            upto = int(tables[EPISODES][-1]["step"])
        for name in LOGS[1:]:
            if name in self._tails:
                tables[name] = self._tails[name].rows(upto)
        return upto, tables
