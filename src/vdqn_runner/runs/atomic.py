"""Files that are either the old one or the new one, whatever happens in between."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from vdqn_runner.errors import RunError

# What a file system says that has no use for the fsync of a folder.
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})

_ROOM = "; make room, then the same command goes on"
_WRITABLE = "; make it writable or choose another folder"
_HINTS = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "; raise the limit of file sizes (ulimit -f), then the same command goes on",
    errno.EROFS: _WRITABLE,
    errno.EACCES: _WRITABLE,
    errno.EPERM: _WRITABLE,
    errno.ENOENT: "; its folder is gone",
}


def temporary_path(path: Path) -> Path:
    """Return where ``path`` is written before it is renamed into place.

    The name is fixed, so a killed writer leaves at most one such file and the next one reuses it.
    Hence only one process at a time may write ``path``: in a seed folder the holder of its lock.
    """
    return path.with_name(path.name + ".tmp")


def write_synced(
    path: Path, chunks: Iterable[bytes | memoryview], known_as: Path | None = None
) -> None:
    """Write ``path`` anew and return once its bytes are on the disk.

    Args:
        path: The file.
        chunks: Its content, in order.
        known_as: What an error calls the file; its path if None.

    Raises:
        RunError: the file cannot be written (no space, no permission).
    """
    try:
        with open(path, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise cannot_write(known_as or path, error) from error


def sync_folder(folder: Path) -> None:
    """Return once the renames made in ``folder`` are on the disk, where the system can promise it.

    Raises:
        RunError: the disk reports an error.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise cannot_write(folder, error) from error


def write_atomic(
    path: Path, chunks: Iterable[bytes | memoryview], temporary: Path | None = None
) -> None:
    """Replace ``path`` in one instant: readers see all of the old file or all of the new one.

    Args:
        path: The file to write.
        chunks: Its content, in order.
        temporary: Another file in the same folder to write first; ``temporary_path(path)`` if None.

    Raises:
        RunError: the file cannot be written; ``path`` is then as it was.
    """
    temporary = temporary or temporary_path(path)
    write_synced(temporary, chunks, path)
    try:
        os.replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    sync_folder(path.parent)


def cannot_make(folder: Path, error: OSError) -> RunError:
    """Return the one-line error for a folder that cannot be made, with those above it."""
    if error.errno != errno.ENOENT:
        return cannot_write(folder, error)
    # Nothing is gone: whatever is missing above it would have been made.
    there = next((above for above in folder.parents if above.exists()), folder.parent)
    return RunError(f"{folder} cannot be made: {there} takes no folders; choose another")


def cannot_write(path: Path, error: OSError) -> RunError:
    """Return the one-line error for a file that the system refuses to write."""
    hint = _HINTS.get(error.errno or 0, "")
    return RunError(f"{path} cannot be written: {error.strerror or error}{hint}")
