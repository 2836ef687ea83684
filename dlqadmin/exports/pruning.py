"""Deletes files whose time is over, and what killed workers left behind."""

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

LEFT_FOR = timedelta(days=1)  # a file that no row names and nobody writes to


def prune(now: datetime) -> None:
    """Delete what is past its time."""
    for export in Export.objects.filter(state=ExportState.DONE, expires_at__lt=now):
        forget(export, now)
    with suppress(FileNotFoundError), os.scandir(settings.EXPORTS_DIR) as entries:
        _clear(entries, (now - LEFT_FOR).timestamp())


def forget(export: Export, now: datetime) -> bool:
    """Delete the file, once the row says so; False when it has none."""
    done = Export.objects.filter(pk=export.pk, state=ExportState.DONE)
    if not done.update(state=ExportState.DELETED, expires_at=now):
        return False
    transaction.on_commit(lambda: files.path(export.file).unlink(missing_ok=True))
    return True


def _clear(entries: Iterable[os.DirEntry[str]], before: float) -> None:
    """Delete our own files that nobody has written to since; what can't be deleted stays until the next time."""
    own, named = files.own(), set(Export.objects.filter(state=ExportState.DONE).values_list("file", flat=True))
    for entry in entries:
        if own.fullmatch(entry.name) and entry.name not in named and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    Path(entry.path).unlink()
