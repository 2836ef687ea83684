"""The table of the files that workers write."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ExportState(models.TextChoices):
    """Where an export stands. DELETED: its file is gone, by its age or by a person."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETED = "deleted"


class Export(models.Model):
    """One file of dead letters: what was asked for, how far it is, and what it holds.

    `filters` are the filters with absolute times, `query` the list's address that they came from. `expected` is
    null where nobody knows how many match. A worker holds the export by `runner` and keeps `heartbeat` fresh.
    `file` is a name in the folder of exports, given when the file is complete; `expires_at` is when it is deleted.
    """

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    format = models.CharField(max_length=10)
    query = models.TextField(blank=True)
    filters = models.JSONField()
    watermark = models.BigIntegerField()
    expected = models.BigIntegerField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=ExportState, default=ExportState.QUEUED)
    trouble = models.TextField(blank=True)
    runner = models.CharField(max_length=32, blank=True)
    heartbeat = models.DateTimeField(null=True, blank=True)
    attempts = models.IntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    size = models.BigIntegerField(default=0)  # bytes
    sha256 = models.CharField(max_length=64, blank=True)
    file = models.CharField(max_length=100, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the body that came with the key

    class Meta:
        indexes = [models.Index(fields=["state"], name="export_state")]

    def __str__(self) -> str:
        return f"E-{self.pk}"
