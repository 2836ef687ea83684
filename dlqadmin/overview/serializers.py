"""The documents of the overview and of health."""

from typing import Any

from rest_framework import serializers


class FailingTopics(serializers.Serializer[Any]):
    """How many of the watched origin topics fail."""

    count = serializers.IntegerField()
    watched = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())


class UnresolvedGroups(serializers.Serializer[Any]):
    """Groups that wait for someone."""

    count = serializers.IntegerField()
    new = serializers.IntegerField()
    regressed = serializers.IntegerField()


class ErrorsOfDay(serializers.Serializer[Any]):
    """Errors of the last 24 hours beside the six days before; `days` ends with the last."""

    count = serializers.IntegerField()
    mean_before = serializers.FloatField()
    change_percent = serializers.FloatField(allow_null=True)
    days = serializers.ListField(child=serializers.IntegerField(), min_length=7, max_length=7)


class SummaryDocument(serializers.Serializer[Any]):
    """The figures that head the overview."""

    failing_topics = FailingTopics()
    unresolved_groups = UnresolvedGroups()
    errors_24h = ErrorsOfDay()
    total = serializers.IntegerField()


KINDS = (
    "new", "escalating", "regressed", "budget", "index_behind", "failed_task", "broker_down", "engine_down",
    "replay_paused", "replay_failing",
)  # fmt: skip


class AttentionItem(serializers.Serializer[Any]):
    """One thing to look at, and where."""

    kind = serializers.ChoiceField(choices=KINDS)
    title = serializers.CharField()
    text = serializers.CharField()
    at = serializers.CharField(allow_null=True)
    href = serializers.CharField()


class Attention(serializers.Serializer[Any]):
    """What needs attention, the gravest first, and what is well."""

    items = AttentionItem(many=True)
    ok = serializers.CharField()


class IndexTopic(serializers.Serializer[Any]):
    """How far the index has read one partition."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    position = serializers.IntegerField()
    end = serializers.IntegerField()
    at = serializers.CharField()


class IndexHealth(serializers.Serializer[Any]):
    """How far the index is behind."""

    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()
    topics = IndexTopic(many=True)


class BrokerHealth(serializers.Serializer[Any]):
    """Does Kafka answer?"""

    reachable = serializers.BooleanField()
    brokers = serializers.IntegerField()


class EngineHealth(serializers.Serializer[Any]):
    """Does the engine answer?"""

    reachable = serializers.BooleanField()
    workers = serializers.IntegerField()


class RedisHealth(serializers.Serializer[Any]):
    """Does Redis answer?"""

    reachable = serializers.BooleanField()


class DatabaseHealth(serializers.Serializer[Any]):
    """Which database it is; without one there is no answer at all."""

    vendor = serializers.CharField()


class Health(serializers.Serializer[Any]):
    """How every part is."""

    status = serializers.ChoiceField(choices=["ok", "degraded"])
    index = IndexHealth()
    broker = BrokerHealth()
    engine = EngineHealth()
    redis = RedisHealth()
    database = DatabaseHealth()


class Alive(serializers.Serializer[Any]):
    """The web process answers."""

    alive = serializers.BooleanField()
