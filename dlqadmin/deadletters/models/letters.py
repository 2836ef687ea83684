"""Dead letters: facts, bytes, traces and words."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from dlqadmin.deadletters.models.groups import Fingerprint
from dlqadmin.deadletters.models.reach import of_source
from dlqadmin.teams.managers import InReach


class Trace(models.Model):
    """The frames of a stack trace, stored once for all dead letters that share them.

    The lines with the exception messages belong to each dead letter: `DeadLetterBody.trace_heads`.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    text = models.TextField()

    def __str__(self) -> str:
        return self.digest


class Original(models.TextChoices):
    """The source of the original bytes.

    FORBIDDEN: not fetched, because the dead letter's topic may not point at the origin topic.
    ERASED: an administrator erased the content (`ErasedRecord`). It is never written again.
    """

    EMBEDDED = "embedded"
    FETCHED = "fetched"
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    FORBIDDEN = "forbidden", "Not fetched: not allowed"
    ERASED = "erased"


LOST = frozenset(
    {Original.EXPIRED, Original.UNKNOWN, Original.FORBIDDEN, Original.ERASED}
)  # the bytes are not available


class ReplayState(models.TextChoices):
    """The effect of the latest replay on a dead letter.

    The last three states record a person's decision instead.
    """

    NONE = "none"
    QUEUED = "queued"
    SENT = "sent"
    PASSED = "passed"
    FAILED_AGAIN = "failed_again"
    UNKNOWN = "unknown"
    DISCARDED = "discarded"
    PARKED = "parked"
    HANDLED = "handled"


# A mark's own state: failed again, and the newer dead letter of the same record is in the index. Everybody sees
# FAILED_AGAIN. The record is open work once, as its newer dead letter.
REPLACED = "replaced"


class WorkState(models.TextChoices):
    """The work that is left on a dead letter. Each one in the index has exactly one of these states."""

    OPEN = "open"
    REPLAYING = "replaying"
    PASSED = "passed"
    SET_ASIDE = "set_aside"


# The work state of each mark. The triggers of migration 0014 have the same table.
WORK_OF_MARK = {
    ReplayState.NONE.value: WorkState.OPEN,
    ReplayState.QUEUED.value: WorkState.REPLAYING,
    ReplayState.SENT.value: WorkState.REPLAYING,
    ReplayState.UNKNOWN.value: WorkState.REPLAYING,
    ReplayState.PASSED.value: WorkState.PASSED,
    ReplayState.FAILED_AGAIN.value: WorkState.OPEN,
    REPLACED: WorkState.SET_ASIDE,
    ReplayState.DISCARDED.value: WorkState.SET_ASIDE,
    ReplayState.PARKED.value: WorkState.SET_ASIDE,
    ReplayState.HANDLED.value: WorkState.SET_ASIDE,
}


class TimeSource(models.TextChoices):
    """The clock behind a dead letter's `failed_at`."""

    WRITER = "writer", "the writer states the time"
    APPEND = "append", "append time of the dead letter"
    CREATE = "create", "create time of the dead letter"
    INDEX = "index", "first indexed; the writer does not say when the record failed"


class DeadLetter(models.Model):
    """The facts of one record of a dead letter topic. Rows are narrow, so that lists and counts are fast."""

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    offset = models.BigIntegerField()
    failed_at = models.DateTimeField()
    time_source = models.CharField(max_length=8, choices=TimeSource, null=True, blank=True)  # null: an older version's
    first_failure_at = models.DateTimeField(null=True, blank=True)
    indexed_at = models.DateTimeField()
    elapsed_ms = models.BigIntegerField(null=True, blank=True)
    attempt = models.IntegerField(null=True, blank=True)
    connector = models.CharField(max_length=200, blank=True)
    task_id = models.CharField(max_length=220, blank=True)
    consumer_group = models.CharField(max_length=255, null=True, blank=True)
    origin_topic = models.CharField(max_length=249, blank=True)
    origin_partition = models.IntegerField(null=True, blank=True)
    origin_offset = models.BigIntegerField(null=True, blank=True)
    origin_timestamp = models.DateTimeField(null=True, blank=True)
    key_text = models.CharField(max_length=200, null=True, blank=True)
    key_hash = models.BigIntegerField(null=True, blank=True)
    key_size = models.BigIntegerField(null=True, blank=True)
    value_size = models.BigIntegerField(null=True, blank=True)
    message = models.CharField(max_length=500, blank=True)
    dialect = models.CharField(max_length=30)
    readable = models.BooleanField(default=True)
    truncated = models.CharField(max_length=100, null=True, blank=True)
    original = models.CharField(max_length=10, choices=Original, default=Original.EMBEDDED)
    replay_item = models.CharField(max_length=60, null=True, blank=True)  # from the record's header, if it was replayed
    replay_attempt = models.IntegerField(null=True, blank=True)
    fingerprint = models.ForeignKey(
        Fingerprint, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )  # no check by PostgreSQL: a fingerprint is never deleted
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)

    objects = InReach["DeadLetter"].by(lambda _: of_source())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "topic", "partition", "offset"], name="dead_letter_coordinates")
        ]
        indexes = [
            models.Index(fields=["-failed_at", "-id"], name="dead_letter_time"),
            models.Index(fields=["topic", "-failed_at", "-id"], name="dead_letter_topic"),
            models.Index(fields=["connector", "-failed_at", "-id"], name="dead_letter_connector"),
            models.Index(
                fields=["fingerprint", "-failed_at", "-id"], include=["key_hash"], name="dead_letter_of_fingerprint"
            ),
            models.Index(fields=["key_hash", "-failed_at", "-id"], name="dead_letter_key"),
            models.Index(
                fields=["origin_topic", "-failed_at", "-id"],
                include=["origin_partition"],
                name="dead_letter_origin_time",
            ),
            models.Index(fields=["origin_topic", "origin_partition", "origin_offset"], name="dead_letter_origin"),
            models.Index(
                fields=["replay_item"], condition=models.Q(replay_item__isnull=False), name="dead_letter_replay_item"
            ),
            models.Index(fields=["trace"], condition=models.Q(trace__isnull=False), name="dead_letter_trace"),
        ]

    def __str__(self) -> str:
        return f"{self.topic} / {self.partition} / {self.offset}"

    @property
    def replay_state(self) -> str:
        """The state of the mark. Load lists with `select_related("mark")`."""
        state = self._mark_state
        return ReplayState.FAILED_AGAIN if state == REPLACED else state

    @property
    def work_state(self) -> WorkState:
        """The work that is left, by the mark."""
        return WORK_OF_MARK[self._mark_state]

    @property
    def _mark_state(self) -> str:
        mark: ReplayMark | None = getattr(self, "mark", None)
        return ReplayState.NONE.value if mark is None else mark.state


