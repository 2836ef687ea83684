"""The worker's side of exports: claim the next export, write its file, update its row.

Each try writes its own partial file, and renames it to the export's name only when it is
complete. A killed worker leaves a partial file behind, which `file_expiry.prune` deletes. Another
worker then starts again from the beginning.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, BinaryIO

import msgspec
from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut
from dlqadmin.exports import files
from dlqadmin.exports.formats import pieces
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.exports.row_reader import QUERY_S
from dlqadmin.jobs import runs
from dlqadmin.jobs.claims import JobKind, held

TELL_EVERY_S = 1.0
SPARE_BYTES = 1_000_000_000  # kept free, because the database may be on the same disk

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The export was cancelled, or another worker claimed it."""


class ExportRefused(Exception):
    """The export cannot be written. The message tells the requester why."""


class ExportFileSummary(msgspec.Struct, frozen=True):
    """The row count, size and checksum of a complete file."""

    rows: int
    size: int
    sha256: str


def write_next(clock: Callable[[], float] = time.monotonic) -> bool:
    """Write the oldest export that no worker writes. Returns False if there is none."""
    return runs.run_next(EXPORTS, lambda export: _attempt(export, clock))


def _attempt(export: Export, clock: Callable[[], float]) -> bool:
    part = files.path(files.part(export.claim_token))
    try:
        with files.create(part) as file:
            written = _write(export, file, clock)
            name = files.complete(str(export), export.claim_token, export.format)
            files.settle(file, part, name)
        _done(export, name, written, timezone.now())
    except Stopped:
        pass
    except runs.DATABASE_AWAY:
        raise
    except Exception as error:  # noqa: BLE001 (whatever else prevents the file would prevent the next try too)
        _failed(export, _why(export, error), timezone.now())
    finally:
        with suppress(OSError):  # pruning deletes it later
            part.unlink(missing_ok=True)
    return False


def _why(export: Export, error: Exception) -> str:
    """Return a sentence for the person who requested the export."""
    if isinstance(error, ExportRefused):
        return str(error)
    if isinstance(error, OSError):
        return f"The file can't be written: {error.strerror}."
    if isinstance(error, QueryTimedOut):
        return f"The database took longer than {QUERY_S:.0f} s to read the next records. Narrow the time range."
    log.error("%s failed", export, exc_info=error)
    return f"The file can't be written: {type(error).__name__}. The worker's log has the stack trace."


def _write(export: Export, file: BinaryIO, clock: Callable[[], float]) -> ExportFileSummary:
    """Write the whole file and report progress every second. Raises Stopped and Refused."""
    digest, size, rows, told = hashlib.sha256(), 0, 0, clock()
    filters, reader = msgspec.convert(export.filters, Filters), reader_of(export.created_by)
    if not reader.reads_any:
        raise ExportRefused(
            f"{export.created_by or 'The account that asked for it'} may not read these records. {NEEDS_PAYLOAD_READER}"
        )
    for piece in pieces(export.format, filters, export.watermark, reader):
        file.write(piece.data)
        digest.update(piece.data)
        size, rows = size + len(piece.data), piece.rows
        if rows > settings.EXPORT_MAX_ROWS:
            raise ExportRefused(
                f"More than {settings.EXPORT_MAX_ROWS} records match, the limit for one file. Narrow the filter."
            )
        if clock() - told >= TELL_EVERY_S:
            told = clock()
            _tell(export, rows, size)
    return ExportFileSummary(rows, size, digest.hexdigest())


def _tell(export: Export, rows: int, size: int) -> None:
    if not _held(export).update(rows=rows, size=size, heartbeat=timezone.now()):
        raise Stopped
    if files.free_bytes() < SPARE_BYTES:
        raise ExportRefused("The disk of the exports has less than 1 GB left.")


def _done(export: Export, name: str, written: ExportFileSummary, now: datetime) -> None:
    ended: dict[str, Any] = {"rows": written.rows, "size": written.size, "sha256": written.sha256, "file": name}
    expires = now + timedelta(days=settings.EXPORT_DAYS)
    if not _held(export).update(state=ExportState.DONE, done_at=now, expires_at=expires, **ended):
        files.path(name).unlink()


def _failed(export: Export, trouble: str, now: datetime) -> None:
    _held(export).update(state=ExportState.FAILED, trouble=trouble, done_at=now)


def _held(export: Export) -> QuerySet[Export]:
    """Select the export's row, if this worker still holds it."""
    return held(export).filter(state=ExportState.RUNNING)


def _begun(now: datetime) -> dict[str, Any]:
    return {"state": ExportState.RUNNING, "started_at": now, "rows": 0, "size": 0}


EXPORTS = JobKind(
    Export,
    unfinished=Q(state__in=(ExportState.QUEUED, ExportState.RUNNING)),
    lease=timedelta(minutes=2),  # longer than it may take to find and read the next rows
    give_up=_failed,
    begun=_begun,
    related=("created_by",),
)
