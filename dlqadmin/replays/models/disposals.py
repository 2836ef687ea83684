"""Disposals: people's decisions not to replay dead letters."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.models.reach import of_source
from dlqadmin.jobs.models import Job
from dlqadmin.replays.models.reach import of_selection
from dlqadmin.replays.models.selections import Selection
from dlqadmin.teams.managers import InReach


class DisposalKind(models.TextChoices):
    """The kinds of disposals. None of them changes Kafka.

    - DISCARDED: not worth a replay.
    - PARKED: not now.
    - HANDLED: repaired elsewhere.
    """

    DISCARDED = "discarded"
    PARKED = "parked"
    HANDLED = "handled"


class DisposalAct(Job):
    """One decision about a selection, applied slice by slice. An empty `kind` restores.

    - `undoes`: the act whose disposals it removes; it removes no others.
    - `progress`: the last dead letter that was looked at.
    - `changed`: number of dead letters that were disposed of or restored so far.
    - `kept`: number that were left as decided before.
    - `busy`: number that were in a running replay.
    - `done_at`: when it was done, ended by its undo, or given up. If it was given up, `trouble` has the reason.
    """

    selection = models.ForeignKey(Selection, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=DisposalKind, blank=True)
    undoes = models.OneToOneField("self", null=True, blank=True, on_delete=models.PROTECT, related_name="undone_by")
    reason = models.TextField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    progress = models.BigIntegerField(default=0)
    changed = models.IntegerField(default=0)
    kept = models.IntegerField(default=0)
    busy = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the request body that came with the key

    objects = InReach["DisposalAct"].by(of_selection("selection_id"))

    def __str__(self) -> str:
        return f"D-{self.pk}"


class Disposal(models.Model):
    """The disposal of one dead letter. No replay sends a record with a disposal.

    Restoring deletes the row.
    """

    dead_letter = models.OneToOneField(DeadLetter, on_delete=models.CASCADE, related_name="+")
    act = models.ForeignKey(DisposalAct, null=True, on_delete=models.PROTECT, related_name="disposals")
    kind = models.CharField(max_length=10, choices=DisposalKind)
    reason = models.TextField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField()

    objects = InReach["Disposal"].by(lambda _: of_source("dead_letter__"))

    class Meta:
        indexes = [models.Index(fields=["kind", "-at"], name="disposal_time")]

    def __str__(self) -> str:
        return f"{self.dead_letter_id} {self.kind}"
