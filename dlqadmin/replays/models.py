"""The tables of fix and replay: drafts, selections, replays, their items, chunks, ledger, log and reports."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from dlqadmin.deadletters.models import DeadLetter


class Fix(models.Model):
    """One person's draft of a dead letter's record: its whole message as it shall be sent."""

    dead_letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    headers = models.BinaryField()
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dead_letter", "author"], name="fix_once_each")]
        indexes = [models.Index(fields=["author", "-updated_at"], name="fix_of_author")]

    def __str__(self) -> str:
        return f"F-{self.pk}"


class Selection(models.Model):
    """Which dead letters, frozen: a filter or ids, up to a watermark, with count and digest of what that was.

    `filters` is `{"from", "to", "include", "exclude"}` with absolute times, or `{"ids": […]}`. The digest is
    SHA-256 over the ids in ascending order, each as eight big-endian bytes.
    """

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    filters = models.JSONField()
    title = models.CharField(max_length=300)
    watermark = models.BigIntegerField()
    count = models.IntegerField()
    digest = models.CharField(max_length=64)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the body that came with the key

    def __str__(self) -> str:
        return f"S-{self.pk}"


class ReplayStatus(models.TextChoices):
    """Where a replay stands. WATCHING: all is sent, outcomes are awaited; DONE: none is awaited any more."""

    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    WATCHING = "watching"
    DONE = "done"


class Replay(models.Model):
    """A job that writes a selection's records back. `rate` is records a second; 0 means no limit.

    `progress` is the ordinal of the next item to send; `trouble` says why a replay paused by itself.
    A sender holds the replay by `sender` and keeps `heartbeat` fresh.
    """

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    selection = models.ForeignKey(Selection, on_delete=models.PROTECT, related_name="replays")
    title = models.CharField(max_length=300)
    target_topic = models.CharField(max_length=249, blank=True)  # empty: each record's own origin topic
    use_fixes = models.BooleanField(default=True)
    resend = models.BooleanField(default=False)  # send again what the ledger says was sent
    rate = models.IntegerField(default=100)
    status = models.CharField(max_length=10, choices=ReplayStatus, default=ReplayStatus.PLANNED)
    reason = models.TextField(blank=True)
    trouble = models.TextField(blank=True)
    plan = models.JSONField(default=dict)
    planned_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    started_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)  # the last record went out
    done_at = models.DateTimeField(null=True, blank=True)
    progress = models.IntegerField(default=0)
    progress_topic = models.CharField(max_length=249, blank=True)  # under which the stand-in group keeps progress
    topic_ids = models.JSONField(default=dict)  # target topic → its id when sending began
    sender = models.CharField(max_length=64, blank=True)
    heartbeat = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the body that came with the key

    class Meta:
        indexes = [models.Index(fields=["status"], name="replay_status")]

    def __str__(self) -> str:
        return f"R-{self.pk}"

    @property
    def transactional_id(self) -> str:
        """The producer's transactional id, and the name of the stand-in group that holds its progress."""
        return f"dlqadmin-replay-{self.uuid}"


class ItemState(models.TextChoices):
    """What became of one record of a replay. Written before the act; nothing after `sent` is final."""

    PLANNED = "planned"
    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    PASSED = "passed"
    FAILED_AGAIN = "failed_again"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