class ReplayMark(models.Model):
    """The replay state of a dead letter that has one.

    It has a table of its own because a replay rewrites the state of every record. `failed_at` is the dead
    letter's, so that the index of one state has the order of lists. The database does not check the
    reference: that would lock the wide row. `replay_marks` writes only marks that an item or a disposal
    stands for, and those references are checked.

    Triggers write each change of work to `WorkChange`. The trigger of the dead letter reads its mark and deletes
    it, so Django must not delete the mark first.
    """

    dead_letter = models.OneToOneField(
        DeadLetter, on_delete=models.DO_NOTHING, primary_key=True, related_name="mark", db_constraint=False
    )
    state = models.CharField(max_length=20, choices=ReplayState)  # or REPLACED
    failed_at = models.DateTimeField()

    objects = InReach["ReplayMark"].by(lambda _: of_source("dead_letter__"))

    class Meta:
        indexes = [models.Index(fields=["state", "-failed_at", "-dead_letter"], name="replay_mark_state")]

    def __str__(self) -> str:
        return f"{self.dead_letter_id} {self.state}"


class DeadLetterBody(models.Model):
    """The bytes: the original key and value, the dead letter's own value and its packed headers.

    - `context` is null if the dead letter's own value is the original value.
    - `original_headers` is null if the dead letter carries the original record's headers beside its own.
    - `trace_heads` is null if the row of `Trace` contains the whole text.
    - `refused` says why fetching the original was forbidden.

    PostgreSQL does not check the reference, because the check would lock each new row once more. A body is
    only written and deleted in the transaction that writes and deletes its dead letter.
    """

    dead_letter = models.OneToOneField(
        DeadLetter, on_delete=models.CASCADE, primary_key=True, related_name="body", db_constraint=False
    )
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    context = models.BinaryField(null=True)
    headers = models.BinaryField()
    original_headers = models.BinaryField(null=True)
    trace_heads = models.TextField(null=True)
    refused = models.CharField(max_length=500, null=True)

    objects = InReach["DeadLetterBody"].by(lambda _: of_source("dead_letter__"))

    def __str__(self) -> str:
        return f"bytes of {self.dead_letter_id}"


class DecodedValue(models.Model):
    """The value of a dead letter as JSON, decoded by its schema, so that its members can be searched."""

    dead_letter = models.OneToOneField(
        DeadLetter, on_delete=models.CASCADE, primary_key=True, related_name="decoded", db_constraint=False
    )
    json = models.BinaryField()

    objects = InReach["DecodedValue"].by(lambda _: of_source("dead_letter__"))

    def __str__(self) -> str:
        return f"value of {self.dead_letter_id}"


class QueuedDecoding(models.Model):
    """A value that names a schema and is not decoded yet.

    `reason` is why the latest try failed; "" before the first.
    """

    dead_letter = models.OneToOneField(
        DeadLetter, on_delete=models.CASCADE, primary_key=True, related_name="+", db_constraint=False
    )
    due_at = models.DateTimeField()
    tries = models.IntegerField(default=0)
    reason = models.CharField(max_length=300, blank=True)

    objects = InReach["QueuedDecoding"].by(lambda _: of_source("dead_letter__"))

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="queued_decoding_due")]

    def __str__(self) -> str:
        return f"decoding of {self.dead_letter_id}"


class DeadLetterText(models.Model):
    """The words of a dead letter, for `words.contains_words`: a tsvector on PostgreSQL, an FTS5 row on SQLite."""

    dead_letter = models.OneToOneField(
        DeadLetter,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="text",
        db_column="rowid",  # FTS5 has no other name for the key
        db_constraint=False,  # whoever writes words holds their dead letters
    )
    document = SearchVectorField()

    class Meta:
        indexes = [GinIndex(fields=["document"], name="dead_letter_text")]

    def __str__(self) -> str:
        return f"words of {self.dead_letter_id}"
