"""The tables of the index: facts, bodies, traces, fingerprints, groups, counters and positions."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class GroupStatus(models.TextChoices):
    """What people decided about a group."""

    OPEN = "open"
    MUTED = "muted"
    RESOLVED = "resolved"


class Group(models.Model):
    """Dead letters with one fingerprint (or several, once merged): the unit of triage."""

    title = models.CharField(max_length=200)
    status = models.CharField(max_length=10, choices=GroupStatus, default=GroupStatus.OPEN)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    regressed_at = models.DateTimeField(null=True, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="owned_groups"
    )

    class Meta:
        indexes = [models.Index(fields=["-last_seen"], name="group_last_seen")]

    def __str__(self) -> str:
        return self.title


class Fingerprint(models.Model):
    """Why dead letters are alike; immutable, its arrow to a group is not."""

    digest = models.CharField(max_length=40, unique=True)
    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="fingerprints")
    exception_class = models.CharField(max_length=300)
    stage = models.CharField(max_length=40)
    message = models.TextField()
    frame = models.CharField(max_length=300, blank=True)
    holes = models.JSONField(default=list)

    def __str__(self) -> str:
        return self.digest


class Trace(models.Model):
    """A stack trace as text, kept once however many dead letters share it."""

    digest = models.CharField(max_length=64, primary_key=True)
    text = models.TextField()

    def __str__(self) -> str:
        return self.digest


class Original(models.TextChoices):
    """Where the original record's bytes come from."""

    EMBEDDED = "embedded"
    FETCHED = "fetched"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


class ReplayState(models.TextChoices):
    """What the latest replay has done with a dead letter."""

    NONE = "none"
    QUEUED = "queued"
    SENT = "sent"
    PASSED = "passed"
    FAILED_AGAIN = "failed_again"
    UNKNOWN = "unknown"


class DeadLetter(models.Model):
    """The facts of one record of a dead letter topic; narrow, so that lists and counts are fast."""

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    offset = models.BigIntegerField()
    failed_at = models.DateTimeField()
    first_failure_at = models.DateTimeField(null=True, blank=True)
    indexed_at = models.DateTimeField()
    elapsed_ms = models.BigIntegerField(null=True, blank=True)
    attempt = models.IntegerField(null=True, blank=True)
    connector = models.CharField(max_length=200, blank=True)
    task_id = models.CharField(max_length=220, blank=True)
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
    replay_state = models.CharField(max_length=20, choices=ReplayState, default=ReplayState.NONE)
    replay_item = models.CharField(max_length=60, null=True, blank=True)  # of the record's header, if it was replayed
    replay_attempt = models.IntegerField(null=True, blank=True)
    fingerprint = models.ForeignKey(Fingerprint, on_delete=models.PROTECT, related_name="+", db_index=False)
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "topic", "partition", "offset"], name="dead_letter_coordinates")
        ]
        indexes = [
            models.Index(fields=["-failed_at", "-id"], name="dead_letter_time"),
            models.Index(fields=["topic", "-failed_at", "-id"], name="dead_letter_topic"),
            models.Index(fields=["connector", "-failed_at", "-id"], name="dead_letter_connector"),
            models.Index(fields=["fingerprint", "-failed_at", "-id"], name="dead_letter_fingerprint"),
            models.Index(fields=["key_hash", "-failed_at", "-id"], name="dead_letter_key"),
            models.Index(fields=["origin_topic", "origin_partition", "origin_offset"], name="dead_letter_origin"),
            models.Index(
                fields=["replay_state", "-failed_at", "-id"],
                condition=~models.Q(replay_state="none"),
                name="dead_letter_replay",
            ),
            models.Index(
                fields=["replay_item"], condition=models.Q(replay_item__isnull=False), name="dead_letter_replay_item"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic} / {self.partition} / {self.offset}"


class DeadLetterBody(models.Model):
    """The bytes: the original key and value, the dead letter's own value and its packed headers.

    `context` is null where the dead letter's own value is the original value, and `original_headers` where
    the dead letter carries the original record's headers beside its own.
    """

    dead_letter = models.OneToOneField(DeadLetter, on_delete=models.CASCADE, primary_key=True, related_name="body")
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    context = models.BinaryField(null=True)
    headers = models.BinaryField()
    original_headers = models.BinaryField(null=True)

    def __str__(self) -> str:
        return f"bytes of {self.dead_letter_id}"


class CountHour(models.Model):
    """How many dead letters failed in one hour (hours since the epoch)."""

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    connector = models.CharField(max_length=200, blank=True)
    fingerprint = models.ForeignKey(Fingerprint, on_delete=models.PROTECT, related_name="+", db_index=False)
    hour = models.IntegerField()
    n = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["hour", "fingerprint", "cluster", "topic", "connector"], name="count_hour_cell"
            )
        ]

    def __str__(self) -> str:
        return f"{self.hour}: {self.n}"


class CountDay(models.Model):
    """How many dead letters failed on one day (days since the epoch, UTC)."""

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    connector = models.CharField(max_length=200, blank=True)
    fingerprint = models.ForeignKey(Fingerprint, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.IntegerField()
    n = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["day", "fingerprint", "cluster", "topic", "connector"], name="count_day_cell"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.n}"


class IndexPosition(models.Model):
    """How far one partition of a dead letter topic is indexed; written with the rows it counts."""

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    position = models.BigIntegerField(default=0)
    end_offset = models.BigIntegerField(null=True, blank=True)
    last_record_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "topic", "partition"], name="index_position_partition")
        ]

    def __str__(self) -> str:
        return f"{self.topic} / {self.partition} at {self.position}"


class GroupActivity(models.Model):
    """What people and the indexer did to a group: notes, assignments, changes of state."""

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="activity")
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    kind = models.CharField(max_length=20)
    text = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["group", "-at"], name="group_activity_time")]

    def __str__(self) -> str:
        return self.text
