"""One writer per seed folder, by a lock that the system drops when its process dies."""

import contextlib
import errno
import fcntl
import os
import socket
import threading
from pathlib import Path
from types import TracebackType

from vdqn_runner.errors import HeldError, RunError
from vdqn_runner.runs.atomic import cannot_write
from vdqn_runner.runs.folder import LOCK
from vdqn_runner.runs.provenance import utc_now

_TAKEN = frozenset({errno.EACCES, errno.EAGAIN})
_HOLDER_BYTES = 200

# A POSIX lock belongs to the process: the system grants it again to its holder, and drops it when
# the process closes any descriptor of the file. So the process itself remembers what it holds, by
# process id, since a forked child inherits this record but not the locks.
_held: set[tuple[int, Path]] = set()
_held_guard = threading.Lock()


class SeedLock:
    """Context manager that holds a seed's folder for this process.

    It is ``lockf``, not ``flock``: it works over NFS, and a child that outlives the holder does
    not keep it. The lock file names the holder; it stays, empty, when the lock is released, since
    removing it would let two processes lock two files of one name.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder; it is made (not its parents) when the lock is taken."""
        self.folder = folder
        self._descriptor = -1
        self._key = (0, folder)

    def __enter__(self) -> "SeedLock":
        """Take the lock.

        Raises:
            HeldError: another process, or this one, holds it (the message says who and since
                when).
            RunError: the file system has no locks, or the lock file cannot be written.
        """
        path = self.folder / LOCK
        self._key = (os.getpid(), path.absolute().resolve())
        with _held_guard:
            if self._key in _held:
                raise HeldError(f"{self.folder.name} is already being trained by this process")
            try:
                self.folder.mkdir(exist_ok=True)
                self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise cannot_write(path, error) from error
            try:
                self._take(path)
            except BaseException:
                os.close(self._descriptor)
                raise
            _held.add(self._key)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the lock; a child forked while it was held leaves it alone."""
        with _held_guard:
            if self._key[0] == os.getpid():
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            _held.discard(self._key)

    def _take(self, path: Path) -> None:
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise RunError(
                    f"{path} cannot be locked: {error.strerror}; put `out` on a file system "
                    "with POSIX locks"
                ) from error
            holder = os.read(self._descriptor, _HOLDER_BYTES).decode(errors="replace").strip()
            raise HeldError(
                f"{self.folder.name} is being trained by {holder or 'another process'} "
                f"({self.folder})"
            ) from error
        holder = f"pid {os.getpid()} on {socket.gethostname()} since {utc_now()}\n"
        try:
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, holder.encode())
            os.fsync(self._descriptor)  # so that other hosts of a network file system can read it
        except OSError as error:
            raise cannot_write(path, error) from error
