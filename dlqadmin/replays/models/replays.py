"""Replays, their events and their chunks."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from dlqadmin.jobs.models import Job
from dlqadmin.replays.models.reach import of_selection
from dlqadmin.replays.models.selections import Selection
from dlqadmin.teams.managers import InReach


class ReplayStatus(models.TextChoices):
    """The status of a replay.

    - WATCHING: everything is sent, outcomes are awaited.
    - DONE: no outcome is awaited any more.
    """

    PLANNING = "planning"
    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    WATCHING = "watching"
    DONE = "done"


class OrderGuard(models.TextChoices):
    """The treatment of a record whose origin topic has newer records of the same key."""

    SKIP = "skip"
    ANYWAY = "anyway"
    LAST = "last"


class Replay(Job):
    """A job that writes the records of a selection to Kafka.

    - `source_cluster`, `target_cluster`: the Kafka clusters of the dead letters and of the targets; empty for the own.
    - `rate`: records per second, 0 for no limit.
    - `progress`: ordinal of the next item to send.
    - `shown`: dead letters of items before this ordinal are marked as sent.
    - `steps`: sizes of the canary's steps. After each step the replay waits for its outcomes.
    - `step`: index of the canary step in progress. After the last step, all remaining items are sent.
    - `breaker_percent`: pause if more than this share of the outcomes failed again. Null: never.
    - `max_lag`: pause if more records than this wait in front of a reader. Null: never.
    - `mapped_headers`: mapping → the headers of its dead letters that the plan leaves off, so that a later version of
      the mapping changes no message. Null in plans of earlier versions: the newest version of the mapping counts.
    - `watch`: consumer groups whose outcome counts, in addition to the engine's connectors.
    - `resolve_groups`: resolve the groups whose records all passed, for the person who started the replay.

    The planner claims it while its status is PLANNING, senders claim it later. Only tries of the planner are counted.
    """

    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    selection = models.ForeignKey(Selection, on_delete=models.PROTECT, related_name="replays")
    title = models.CharField(max_length=300)
    target_topic = models.CharField(max_length=249, blank=True)  # empty: each record's own origin topic
    use_fixes = models.BooleanField(default=True)
    resend = models.BooleanField(default=False)  # send again what the ledger says was sent
    rate = models.IntegerField(default=100)
    source_cluster = models.CharField(max_length=64, blank=True, default="", db_default="")
    target_cluster = models.CharField(max_length=100, blank=True)
    shadow = models.BooleanField(default=False)  # a topic that is created for the replay and has no readers
    keep_timestamps = models.BooleanField(default=False)
    order = models.CharField(max_length=6, choices=OrderGuard, default=OrderGuard.SKIP)
    steps = models.JSONField(default=list)
    step = models.IntegerField(default=0)
    breaker_percent = models.IntegerField(null=True, blank=True)
    max_lag = models.BigIntegerField(null=True, blank=True)
    accepted = models.JSONField(default=dict)  # outcomes by state when a person resumed the replay
    chunk_records = models.IntegerField(default=2000)
    watch = models.JSONField(default=list)
    resolve_groups = models.BooleanField(default=False, db_default=False)
    status = models.CharField(max_length=10, choices=ReplayStatus, default=ReplayStatus.PLANNED)
    reason = models.TextField(blank=True)
    plan = models.JSONField(default=dict)
    mapped_headers = models.JSONField(null=True, blank=True)
    planned_count = models.IntegerField(default=0)  # records that were planned so far
    authors = models.JSONField(default=list)  # ids of people who chose its options or wrote its drafts
    planned_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    started_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    asked_at = models.DateTimeField(null=True, blank=True)  # request for approval of `asked_digest`
    asked_digest = models.CharField(max_length=64, blank=True)
    approved_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    approved_at = models.DateTimeField(null=True, blank=True)
    approved_digest = models.CharField(max_length=64, blank=True)  # of the plan that was approved
    sent_at = models.DateTimeField(null=True, blank=True)  # time of the last sent record
    done_at = models.DateTimeField(null=True, blank=True)
    progress = models.IntegerField(default=0)
    shown = models.IntegerField(default=0, db_default=0)
    # The stand-in group commits progress under this topic.
    progress_topic = models.CharField(max_length=249, blank=True)
    topic_ids = models.JSONField(default=dict)  # target topic → its id when sending began
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # SHA-256 of the request body that came with the key

    objects = InReach["Replay"].by(of_selection("selection_id"))

    class Meta:
        indexes = [models.Index(fields=["status"], name="replay_status")]

    def __str__(self) -> str:
        return f"R-{self.pk}"

    @property
    def transactional_id(self) -> str:
        """The producer's transactional id. The stand-in group that holds the progress has the same name."""
        return f"dlqadmin-replay-{self.uuid}"


class ReplayEvent(models.Model):
    """An entry of a replay's log. `actor` is a person or `dlqadmin`."""

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    kind = models.CharField(max_length=20)
    text = models.TextField()

    objects = InReach["ReplayEvent"].by(of_selection("replay__selection_id"))

    class Meta:
        indexes = [models.Index(fields=["replay", "-id"], name="replay_event_time")]

    def __str__(self) -> str:
        return self.text


class ChunkState(models.TextChoices):
    """The state of a chunk's transaction.

    OPEN: its end is not known. REFUSED: aborted because the broker refused a record.
    """

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    REFUSED = "refused"


class Chunk(models.Model):
    """The items that one Kafka transaction writes, `records` in number.

    Their ordinals are from `first` to before `after`. The queued items of an open chunk are being sent. `ends` are the
    end offsets of the target partitions before it began, `{"topic": {"0": 17}}`. If the coordinates are lost, the
    recovery searches for the items from there.
    """

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="chunks")
    first = models.IntegerField()
    after = models.IntegerField()
    records = models.IntegerField(default=0, db_default=0)
    ends = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=ChunkState, default=ChunkState.OPEN)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = InReach["Chunk"].by(of_selection("replay__selection_id"))

    class Meta:
        indexes = [models.Index(fields=["replay", "state"], name="chunk_state")]

    def __str__(self) -> str:
        return f"{self.first} to {self.after}"
