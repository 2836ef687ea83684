"""Reports of the engine's tasks: their latest state, and their metrics by minute."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from dlqadmin.teams.managers import InReach
from dlqadmin.teams.reach import Reach, remembered


def of_reporting(_: Reach) -> Q:
    """Return the condition on `connector` of rows about the engine's tasks.

    The engine uses the own Kafka cluster, so a team's pattern of that cluster is about its connectors too.
    """

    def names(reach: Reach) -> list[str]:
        known = TaskSnapshot._base_manager.order_by().values_list("connector", flat=True).distinct()
        return [name for name in known if reach.has_connector(name, settings.CLUSTER)]

    return Q(connector__in=remembered("reporting connectors", names))


class StatusPosition(models.Model):
    """The read position of an engine topic. It moves in the transaction that stores the records."""

    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    position = models.BigIntegerField()
    collected_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["topic", "partition"], name="status_position_once")]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at {self.position}"


class TaskSnapshot(models.Model):
    """The latest status of one task. A removed task keeps its counts, as part of the balance.

    `reported_at` moves with every report, `state_since` only with a new state. It is null for
    states from before the upgrade that added it.
    """

    connector = models.CharField(max_length=200)
    task = models.IntegerField()
    state = models.CharField(max_length=20)
    state_since = models.DateTimeField(null=True)
    worker_id = models.CharField(max_length=200, default="")
    generation = models.IntegerField(default=0)
    reported_at = models.DateTimeField()
    removed = models.BooleanField(default=False)
    metrics = models.JSONField(default=dict)
    status = models.JSONField(default=dict)

    objects = InReach["TaskSnapshot"].by(of_reporting)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["connector", "task"], name="task_snapshot_once")]

    def __str__(self) -> str:
        return f"{self.connector}-{self.task} {self.state}"


class TaskMinute(models.Model):
    """The cumulative metrics of one task at the end of one minute.

    `stage_failures` adds up the failures of all stages of a type. `lag` is null if the task did not report it.
    Both are empty in minutes from before the upgrade that added them.
    """

    connector = models.CharField(max_length=200)
    task = models.IntegerField()
    minute = models.DateTimeField()
    metrics = models.JSONField(default=dict)
    stage_failures = models.JSONField(default=dict)
    lag = models.BigIntegerField(null=True)

    objects = InReach["TaskMinute"].by(of_reporting)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["connector", "task", "minute"], name="task_minute_once")]
        indexes = [models.Index(fields=["minute"], name="task_minute_by_time")]

    def __str__(self) -> str:
        return f"{self.connector}-{self.task} at {self.minute:%Y-%m-%d %H:%M}"
