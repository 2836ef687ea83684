"""The process from which Spark forks its Python workers, with the engine already loaded.

A worker begins its first lease at once, and workers share the memory of loaded modules. This module depends on
PySpark's own daemon, but not on leases.
"""

from __future__ import annotations

from engine import import_path

if __name__ == "__main__":
    import_path.close()  # before other imports, which modules in the working directory could replace

import gc
from contextlib import suppress
from importlib import import_module

from pyspark.daemon import manager

LOADED = "engine.assembly.lease"


def load() -> None:
    """Import the modules that leases need. Import errors are reported by the lease that needs the module."""
    with suppress(Exception):
        import_module(LOADED)
    gc.freeze()  # the collector would write to every object, and so copy the shared memory


if __name__ == "__main__":
    load()
    manager()
