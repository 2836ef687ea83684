"""What a chunk has freed is kept for the next one.

The C library gives memory back to the system as soon as some of it is free at its end, and takes it again for the next
record, page by page: where a sink writes JSON that costs more than the writing (`docs/performance.md`).
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
KEPT_BYTES = 64 * 1024 * 1024
LARGEST_BYTES = 32 * 1024 * 1024  # larger blocks come from the system and go back there: no more is allowed


def keep_freed() -> None:
    """For this process, from now on. Where the C library is another one, nothing happens."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(M_MMAP_THRESHOLD, LARGEST_BYTES)
