"""Keep freed memory in the process for the next chunk.

The C library returns memory to the system as soon as some is free at the end of the heap. The next record then takes it
again, page by page. For a sink that writes JSON, this costs more than the writing (`docs/performance.md`).
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h
KEPT_BYTES = 64 * 1024 * 1024
LARGEST_BYTES = 32 * 1024 * 1024  # larger blocks go back to the system at once; glibc allows no higher threshold


def keep_freed() -> None:
    """Set the thresholds for this process; do nothing with another C library than glibc."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(M_MMAP_THRESHOLD, LARGEST_BYTES)
