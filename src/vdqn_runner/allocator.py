"""The C library's allocator, told to keep what is given back to it.

Losses in torch take and give back the same megabytes at every update. Where the allocator hands
them to the system each time, getting them again, page by page, takes up to a third of the time
(Double VDQN, ten seeds, a deep sea of 30).
"""

import ctypes
import platform

# <malloc.h>
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3

KEPT = 512 * 2**20
"""Bytes at the end of the heap that may stay unused."""

LARGEST = 32 * 2**20
"""Bytes up to which a piece of memory comes from the heap: the most that glibc allows."""


def keep_freed_memory() -> bool:
    """Keep freed memory for the next update, in the whole process; return whether that is so.

    Only glibc is asked. Results are the same; pieces that lie apart cost a few megabytes.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_M_TRIM_THRESHOLD, KEPT) and mallopt(_M_MMAP_THRESHOLD, LARGEST))
