"""The folder of files that workers wrote: names, and which part of a file a client wants.

Other dashboards may have the same folder: names begin with what only this one has.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.db.migrations.recorder import MigrationRecorder
from rest_framework.exceptions import APIException

RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})", re.ASCII)


class RangeNotSatisfiable(APIException):
    """The client asked for bytes behind the end of the file."""

    status_code = 416
    default_detail = "The file is shorter than that."
    default_code = "range"


def path(name: str) -> Path:
    """Where the file of this name is."""
    return Path(settings.EXPORTS_DIR) / name


def part(runner: str) -> str:
    """What a file that is not complete is called; each attempt writes its own."""
    return f"{_owner()}-{runner}.part"


def complete(export: str, runner: str, form: str) -> str:
    """What a complete file is called."""
    return f"{_owner()}-{export}-{runner}.{form}"


def own() -> re.Pattern[str]:
    """The names that this dashboard gives."""
    return re.compile(rf"{_owner()}-(E-\d+-)?[0-9a-f]{{32}}\.(part|ndjson|csv|parquet)", re.ASCII)


def create(where: Path) -> BinaryIO:
    """A new file that nobody else may read."""
    where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.fdopen(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def settle(file: BinaryIO, where: Path, name: str) -> None:
    """Give the complete file its name, once it is on the disk whatever happens to the machine."""
    file.flush()
    os.fsync(file.fileno())
    where.rename(path(name))


def free_bytes() -> int:
    """What is left on the disk of exports."""
    return shutil.disk_usage(settings.EXPORTS_DIR).free


def span(header: str | None, size: int) -> tuple[int, int] | None:
    """The first byte that is wanted and the last; None for the whole file. Raises RangeNotSatisfiable.

    Anything but one range from a byte on is answered with the whole file, as RFC 9110 §14.2 allows.
    """
    match = RANGE.fullmatch(header or "")
    if match is None:
        return None
    first, last = int(match[1]), min(int(match[2] or size), size - 1)
    if first >= size:
        raise RangeNotSatisfiable
    return (first, last) if first <= last else None


def _owner() -> str:
    """The cluster, and the moment that its database was made."""
    made = MigrationRecorder.Migration.objects.order_by("pk").values_list("applied", flat=True).first()
    return hashlib.sha256(f"{settings.CLUSTER} {made}".encode()).hexdigest()[:10]
