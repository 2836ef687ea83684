"""What is known of records that were sent: reports, and how far it was looked."""

from __future__ import annotations

from django.db import models


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


class GroupSeen(models.Model):
    """What earlier looks saw of a consumer group that reports nothing, for one partition.

    `owned_since` is since when every look saw a member that has the partition, null while the last saw none;
    `committed_then` what was committed when the first of them did.
    """

    group = models.CharField(max_length=249)
    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    owned_since = models.DateTimeField(null=True)
    committed_then = models.BigIntegerField(null=True)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "topic", "partition"], name="group_seen_once")]

    def __str__(self) -> str:
        return f"{self.group} on {self.topic} / {self.partition}"
