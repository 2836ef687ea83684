"""Reports of tasks: their latest state, and their metrics by minute and hour. Annotations of charts.

They are the engine's tasks, and guarded Spark queries. `connector` is a name as `reporter_names.py` explains it.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q

from dlqadmin.metrics.reporter_names import connector_of
from dlqadmin.teams.managers import InReach
from dlqadmin.teams.reach import Reach, remembered


def of_reporting(_: Reach) -> Q:
    """Return the condition on `connector` of rows about tasks.

    The engine uses the own Kafka cluster, so a team's pattern of that cluster is about its connectors too.
    """

    def names(reach: Reach) -> list[str]:
        known = TaskSnapshot._base_manager.order_by().values_list("connector", flat=True).distinct()
        return [name for name in known if reach.has_connector(connector_of(name), settings.CLUSTER)]

    return Q(connector__in=remembered("reporting connectors", names))


def of_annotated(_: Reach) -> Q:
    """Return the condition on annotations: they name a topic or a connector in reach.

    One that names neither is about everything, so people of a team don't see it.
    """

    def names(reach: Reach) -> tuple[list[str], list[str]]:
        rows = Annotation._base_manager.order_by().values_list("topic", "connector").distinct()
        return (
            [topic for topic, _ in rows if reach.has_topic(topic, settings.CLUSTER)],
            [connector for _, connector in rows if reach.has_connector(connector, settings.CLUSTER)],
        )

    topics, connectors = remembered("annotated names", names)
    return Q(topic__in=topics) | Q(connector__in=connectors)


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


class TaskHour(models.Model):
    """The figures of one task in one hour, rolled up from its minutes.

    `hour` counts hours since the epoch. The counts are increases. Hours without a minute have no row. `lag` is the
    lag at the end of the hour; both lags are null if the task reported none.
    """

    connector = models.CharField(max_length=200)
    task = models.IntegerField()
    hour = models.IntegerField()
    consumed = models.BigIntegerField(default=0)
    delivered = models.BigIntegerField(default=0)
    dead_lettered = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    filtered = models.BigIntegerField(default=0)
    retried = models.BigIntegerField(default=0)
    stage_failures = models.JSONField(default=dict)
    lag = models.BigIntegerField(null=True)
    max_lag = models.BigIntegerField(null=True)

    objects = InReach["TaskHour"].by(of_reporting)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["connector", "task", "hour"], name="task_hour_once")]
        indexes = [models.Index(fields=["hour"], name="task_hour_by_time")]

    def __str__(self) -> str:
        return f"{self.connector}-{self.task} in hour {self.hour}"


class AnnotationKind(models.TextChoices):
    """The kind of an event that a person or a pipeline reports."""

    DEPLOY = "deploy"
    NOTE = "note"


class Annotation(models.Model):
    """An event that charts show beside their figures, such as a deployment.

    `until` is null for an event without a duration. `source` names the program that reported it.
    """

    at = models.DateTimeField()
    until = models.DateTimeField(null=True)
    kind = models.CharField(max_length=10, choices=AnnotationKind, default=AnnotationKind.DEPLOY)
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    url = models.CharField(max_length=500, blank=True)
    topic = models.CharField(max_length=249, blank=True)
    connector = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=100, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    idempotency_key = models.CharField(max_length=100, null=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)

    objects = InReach["Annotation"].by(of_annotated)

    class Meta:
        indexes = [models.Index(fields=["at"], name="annotation_by_time")]

    def __str__(self) -> str:
        return self.title
