"""The documents of the overview and of health."""

from typing import Any

from rest_framework import serializers


class FailingTopics(serializers.Serializer[Any]):
    """How many of the watched origin topics fail; at least so many where it is not exact."""

    count = serializers.IntegerField()
    exact = serializers.BooleanField()
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


class NewestFailing(serializers.Serializer[Any]):
    """The newest replay with records that failed again."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    sent = serializers.IntegerField()
    passed = serializers.IntegerField()
    failed_again = serializers.IntegerField()


class ReplaysOfTime(serializers.Serializer[Any]):
    """Replays that were started, and those with records that failed again."""

    started = serializers.IntegerField()
    failing = serializers.IntegerField()
    newest = NewestFailing(allow_null=True)


class SummaryDocument(serializers.Serializer[Any]):
    """The figures that head the overview."""

    failing_topics = FailingTopics()
    unresolved_groups = UnresolvedGroups()
    errors_24h = ErrorsOfDay()
    replays = ReplaysOfTime()
    total = serializers.IntegerField()


KINDS = (
    "new", "escalating", "regressed", "budget", "index_behind", "retention_soon", "failed_task", "broker_down",
    "engine_down", "replay_paused", "replay_failing",
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


class TextHealth(serializers.Serializer[Any]):
    """How far the text is behind the list."""

    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()


class IndexHealth(serializers.Serializer[Any]):
    """How far the index is behind."""

    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()
    text = TextHealth()
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
