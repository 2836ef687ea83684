"""Frozen selections of dead letters."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.replays.models.reach import of_selection
from dlqadmin.teams.managers import InReach


class Selection(models.Model):
    """A frozen set of dead letters: a filter or ids, up to a watermark, with count and digest.

    `filters` is `{"from", "to", "include", "exclude"}` with absolute times, or `{"ids": […]}`. The digest is the
    SHA-256 of the ids in ascending order, each as eight big-endian bytes.

    `continues` is the replay whose unfinished records it has.
    """

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    filters = models.JSONField()
    title = models.CharField(max_length=300)
    watermark = models.BigIntegerField()
    count = models.IntegerField()
    digest = models.CharField(max_length=64)
    continues = models.ForeignKey(
        "replays.Replay", null=True, blank=True, on_delete=models.SET_NULL, related_name="continuations"
    )
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the request body that came with the key

    objects = InReach["Selection"].by(of_selection("pk"))

    def __str__(self) -> str:
        return f"S-{self.pk}"


class SelectionSource(models.Model):
    """A topic and connector of a selection's records, written when the selection is frozen.

    People of a team reach a selection only if they reach all of its sources.
    """

    selection = models.ForeignKey(Selection, on_delete=models.CASCADE, related_name="sources", db_index=False)
    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    connector = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["selection", "cluster", "topic", "connector"], name="selection_source_once")
        ]

    def __str__(self) -> str:
        return f"{self.selection_id}: {self.cluster}/{self.topic} {self.connector}"
