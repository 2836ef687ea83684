"""File names in the exports folder, and HTTP byte ranges.

Several dashboards may share the folder, so names begin with a prefix that is unique to this one.
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
    """The client asked for bytes beyond the end of the file."""

    status_code = 416
    default_detail = "The file is shorter than this range."
    default_code = "range"


def path(name: str) -> Path:
    """Return the path of the file with this name."""
    return Path(settings.EXPORTS_DIR) / name


def part(token: str) -> str:
    """Return the name of a partial file. Each claim of an export writes its own."""
    return f"{_owner()}-{token}.part"


def complete(export: str, token: str, form: str) -> str:
    """Return the name of a complete file."""
    return f"{_owner()}-{export}-{token}.{form}"


def own() -> re.Pattern[str]:
    """Return the pattern of all names that this dashboard gives."""
    return re.compile(rf"{_owner()}-(E-\d+-)?[0-9a-f]{{32}}\.(part|ndjson|csv|parquet)", re.ASCII)


def create(where: Path) -> BinaryIO:
    """Create a file that other users cannot read."""
    where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The mode is set as the file is created, and O_EXCL follows no link that is already there under this name.
    return os.fdopen(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def settle(file: BinaryIO, where: Path, name: str) -> None:
    """Sync the complete file to disk, then give it its name. It then survives a crash of the machine."""
    file.flush()
    os.fsync(file.fileno())
    # A rename is atomic: a file with a final name is always complete.
    where.rename(path(name))


def free_bytes() -> int:
    """Return the free bytes on the disk that holds the exports."""
    return shutil.disk_usage(settings.EXPORTS_DIR).free


def span(header: str | None, size: int) -> tuple[int, int] | None:
    """Parse a Range header to the first and last byte. Raises RangeNotSatisfiable.

    Returns None for the whole file. Only a single range with a first byte is supported. Other headers
    are answered with the whole file, as RFC 9110 §14.2 allows.
    """
    match = RANGE.fullmatch(header or "")
    if match is None:
        return None
    first, last = int(match[1]), min(int(match[2] or size), size - 1)
    if first >= size:
        raise RangeNotSatisfiable
    return (first, last) if first <= last else None


def _owner() -> str:
    """Return a hash of the cluster name and the creation time of its database."""
    made = MigrationRecorder.Migration.objects.order_by("pk").values_list("applied", flat=True).first()
    return hashlib.sha256(f"{settings.CLUSTER} {made}".encode()).hexdigest()[:10]
