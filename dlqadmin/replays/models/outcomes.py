"""Evidence about sent records: reports, and the progress of searches."""

from __future__ import annotations

from django.db import models


class OutcomeReport(models.Model):
    """The engine's report on one replayed record: delivered, filtered, skipped or dead_lettered.

    `token` and `attempt` are the record's headers. The coordinates are those from which the engine consumed it.
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
    """The dead letter up to which the index was searched for repeated failures. One row a cluster.

    `slow_at` is the time of the last look at rarely changing facts.
    """

    cluster = models.CharField(max_length=64, blank=True, default="", db_default="")  # empty: the own one
    dead_letter = models.BigIntegerField(default=0)
    slow_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster"], name="watch_position_cluster")]

    def __str__(self) -> str:
        return str(self.dead_letter)


class IndexGoal(models.Model):
    """Ends of a dead letter topic that the index has still to reach.

    `ends` is `{"0": 17}`, as it was after `noted_at`.
    """

    topic = models.CharField(max_length=249, unique=True)
    ends = models.JSONField(default=dict)
    noted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.topic} at {self.noted_at}"


class GroupSeen(models.Model):
    """The history of a foreign consumer group for one partition.

    `owned_since` is the first look since which every look saw an owner of the partition, null while there is none.
    `committed_then` is the committed offset at that first look.
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
