"""The check that a worker of a cluster can run leases: its copy of the engine, and its dependencies.

The driver sends these functions by value and not by name. So they run on a worker that lacks the engine, and import
nothing but the standard library before the check has passed.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

# Third-party modules that the code of leases imports. tests/spark/test_worker_check.py compares them with the code.
DEPENDENCIES = (
    "cachetools",
    "cbor2",
    "confluent_kafka",
    "cryptography",
    "deltalake",
    "fastavro",
    "google.protobuf",
    "httpcore2",
    "httpx2",
    "jsonschema",
    "msgpack",
    "msgspec",
    "obstore",
    "orjson",
    "psycopg",
    "pyarrow",
    "referencing",
    "regex",
    "sqlalchemy",
    "zstandard",
)


def run_checked(
    archive: str | None, dependencies: Sequence[str], function: str, payload: bytes, _rows: Iterator[int]
) -> Iterator[bytes | str]:
    """Run the lease in `payload`. Yield its encoded answer, or the sentence with which this worker is refused.

    `archive` is the file name of the driver's archive. A worker of a local master needs none.
    """
    refusal = None if archive is None else find_refusal(archive, dependencies)
    if refusal is not None:
        yield refusal
        return
    from engine.spark.worker import run_encoded

    yield run_encoded(function, payload)


def find_refusal(archive: str, dependencies: Sequence[str]) -> str | None:
    """Return why this worker can't run leases, as one sentence. Return None if it can."""
    host = socket.gethostname()
    try:
        source = Path(import_module("engine").__path__[0]).parent
    except ImportError:
        return (
            f"The worker on {host} can't import the engine from {archive}: remove spark.executorEnv.* and"
            " spark.python.* options that replace its Python path."
        )
    if source.name != archive:
        return (
            f"The worker on {host} imports the engine from {source}, not from {archive} of the driver:"
            " remove the other copy from the worker's Python environment."
        )
    missing = [name for name in dependencies if not _is_installed(name)]
    if missing:
        return (
            f"The worker on {host} lacks {', '.join(missing)}: install the engine's requirements there,"
            " or send an environment that python -m engine.spark.pack has made."
        )
    return None


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # the parent package is missing
        return False
