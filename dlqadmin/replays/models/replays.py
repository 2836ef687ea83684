"""Replays, what was done to each as a whole, and its chunks."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from dlqadmin.replays.models.selections import Selection


class ReplayStatus(models.TextChoices):
    """Where a replay stands. WATCHING: all is sent, outcomes are awaited; DONE: none is awaited any more."""

    PLANNING = "planning"
    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    WATCHING = "watching"
    DONE = "done"


class OrderGuard(models.TextChoices):
    """What becomes of a record when its origin topic has newer ones of the same key."""

    SKIP = "skip"
    ANYWAY = "anyway"
    LAST = "last"


class Replay(models.Model):
    """A job that writes a selection's records back. `rate` is records a second; 0 means no limit.

    `progress` is the ordinal of the next item to send, and `shown` that before which dead letters say "sent";
    `trouble` says why a replay paused by itself.
    `steps` are the sizes of the canary: so many are sent, then their outcomes are awaited; `step` is the index of the
    one that is under way, and past them the rest is sent. `breaker_percent` of those with an outcome may fail again,
    and `max_lag` records may wait in front of a reader, before it pauses by itself; null: whatever.
    `watch` names the consumer groups, beside the engine's connectors, whose outcome counts. `resolve_groups`: who ran
    it asks that the groups of which all of it passed be resolved.
    A sender holds the replay by `sender` and keeps `heartbeat` fresh.
    """

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    selection = models.ForeignKey(Selection, on_delete=models.PROTECT, related_name="replays")
    title = models.CharField(max_length=300)
    target_topic = models.CharField(max_length=249, blank=True)  # empty: each record's own origin topic
    use_fixes = models.BooleanField(default=True)
    resend = models.BooleanField(default=False)  # send again what the ledger says was sent
    rate = models.IntegerField(default=100)
    target_cluster = models.CharField(max_length=100, blank=True)  # empty: the one that the dead letters came from
    shadow = models.BooleanField(default=False)  # a topic that is made for it and that nobody else reads
    keep_timestamps = models.BooleanField(default=False)
    order = models.CharField(max_length=6, choices=OrderGuard, default=OrderGuard.SKIP)
    steps = models.JSONField(default=list)
    step = models.IntegerField(default=0)
    breaker_percent = models.IntegerField(null=True, blank=True)
    max_lag = models.BigIntegerField(null=True, blank=True)
    accepted = models.JSONField(default=dict)  # state → how many there were when a person resumed it: seen, and gone on
    chunk_records = models.IntegerField(default=2000)
    watch = models.JSONField(default=list)
    resolve_groups = models.BooleanField(default=False, db_default=False)
    status = models.CharField(max_length=10, choices=ReplayStatus, default=ReplayStatus.PLANNED)
    reason = models.TextField(blank=True)
    trouble = models.TextField(blank=True)
    plan = models.JSONField(default=dict)
    planned_count = models.IntegerField(default=0)  # records that the planning has been through
    tries = models.IntegerField(default=0, db_default=0)  # how often a worker began to make the plan that is asked for
    planned_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    started_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    asked_at = models.DateTimeField(null=True, blank=True)  # a second person's approval of `asked_digest`
    asked_digest = models.CharField(max_length=64, blank=True)
    approved_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    approved_at = models.DateTimeField(null=True, blank=True)
    approved_digest = models.CharField(max_length=64, blank=True)  # of the plan that was approved
    sent_at = models.DateTimeField(null=True, blank=True)  # the last record went out
    done_at = models.DateTimeField(null=True, blank=True)
    progress = models.IntegerField(default=0)
    shown = models.IntegerField(default=0, db_default=0)
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


class ChunkState(models.TextChoices):
    """Whether a chunk's transaction is known to have ended, and how. REFUSED: aborted because of a record in it."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    REFUSED = "refused"


class Chunk(models.Model):
    """A run of `records` items sent in one Kafka transaction: ordinals `first` to before `after`.

    While it is open, its queued items are on their way. `ends` are the end offsets of the target partitions before it
    began, `{"topic": {"0": 17}}`: a recovery that has lost the coordinates looks for the items from there on.
    """

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="chunks")
    first = models.IntegerField()
    after = models.IntegerField()
    records = models.IntegerField(default=0, db_default=0)
    ends = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=ChunkState, default=ChunkState.OPEN)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["replay", "state"], name="chunk_state")]

    def __str__(self) -> str:
        return f"{self.first} to {self.after}"
