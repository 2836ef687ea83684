"""Drafts of the messages to send in place of failed records, made one by one or in bulk."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.models.reach import of_source
from dlqadmin.jobs.models import Job
from dlqadmin.replays.models.reach import of_selection
from dlqadmin.replays.models.selections import Selection
from dlqadmin.teams.managers import InReach
from dlqadmin.teams.reach import Reach, of_colleagues

MAX_NAME = 100


class BulkFixKind(models.TextChoices):
    """The language of a bulk fix's program. OFFLINE: the records were imported from a file."""

    JQ = "jq"
    PATCH = "patch"
    FIELDS = "fields"
    OFFLINE = "offline"


class BulkFixStatus(models.TextChoices):
    """The status of a bulk fix.

    - PREVIEWED: the sample was shown, nothing is stored yet.
    - DONE: its drafts are stored.
    - CANCELLED: stopped by a person, or its undo was given up. Its drafts stay until it is undone.
    - UNDOING: its drafts are being deleted, slice by slice. It becomes UNDONE if it was done before, else FAILED.
    """

    PREVIEWED = "previewed"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNDOING = "undoing"
    UNDONE = "undone"


class BulkFix(Job):
    """One change to every record of a selection. It makes drafts of its author, linked to it.

    - `counts`: `{"matched", "changed", "untouched", "invalid", "kept"}` over the selection so far. Also `replace`,
      whether existing drafts are replaced, and `why`, the first reasons of invalid records: `[{"text", "count",
      "dead_letter"}]`.
    - `sample`: the records that were tried before.
    - `name`: what its author calls it. Everybody sees it.
    - `progress`: the last dead letter that was looked at. In the second round, which replaces drafts, it continues
      after the selection's watermark.
    """

    selection = models.ForeignKey(Selection, on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=MAX_NAME, blank=True, default="", db_default="")
    kind = models.CharField(max_length=10, choices=BulkFixKind)
    program = models.TextField()
    status = models.CharField(max_length=10, choices=BulkFixStatus, default=BulkFixStatus.PREVIEWED)
    counts = models.JSONField(default=dict)
    sample = models.JSONField(default=list)
    progress = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the request body that came with the key

    objects = InReach["BulkFix"].by(of_selection("selection_id"))

    def __str__(self) -> str:
        return f"B-{self.pk}"


def _of_programs(reach: Reach) -> models.Q:
    """Return the condition of programs in reach: versions by their selection, templates by their author's teams."""
    return (models.Q(selection=None) & of_colleagues(reach, "author")) | of_selection("selection_id")(reach)


class FixProgram(models.Model):
    """A program of a bulk fix: a version that was previewed, or a template if it has a name.

    - `selection`: of a version. A template has none.
    - `is_shared`: the template is for everybody. Its author alone can delete it.
    - `counts`: of the latest preview: `{"matched", "changed", "untouched", "invalid", "counted_all"}`.
    - `created_at`: of a version the time of the latest preview.
    """

    selection = models.ForeignKey(Selection, null=True, on_delete=models.CASCADE, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    kind = models.CharField(max_length=10, choices=BulkFixKind)
    program = models.TextField()
    name = models.CharField(max_length=MAX_NAME, null=True, blank=True)
    is_shared = models.BooleanField(default=False)
    counts = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    objects = InReach["FixProgram"].by(_of_programs)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["author", "name"], name="fix_template_once")]
        indexes = [models.Index(fields=["name"], condition=models.Q(name__isnull=False), name="fix_template_name")]

    def __str__(self) -> str:
        return f"P-{self.pk}" if self.name is None else self.name


class Fix(models.Model):
    """A person's draft of a dead letter's record: the whole message to send."""

    dead_letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    headers = models.BinaryField()
    digest = models.CharField(max_length=64)
    # The bulk fix that made it.
    bulk = models.ForeignKey(BulkFix, null=True, on_delete=models.SET_NULL, related_name="drafts")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = InReach["Fix"].by(lambda _: of_source("dead_letter__"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dead_letter", "author"], name="fix_once_each")]
        indexes = [models.Index(fields=["author", "-updated_at"], name="fix_of_author")]

    def __str__(self) -> str:
        return f"F-{self.pk}"


class ReplacedDraft(models.Model):
    """A draft as it was before the bulk fix `by` replaced it. Undoing `by` restores it.

    The rows of one draft form a chain. The last row was made by a person. All others were made by `bulk`, which is the
    `by` of the next row. Editing or discarding the draft by hand deletes the chain. To change a row, lock the row of
    its draft.
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

    objects = InReach["ReplacedDraft"].by(lambda _: of_source("fix__dead_letter__"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["by", "fix"], name="replaced_once_each")]

    def __str__(self) -> str:
        return f"{self.fix_id} before {self.by_id}"


class Rehearsal(models.Model):
    """Records run through their own connector's stages without side effects.

    `wanted` is `{"dead_letters": […], "draft"}`, `{"bulk", "sample"}` or `{"source", "value"}`. `result` has an entry
    for each record once `done_at` is set.
    """

    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    wanted = models.JSONField()
    result = models.JSONField(default=list)
    trouble = models.TextField(blank=True)
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"T-{self.pk}"
