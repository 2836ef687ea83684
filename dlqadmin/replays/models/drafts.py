"""How a person wants failed records to be sent: drafts, one at a time or in bulk."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models.selections import Selection


class BulkFixKind(models.TextChoices):
    """How a bulk fix says what shall change; OFFLINE: the records came back in a file."""

    JQ = "jq"
    PATCH = "patch"
    FIELDS = "fields"
    OFFLINE = "offline"


class BulkFixStatus(models.TextChoices):
    """Where a bulk fix stands. PREVIEWED: the sample was looked at, nothing is kept yet; DONE: its drafts are there.

    UNDOING: its drafts go, slice by slice; it is FAILED then if it never was done, or else UNDONE.
    """

    PREVIEWED = "previewed"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNDOING = "undoing"
    UNDONE = "undone"


class BulkFix(models.Model):
    """One change to every record of a selection. What it makes are drafts of its author, which say so.

    `counts` is `{"matched", "changed", "untouched", "invalid", "kept"}` over the whole selection, so far, with
    `replace` (do drafts that are there give way?) and `why` (`[{"text", "count", "dead_letter"}]`: the first reasons
    of what is invalid); `sample` the records that were tried before; `progress` the last dead letter looked at, counted
    on from behind the selection's watermark in the second round, which replaces drafts.
    """

    selection = models.ForeignKey(Selection, on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    kind = models.CharField(max_length=10, choices=BulkFixKind)
    program = models.TextField()
    status = models.CharField(max_length=10, choices=BulkFixStatus, default=BulkFixStatus.PREVIEWED)
    counts = models.JSONField(default=dict)
    sample = models.JSONField(default=list)
    trouble = models.TextField(blank=True)
    progress = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    touched_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the body that came with the key

    def __str__(self) -> str:
        return f"B-{self.pk}"


class Fix(models.Model):
    """One person's draft of a dead letter's record: its whole message as it shall be sent."""

    dead_letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    headers = models.BinaryField()
    digest = models.CharField(max_length=64)
    bulk = models.ForeignKey(BulkFix, null=True, on_delete=models.SET_NULL, related_name="drafts")  # that made it
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dead_letter", "author"], name="fix_once_each")]
        indexes = [models.Index(fields=["author", "-updated_at"], name="fix_of_author")]

    def __str__(self) -> str:
        return f"F-{self.pk}"


class ReplacedDraft(models.Model):
    """What a draft was before the bulk fix `by` replaced it, to be that again when `by` is undone.

    Those of one draft are a chain: each was made by a person (then it is the last one) or by `bulk`, which is the `by`
    of the next one. It ends where the draft is edited by hand or discarded. Whoever touches one holds its draft's row.
    """

    by = models.ForeignKey(BulkFix, on_delete=models.CASCADE, related_name="replaced", db_index=False)
    fix = models.ForeignKey(Fix, on_delete=models.CASCADE, related_name="before")
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    headers = models.BinaryField()
    digest = models.CharField(max_length=64)
    bulk = models.ForeignKey(BulkFix, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["by", "fix"], name="replaced_once_each")]

    def __str__(self) -> str:
        return f"{self.fix_id} before {self.by_id}"


class Rehearsal(models.Model):
    """Records as they would be sent, through their own connector's stages, without effect; a result for each.

    `wanted` is `{"dead_letters": […]}` or `{"bulk": 3}`; `result` is filled when `done_at` is set.
    """

    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    wanted = models.JSONField()
    result = models.JSONField(default=list)
    trouble = models.TextField(blank=True)
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"T-{self.pk}"