class ReplayItem(models.Model):
    """One record of a replay.

    `lineage` names the root record, `topic/partition/offset` of its first origin: a re-dead-letter and an
    edit belong to the same lineage. `reason` qualifies the state (`skipped(cancelled)`, `passed(filtered)`,
    `unknown(no_group)`); `evidence` says how it is known, as one sentence.
    """

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="items")
    ordinal = models.IntegerField()
    dead_letter = models.ForeignKey(DeadLetter, on_delete=models.PROTECT, related_name="+")
    lineage = models.CharField(max_length=300)
    watched = models.CharField(max_length=200, blank=True)  # the connector whose outcome counts
    target_topic = models.CharField(max_length=249, blank=True)
    target_partition = models.IntegerField(null=True, blank=True)
    edited = models.BooleanField(default=False)
    state = models.CharField(max_length=12, choices=ItemState, default=ItemState.PLANNED)
    reason = models.CharField(max_length=60, blank=True)
    evidence = models.CharField(max_length=500, blank=True)
    state_at = models.DateTimeField()
    attempt = models.IntegerField(default=1)
    sent_partition = models.IntegerField(null=True, blank=True)
    sent_offset = models.BigIntegerField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    sent_digest = models.CharField(max_length=64, blank=True)
    refailure = models.ForeignKey(DeadLetter, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    history = models.JSONField(default=list)  # earlier outcomes: {"at", "state", "reason", "evidence"}

    class Meta:
        constraints = [models.UniqueConstraint(fields=["replay", "ordinal"], name="replay_item_once")]
        indexes = [
            models.Index(fields=["replay", "state", "ordinal"], name="replay_item_state"),
            models.Index(fields=["target_topic", "sent_partition", "sent_offset"], name="replay_item_sent"),
            models.Index(fields=["lineage"], name="replay_item_lineage"),
        ]

    def __str__(self) -> str:
        return self.token

    @property
    def token(self) -> str:
        """The item's name in the header `dlq.replay.item`, unique among all installations."""
        return f"{self.replay.uuid}/{self.ordinal}"


class ItemPayload(models.Model):
    """The edited message of an item, frozen when the replay was planned."""

    item = models.OneToOneField(ReplayItem, on_delete=models.CASCADE, primary_key=True, related_name="payload")
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    headers = models.BinaryField()
    digest = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"payload of {self.item_id}"


class ChunkState(models.TextChoices):
    """Whether a chunk's transaction is known to have ended, and how. REFUSED: aborted because of a record in it."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    REFUSED = "refused"


class Chunk(models.Model):
    """A run of items sent in one Kafka transaction: ordinals `first` to before `after`.

    `ends` are the end offsets of the target partitions before it began, `{"topic": {"0": 17}}`: a recovery
    that has lost the coordinates looks for the items from there on.
    """

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="chunks")
    first = models.IntegerField()
    after = models.IntegerField()
    ends = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=ChunkState, default=ChunkState.OPEN)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["replay", "state"], name="chunk_state")]

    def __str__(self) -> str:
        return f"{self.first} to {self.after}"


class LedgerEntry(models.Model):
    """The one item that may send, or has sent, this lineage to this topic."""

    lineage = models.CharField(max_length=300)
    target_topic = models.CharField(max_length=249)
    item = models.ForeignKey(ReplayItem, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lineage", "target_topic"], name="ledger_once")]

    def __str__(self) -> str:
        return f"{self.lineage} to {self.target_topic}"


class ReplayEvent(models.Model):
    """What happened to a replay as a whole, for its log. `actor` is a person or `dlqadmin`."""

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    kind = models.CharField(max_length=20)
    text = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["replay", "-id"], name="replay_event_time")]

    def __str__(self) -> str:
        return self.text


class OutcomeReport(models.Model):
    """What the engine reported of one replayed record: delivered, filtered, skipped or dead_lettered.

    `token` and `attempt` are the record's headers; the coordinates are where the engine read it.
    """

    token = models.CharField(max_length=60)
    attempt = models.IntegerField()
    connector = models.CharField(max_length=200)
    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    offset = models.BigIntegerField()
    outcome = models.CharField(max_length=20)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["topic", "partition", "offset", "connector"], name="outcome_report_once")
        ]
        indexes = [models.Index(fields=["token"], name="outcome_report_token")]

    def __str__(self) -> str:
        return f"{self.connector}: {self.token} {self.outcome}"


class WatchPosition(models.Model):
    """Up to which dead letter the index was searched for replayed records that failed again; one row.

    `slow_at` is when what rarely changes was looked at last.
    """

    dead_letter = models.BigIntegerField(default=0)
    slow_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return str(self.dead_letter)


class IndexGoal(models.Model):
    """Ends of a dead letter topic that the index has still to reach, `{"0": 17}`, as they were after `noted_at`."""

    topic = models.CharField(max_length=249, unique=True)
    ends = models.JSONField(default=dict)
    noted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.topic} at {self.noted_at}"
