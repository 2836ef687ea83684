"""What a person decided about dead letters that are not to be replayed."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models.selections import Selection


class DisposalKind(models.TextChoices):
    """DISCARDED: not worth a replay; PARKED: not now; HANDLED: put right elsewhere. None of them touches Kafka."""

    DISCARDED = "discarded"
    PARKED = "parked"
    HANDLED = "handled"


class DisposalAct(models.Model):
    """One decision about a selection, carried out slice by slice; without a kind it restores.

    `undoes` is the act whose disposals it takes away, and no others. `progress` is the last dead letter that was
    looked at; `changed` are disposed of or restored by now, `kept` were as others had left them, `busy` were in a
    running replay by then.
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
    touched_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the body that came with the key

    def __str__(self) -> str:
        return f"D-{self.pk}"


class Disposal(models.Model):
    """One dead letter's; while it stands, no replay sends the record. Restoring takes the row away."""

    dead_letter = models.OneToOneField(DeadLetter, on_delete=models.CASCADE, related_name="+")
    act = models.ForeignKey(DisposalAct, null=True, on_delete=models.PROTECT, related_name="disposals")
    kind = models.CharField(max_length=10, choices=DisposalKind)
    reason = models.TextField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["kind", "-at"], name="disposal_time")]

    def __str__(self) -> str:
        return f"{self.dead_letter_id} {self.kind}"
