"""Deletion of expired files, and of partial files that killed workers left behind."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction

from dlqadmin.exports import files
from dlqadmin.exports.models import Export, ExportState

LEFT_FOR = timedelta(days=1)  # for a file that no row names and no worker writes to


def prune(now: datetime) -> None:
    """Delete expired exports and abandoned files."""
    for export in Export.objects.filter(state=ExportState.DONE, expires_at__lt=now):
        forget(export, now)
    with suppress(FileNotFoundError), os.scandir(settings.EXPORTS_DIR) as entries:
        _clear(entries, (now - LEFT_FOR).timestamp())


def forget(export: Export, now: datetime) -> bool:
    """Mark the export as deleted, then delete its file. Returns False if it has no file."""
    done = Export.objects.filter(pk=export.pk, state=ExportState.DONE)
    if not done.update(state=ExportState.DELETED, expires_at=now):
        return False
    transaction.on_commit(lambda: files.path(export.file).unlink(missing_ok=True))
    return True


def _clear(entries: Iterable[os.DirEntry[str]], before: float) -> None:
    """Delete our own files without recent writes. A file that cannot be deleted stays until the next run."""
    own, named = files.own(), set(Export.objects.filter(state=ExportState.DONE).values_list("file", flat=True))
    for entry in entries:
        if own.fullmatch(entry.name) and entry.name not in named and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    Path(entry.path).unlink()
