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

    cluster = models.CharField(max_length=64, blank=True, default="", db_default="")  # empty: the own one
    topic = models.CharField(max_length=249)
    ends = models.JSONField(default=dict)
    noted_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "topic"], name="index_goal_once")]

    def __str__(self) -> str:
        return f"{self.topic} at {self.noted_at}"


class GroupHistory(models.Model):
    """The commits of a foreign consumer group in one partition, as looks at the group show them.

    `since`, `committed_then`, `trusted_from` and `previous_look` are as in `CommitHistory`. The others are of the last
    look, at `looked_at`: the committed offset, and whether a member owns the partition (`is_read`).
    """

    cluster = models.CharField(max_length=64, blank=True, default="", db_default="")  # empty: the own one
    group = models.CharField(max_length=249)
    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    since = models.DateTimeField()
    committed_then = models.BigIntegerField(null=True)
    trusted_from = models.DateTimeField(null=True)
    previous_look = models.DateTimeField(null=True)
    committed = models.BigIntegerField(null=True)
    is_read = models.BooleanField()
    looked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "group", "topic", "partition"], name="group_history_once")
        ]

    def __str__(self) -> str:
        return f"{self.group} on {self.topic} / {self.partition}"
