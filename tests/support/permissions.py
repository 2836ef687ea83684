"""The permissions of a worker in tests: our own classes, and the files of the tests."""

from __future__ import annotations

import getpass
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.config.permissions import Permissions
from engine.config.worker import WorkerConfig, parse_worker

CLASSES = {"plugin.classes.allow": "tests.*"}
FILES = str(Path(tempfile.gettempdir(), f"pytest-of-{getpass.getuser()}").resolve())  # pytest's temporary directories
ALLOWED = {**CLASSES, "file.connectors.root": FILES}


def open_worker(properties: Mapping[str, str] | None = None, *classes: str) -> WorkerConfig:
    """Return a worker whose connectors may name any file, any client option, our own classes and `classes`."""
    worker = parse_worker(properties or {})
    return replace(worker, permissions=Permissions(("tests.*", *classes), "/", "All"))
