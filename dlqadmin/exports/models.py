"""The table of exports that workers write."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.jobs.models import Job
from dlqadmin.teams.managers import InReach
from dlqadmin.teams.reach import of_sender


class ExportState(models.TextChoices):
    """The state of an export. DELETED means that its file expired or that a person deleted it."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETED = "deleted"


class Export(Job):
    """One file of dead letters: the request, the progress and the result.

    `filters` are the filters with absolute times; `query` is the list's query string that they came
    from. `expected` is null if the number of matches is unknown.

    `file` is a name in the exports folder, set when the file is complete. The file is deleted at
    `expires_at`.
    """

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    format = models.CharField(max_length=10)
    query = models.TextField(blank=True)
    filters = models.JSONField()
    watermark = models.BigIntegerField()
    expected = models.BigIntegerField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=ExportState, default=ExportState.QUEUED)
    rows = models.BigIntegerField(default=0)
    size = models.BigIntegerField(default=0)  # bytes
    sha256 = models.CharField(max_length=64, blank=True)
    file = models.CharField(max_length=100, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the body sent with the key

    objects = InReach["Export"].by(lambda _: of_sender("created_by"))

    class Meta:
        indexes = [models.Index(fields=["state"], name="export_state")]

    def __str__(self) -> str:
        return f"E-{self.pk}"
