"""A worker's part: takes the next export, writes its file, settles its row.

Whoever takes an export writes a file of its own, and gives it the export's name only when it is complete; one that was
killed leaves a part behind that `pruning` removes, and another worker begins anew.
"""

from __future__ import annotations

import hashlib
import logging
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, BinaryIO

import msgspec
from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone

from dlqadmin.deadletters.bounding import TimedOut
from dlqadmin.deadletters.filters import Filters
from dlqadmin.exports import files
from dlqadmin.exports.formats import pieces
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.exports.reading import QUERY_S

LOST_AFTER = timedelta(minutes=2)  # without a heartbeat: longer than the next rows may take to find and to read
MAX_ATTEMPTS = 3
TELL_EVERY_S = 1.0
SPARE_BYTES = 1_000_000_000  # on the disk, for the database that may be there too

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The export was cancelled, or another worker has it."""


class Refused(Exception):
    """The export can't be written; the words say why, to whoever asked for it."""


class Written(msgspec.Struct, frozen=True):
    """What a complete file holds."""

    rows: int
    size: int
    sha256: str


def write_next(clock: Callable[[], float] = time.monotonic) -> bool:
    """Write the oldest export that nobody writes; False when there is none."""
    export = _claim(timezone.now())
    if export is None:
        return False
    part = files.path(files.part(export.runner))
    try:
        with files.create(part) as file:
            written = _write(export, file, clock)
            name = files.complete(str(export), export.runner, export.format)
            files.settle(file, part, name)
        _done(export, name, written, timezone.now())
    except Stopped:
        pass
    except Exception as error:  # noqa: BLE001 (a row that is not settled is tried again, as if its worker had ended)
        _failed(export, _why(export, error), timezone.now())
    finally:
        with suppress(OSError):  # pruning tries again
            part.unlink(missing_ok=True)
    return True


def _why(export: Export, error: Exception) -> str:
    """A sentence for whoever asked for the export."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, OSError):
        return f"The file can't be written: {error.strerror}."
    if isinstance(error, TimedOut):
        return f"The database took longer than {QUERY_S:.0f} s to find or to read the next records."
    log.error("%s is not written", export, exc_info=error)
    return f"The file can't be written: {type(error).__name__}; the worker's log has the trace."


def _claim(now: datetime) -> Export | None:
    """Take the oldest that is queued, or whose worker is gone; of one that ended its workers too often none does."""
    lost = Q(state=ExportState.RUNNING) & Q(heartbeat__lt=now - LOST_AFTER)
    for found in Export.objects.filter(Q(state=ExportState.QUEUED) | lost).order_by("pk"):
        if found.attempts >= MAX_ATTEMPTS:
            _failed(found, f"Begun {MAX_ATTEMPTS} times; each time the worker or its database went away.", now)
            continue
        runner = uuid.uuid4().hex
        seen = Export.objects.filter(pk=found.pk, state=found.state, runner=found.runner)
        begun = {"started_at": now, "heartbeat": now, "rows": 0, "size": 0, "attempts": F("attempts") + 1}
        if seen.update(state=ExportState.RUNNING, runner=runner, **begun):
            found.refresh_from_db()
            return found
    return None


def _write(export: Export, file: BinaryIO, clock: Callable[[], float]) -> Written:
    """The whole file; tells every second how far it is. Raises Stopped and Refused."""
    digest, size, rows, told = hashlib.sha256(), 0, 0, clock()
    filters = msgspec.convert(export.filters, Filters)
    for piece in pieces(export.format, filters, export.watermark):
        file.write(piece.data)
        digest.update(piece.data)
        size, rows = size + len(piece.data), piece.rows
        if rows > settings.EXPORT_MAX_ROWS:
            raise Refused(f"More than {settings.EXPORT_MAX_ROWS} records match, the most that a file may hold.")
        if clock() - told >= TELL_EVERY_S:
            told = clock()
            _tell(export, rows, size)
    return Written(rows, size, digest.hexdigest())


def _tell(export: Export, rows: int, size: int) -> None:
    if not _held(export).update(rows=rows, size=size, heartbeat=timezone.now()):
        raise Stopped
    if files.free_bytes() < SPARE_BYTES:
        raise Refused("Less than 1 GB is left on the disk of exports.")


def _done(export: Export, name: str, written: Written, now: datetime) -> None:
    ended: dict[str, Any] = {"rows": written.rows, "size": written.size, "sha256": written.sha256, "file": name}
    expires = now + timedelta(days=settings.EXPORT_DAYS)
    if not _held(export).update(state=ExportState.DONE, done_at=now, expires_at=expires, **ended):
        files.path(name).unlink()


def _failed(export: Export, trouble: str, now: datetime) -> None:
    _held(export).update(state=ExportState.FAILED, trouble=trouble, done_at=now)


def _held(export: Export) -> Any:
    """The export's row, as long as it is the same worker's."""
    return Export.objects.filter(pk=export.pk, runner=export.runner, state=ExportState.RUNNING)
