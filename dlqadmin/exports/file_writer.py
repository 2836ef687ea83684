"""The worker's side of exports: claim the next export, write its file, update its row.

Each attempt writes its own partial file, and renames it to the export's name only when it is
complete. A killed worker leaves a partial file behind, which `file_expiry.prune` deletes. Another
worker then starts again from the beginning.
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

from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import TimedOut
from dlqadmin.exports import files
from dlqadmin.exports.formats import pieces
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.exports.row_reader import QUERY_S

LOST_AFTER = timedelta(minutes=2)  # without a heartbeat; longer than it may take to find and read the next rows
MAX_ATTEMPTS = 3
TELL_EVERY_S = 1.0
SPARE_BYTES = 1_000_000_000  # kept free, because the database may be on the same disk

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The export was cancelled, or another worker claimed it."""


class Refused(Exception):
    """The export cannot be written. The message tells the requester why."""


class Written(msgspec.Struct, frozen=True):
    """The row count, size and checksum of a complete file."""

    rows: int
    size: int
    sha256: str


def write_next(clock: Callable[[], float] = time.monotonic) -> bool:
    """Write the oldest export that no worker writes. Returns False if there is none."""
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
        with suppress(OSError):  # pruning deletes it later
            part.unlink(missing_ok=True)
    return True


def _why(export: Export, error: Exception) -> str:
    """Return a sentence for the person who requested the export."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, OSError):
        return f"The file can't be written: {error.strerror}."
    if isinstance(error, TimedOut):
        return f"The database took longer than {QUERY_S:.0f} s to find or to read the next records."
    log.error("%s is not written", export, exc_info=error)
    return f"The file can't be written: {type(error).__name__}; the worker's log has the trace."


def _claim(now: datetime) -> Export | None:
    """Claim the oldest export that is queued or whose worker is gone.

    An export that has reached MAX_ATTEMPTS is failed instead of claimed.
    """
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
    """Write the whole file and report progress every second. Raises Stopped and Refused."""
    digest, size, rows, told = hashlib.sha256(), 0, 0, clock()
    filters, reader = msgspec.convert(export.filters, Filters), reader_of(export.created_by)
    if not reader.may_read:
        raise Refused(f"{export.created_by or 'The account that asked for it'} may not read it. {NEEDS_PAYLOAD_READER}")
    for piece in pieces(export.format, filters, export.watermark, reader):
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
    """Select the export's row, if this worker still holds it."""
    return Export.objects.filter(pk=export.pk, runner=export.runner, state=ExportState.RUNNING)
