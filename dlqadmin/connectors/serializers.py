"""Serializers of connectors and their tasks."""

from typing import Any

from rest_framework import serializers

from dlqadmin.connectors.error_budgets import RISKS


class StageCounts(serializers.Serializer[Any]):
    """The failures of a stage (KIP-298), and the records that a handler dropped there (KIP-1033).

    `name` is the processor node of a stream, and empty for other connectors.
    """

    index = serializers.IntegerField()
    type = serializers.CharField(allow_blank=True)
    locals()["class"] = serializers.CharField(allow_blank=True)
    name = serializers.CharField(allow_blank=True)
    failed = serializers.IntegerField()
    dropped = serializers.IntegerField()


class Limit(serializers.Serializer[Any]):
    """One limit on the errors of a task. −1 means no limit, and then `left` is null.

    `left` errors are still tolerated; the next one fails the task.
    """

    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    left = serializers.IntegerField(allow_null=True)


class Nearness(serializers.Serializer[Any]):
    """The distance of a task from failing because of errors (KIP-298, "Task Tolerance Limits").

    `risk`, from the closest to failing:

    * `failed`
    * `exhausted`: the next error fails the task
    * `near`: half of a limit is used, or the rest will be used within an hour
    * `within`
    * `fail_fast`: no error is tolerated, and none happened yet
    * `unused`
    * `unlimited`
    * `handler`: a custom handler decides
    * `unknown`: not reported yet

    `left` is the smaller value of both limits. `rate` counts the errors of the last `window_ms`.
    `errors_per_hour` covers the last hour, and is null until five minutes are known. `empty_in_ms` is
    the time until the task fails at that rate.

    `handlers` are the handlers that the connector configures (KIP-1033), by what they decide about:
    `processing`, `deserialization`, `production`. The limits count and decide about all other errors.
    `decided_by` is `handlers` if no errors remain for the limits. It is also `handlers` for a stream
    without limits, where default handlers fail the task; then there is nothing to count.
    """

    risk = serializers.ChoiceField(choices=RISKS)
    left = serializers.IntegerField(allow_null=True)
    total = Limit(allow_null=True)
    rate = Limit(allow_null=True)
    window_ms = serializers.IntegerField()
    decided_by = serializers.ChoiceField(choices=("limits", "handlers"))
    errors_per_hour = serializers.FloatField(allow_null=True)
    empty_in_ms = serializers.IntegerField(allow_null=True)
    handlers = serializers.DictField(child=serializers.CharField())


class NearTask(Nearness):
    """One of the tasks that are closest to failing."""

    connector = serializers.CharField()
    task = serializers.IntegerField()


class TaskDocument(serializers.Serializer[Any]):
    """One task, with its state and its latest figures.

    `metrics` uses the names of KIP-298 and KIP-1033. `dropped_rate` is `dropped-records-rate`: records
    per second over the last report. `parked_until` and `parked_reason` are set while the task waits for
    a retry. `tolerance` is what the task reported; `budget` is what is left of it now.
    """

    id = serializers.IntegerField()
    state = serializers.CharField()
    trace = serializers.CharField(allow_null=True)
    lag = serializers.IntegerField(allow_null=True)
    metrics = serializers.DictField(child=serializers.IntegerField())
    stages = StageCounts(many=True)
    stage_failures = serializers.DictField(child=serializers.IntegerField())
    tolerance = serializers.DictField(child=serializers.IntegerField())
    budget = Nearness()
    dropped_rate = serializers.FloatField(allow_null=True)
    worker_id = serializers.CharField()
    parked_until = serializers.CharField(allow_null=True)
    parked_reason = serializers.CharField(allow_null=True)
    reported_at = serializers.CharField(allow_null=True)


class ConnectorDocument(serializers.Serializer[Any]):
    """One connector. Secrets in its configuration are masked.

    `kind` is sink, source or stream; `type` is Kafka Connect's term. `delivery` is null before the
    first report. `dlq_topic` is null if no dead letters are written.

    `dead_letters` is `durable`, or `best_effort` if the cluster of the dead letter topic acknowledges
    nothing. It is null without dead letters.
    """

    name = serializers.CharField()
    type = serializers.CharField()
    kind = serializers.CharField()
    state = serializers.CharField()
    worker_id = serializers.CharField()
    topics = serializers.ListField(child=serializers.CharField())
    dlq_topic = serializers.CharField(allow_null=True)
    delivery = serializers.CharField(allow_null=True)
    dead_letters = serializers.CharField(allow_null=True)
    config = serializers.DictField(child=serializers.CharField())
    tasks = TaskDocument(many=True)
    metrics = serializers.DictField(child=serializers.IntegerField())
    lag = serializers.IntegerField(allow_null=True)
    stages = StageCounts(many=True)
    last_error_at = serializers.CharField(allow_null=True)


class ConnectorAnswer(ConnectorDocument):
    """One connector, with the age of the engine's response."""

    reachable = serializers.BooleanField()
    as_of = serializers.CharField(allow_null=True)


class ConnectorList(serializers.Serializer[Any]):
    """All connectors; the engine's last response if it is unreachable.

    `nearest` lists the tasks closest to failing, in that order. `trouble` says why the engine refused
    the dashboard and which setting to change. It is null if the engine is only unreachable.
    """

    reachable = serializers.BooleanField()
    as_of = serializers.CharField(allow_null=True)
    trouble = serializers.CharField(allow_null=True)
    nearest = NearTask(many=True)
    results = ConnectorDocument(many=True)


class ControlRequest(serializers.Serializer[Any]):
    """The operator's reason, for the audit trail."""

    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class ControlAnswer(serializers.Serializer[Any]):
    """The engine accepted the request; the state changes later."""

    connector = serializers.CharField()
    task = serializers.IntegerField(allow_null=True)
    action = serializers.CharField()
