"""The documents of connectors and their tasks."""

from typing import Any

from rest_framework import serializers


class TaskDocument(serializers.Serializer[Any]):
    """One task: its state, and its latest figures."""

    id = serializers.IntegerField()
    state = serializers.CharField()
    trace = serializers.CharField(allow_null=True)
    lag = serializers.IntegerField(allow_null=True)
    metrics = serializers.DictField(child=serializers.IntegerField())
    stage_failures = serializers.DictField(child=serializers.IntegerField())
    tolerance = serializers.DictField(child=serializers.IntegerField())
    worker_id = serializers.CharField()
    parked_until = serializers.CharField(allow_null=True)
    reported_at = serializers.CharField(allow_null=True)


class PipelineStage(serializers.Serializer[Any]):
    """One stage of a pipeline."""

    type = serializers.CharField()
    locals()["class"] = serializers.CharField()


class ConnectorDocument(serializers.Serializer[Any]):
    """One connector; secrets in its configuration are masked."""

    name = serializers.CharField()
    type = serializers.CharField()
    state = serializers.CharField()
    worker_id = serializers.CharField()
    topics = serializers.ListField(child=serializers.CharField())
    dlq_topic = serializers.CharField(allow_null=True)
    delivery = serializers.CharField()
    config = serializers.DictField(child=serializers.CharField())
    tasks = TaskDocument(many=True)
    metrics = serializers.DictField(child=serializers.IntegerField())
    lag = serializers.IntegerField(allow_null=True)
    stages = PipelineStage(many=True)
    last_error_at = serializers.CharField(allow_null=True)


class ConnectorAnswer(ConnectorDocument):
    """One connector, and how fresh the answer is."""

    reachable = serializers.BooleanField()
    as_of = serializers.CharField(allow_null=True)


class ConnectorList(serializers.Serializer[Any]):
    """Every connector; when the engine is away, as it last answered."""

    reachable = serializers.BooleanField()
    as_of = serializers.CharField(allow_null=True)
    results = ConnectorDocument(many=True)


class ControlRequest(serializers.Serializer[Any]):
    """Why the operator does it; for the audit trail."""

    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class ControlAnswer(serializers.Serializer[Any]):
    """The engine accepted the wish; the state follows."""

    connector = serializers.CharField()
    task = serializers.IntegerField(allow_null=True)
    action = serializers.CharField()
