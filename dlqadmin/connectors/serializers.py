"""The documents of connectors and their tasks."""

from typing import Any

from rest_framework import serializers

from dlqadmin.connectors.budgets import RISKS


class StageCounts(serializers.Serializer[Any]):
    """One stage: its failures (KIP-298), and the records that a handler dropped there (KIP-1033).

    `name` is the node of a stream's processor, and empty elsewhere.
    """

    index = serializers.IntegerField()
    type = serializers.CharField(allow_blank=True)
    locals()["class"] = serializers.CharField(allow_blank=True)
    name = serializers.CharField(allow_blank=True)
    failed = serializers.IntegerField()
    dropped = serializers.IntegerField()


class Limit(serializers.Serializer[Any]):
    """One limit of the errors a task may make; −1 is none, and then `left` is null.

    `left` errors are still tolerated: the one after them fails the task.
    """

    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    left = serializers.IntegerField(allow_null=True)


class Nearness(serializers.Serializer[Any]):
    """How near a task is to failing by its errors (KIP-298, "Task Tolerance Limits").

    `risk`, from the nearest on: `failed`; `exhausted`: the next error fails it; `near`: half of a limit is used, or
    all of it will be within the hour; `within`; `fail_fast`: nothing is tolerated, and nothing happened yet; `unused`;
    `unlimited`; `handler`: a handler of its own decides; `unknown`: not reported yet.

    `left` is the smaller one of both limits. `rate` counts errors within the last `window_ms`. `errors_per_hour` are
    those of the last hour, null before five minutes are known; `empty_in_ms` is when the task would fail if they went
    on like this.

    `handlers` are those the connector names (KIP-1033), by what they decide about: `processing`, `deserialization`,
    `production`. The limits count and decide about everything else. `decided_by` is `handlers` where that is nothing,
    or in a stream without limits, where default handlers fail the task; then there is nothing to count.
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
    """One of the tasks that are nearest to failing."""

    connector = serializers.CharField()
    task = serializers.IntegerField()


class TaskDocument(serializers.Serializer[Any]):
    """One task: its state, and its latest figures.

    `metrics` has the names of KIP-298 and KIP-1033. `dropped_rate` is `dropped-records-rate`: records a second over the
    last report. `parked_until` and `parked_reason`: it waits for a retry. `tolerance` is what the task reported,
    `budget` what is left of it at present.
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
    """One connector; secrets in its configuration are masked.

    `kind` is sink, source or stream; `type` is Kafka Connect's word. `dead_letters` is `durable`, `best_effort` where
    the dead letter topic's cluster acknowledges nothing, or null without dead letters. `delivery` is null before the
    first report; `dlq_topic` is null where nothing is written to it.
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
    """One connector, and how fresh the answer is."""

    reachable = serializers.BooleanField()
    as_of = serializers.CharField(allow_null=True)


class ConnectorList(serializers.Serializer[Any]):
    """Every connector; when the engine is away, as it last answered. `nearest` to failing comes first."""

    reachable = serializers.BooleanField()
    as_of = serializers.CharField(allow_null=True)
    nearest = NearTask(many=True)
    results = ConnectorDocument(many=True)


class ControlRequest(serializers.Serializer[Any]):
    """Why the operator does it; for the audit trail."""

    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class ControlAnswer(serializers.Serializer[Any]):
    """The engine accepted the wish; the state follows."""

    connector = serializers.CharField()
    task = serializers.IntegerField(allow_null=True)
    action = serializers.CharField()
