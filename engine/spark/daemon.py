"""The process that Spark forks its Python workers from, with the engine loaded before the first of them.

So a worker begins its first lease at once, and workers share the memory of what is loaded. Knows PySpark's own daemon,
and nothing of leases.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

from pyspark.daemon import manager

LOADED = "engine.assembly.lease"


def load() -> None:
    """Import what leases need; whatever keeps that from being imported is told by the lease that misses it."""
    with suppress(Exception):
        import_module(LOADED)
    gc.freeze()  # the collector would write to every object of the shared memory


if __name__ == "__main__":
    load()
    manager()
