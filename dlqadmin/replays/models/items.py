"""The items of a replay: their messages, their claims and their outcomes."""

from __future__ import annotations

from django.db import models

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models.reach import of_selection
from dlqadmin.replays.models.replays import Replay
from dlqadmin.teams.managers import InReach


class ItemState(models.TextChoices):
    """The state of an item. It is stored before the action. No state after `sent` is final."""

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

    - `lineage`: the root record, as `topic/partition/offset` of its first origin. A re-dead-letter and an edit belong
      to the same lineage.
    - `reason`: qualifies the state, as in `skipped(cancelled)`, `passed(filtered)` or `unknown(no_group)`.
    - `evidence`: how the state is known, as one sentence.
    """

    # No index of its own: `replay` leads other indexes.
    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="items", db_index=False)
    ordinal = models.IntegerField()
    # PostgreSQL does not check the two references to dead letters. Whoever writes them calls `removal.hold`.
    dead_letter = models.ForeignKey(DeadLetter, on_delete=models.PROTECT, related_name="+", db_constraint=False)
    lineage = models.CharField(max_length=300)
    watched = models.CharField(max_length=200, blank=True)  # the reader whose outcome counts
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
    refailure = models.ForeignKey(
        DeadLetter,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    history = models.JSONField(default=list)  # earlier outcomes: {"at", "state", "reason", "evidence"}

    objects = InReach["ReplayItem"].by(of_selection("replay__selection_id"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["replay", "ordinal"], name="replay_item_once")]
        indexes = [
            models.Index(fields=["replay", "state", "ordinal"], name="replay_item_state"),
            models.Index(fields=["target_topic", "sent_partition", "sent_offset"], name="replay_item_sent"),
            models.Index(fields=["lineage"], name="replay_item_lineage"),
            models.Index(
                fields=["refailure"], condition=models.Q(refailure__isnull=False), name="replay_item_refailure"
            ),
        ]

    def __str__(self) -> str:
        return self.token

    @property
    def stands(self) -> str:
        """The state that people see. In a started replay, planned items are shown as queued."""
        is_run = self.state == ItemState.PLANNED and self.replay.started_at is not None
        return ItemState.QUEUED if is_run else self.state

    @property
    def token(self) -> str:
        """The item's name in the header `dlq.replay.item`, unique across installations."""
        return f"{self.replay.uuid}/{self.ordinal}"


class ItemPayload(models.Model):
    """The edited message of an item, frozen when the replay was planned."""

    item = models.OneToOneField(ReplayItem, on_delete=models.CASCADE, primary_key=True, related_name="payload")
    key = models.BinaryField(null=True)
    value = models.BinaryField(null=True)
    headers = models.BinaryField()
    digest = models.CharField(max_length=64)

    objects = InReach["ItemPayload"].by(of_selection("item__replay__selection_id"))

    def __str__(self) -> str:
        return f"payload of {self.item_id}"


class LedgerEntry(models.Model):
    """The one item that may send, or has sent, a lineage to a topic.

    Topics on another cluster are named `cluster/topic`.
    """

    lineage = models.CharField(max_length=300)
    target_topic = models.CharField(max_length=350)
    item = models.ForeignKey(ReplayItem, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lineage", "target_topic"], name="ledger_once")]

    def __str__(self) -> str:
        return f"{self.lineage} to {self.target_topic}"


class ItemOutcome(models.Model):
    """The outcome of an item in a further consumer group.

    The outcome in the group that counts is in the item itself. `group` is the group's name. States and reasons are
    those of items.
    """

    item = models.ForeignKey(ReplayItem, on_delete=models.CASCADE, related_name="outcomes")
    group = models.CharField(max_length=249)
    state = models.CharField(max_length=12, choices=ItemState)
    reason = models.CharField(max_length=60, blank=True)
    evidence = models.CharField(max_length=500, blank=True)
    state_at = models.DateTimeField()
    history = models.JSONField(default=list)  # as an item's history

    objects = InReach["ItemOutcome"].by(of_selection("item__replay__selection_id"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "group"], name="item_outcome_once")]

    def __str__(self) -> str:
        return f"{self.item} in {self.group}"


class ItemCount(models.Model):
    """The number of a replay's items in a state, by reason, reader and edit.

    It is updated when items move, so that no screen has to count rows.
    """

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="counts")
    state = models.CharField(max_length=12, choices=ItemState)
    reason = models.CharField(max_length=60, blank=True)
    watched = models.CharField(max_length=200, blank=True)
    edited = models.BooleanField(default=False)
    n = models.IntegerField(default=0)

    objects = InReach["ItemCount"].by(of_selection("replay__selection_id"))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["replay", "state", "reason", "watched", "edited"], name="item_count_once")
        ]

    def __str__(self) -> str:
        return f"{self.replay}: {self.n} {self.state}"


class ReplaySecond(models.Model):
    """The numbers of items sent and settled in the second that starts at `at`."""

    replay = models.ForeignKey(Replay, on_delete=models.CASCADE, related_name="seconds", db_index=False)
    at = models.DateTimeField()
    sent = models.IntegerField(default=0, db_default=0)
    settled = models.IntegerField(default=0, db_default=0)

    objects = InReach["ReplaySecond"].by(of_selection("replay__selection_id"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["replay", "at"], name="replay_second_once")]

    def __str__(self) -> str:
        return f"{self.replay} at {self.at}"
