"""Who trains a seed, found out without touching its lock."""

import fcntl
import os
import struct
from pathlib import Path

from vdqn_runner.runs.folder import LOCK

# struct flock: type, whence, start, length, process id; native sizes and padding.
_FLOCK = "hhqqi4x"


def is_held(seed_folder: Path) -> bool:
    """Whether a process trains this seed now, here or (on a shared file system) elsewhere.

    The lock is asked about, not taken, so that nobody who wants it is put off. A lock of this very
    process is not seen. Where a system does not answer, nobody does.
    """
    try:
        descriptor = os.open(seed_folder / LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, asked)
    except (OSError, struct.error):
        return False
    finally:
        os.close(descriptor)
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)
