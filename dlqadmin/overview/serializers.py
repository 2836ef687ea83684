"""The API documents of the overview and of health."""

from typing import Any

from rest_framework import serializers


class FailingTopics(serializers.Serializer[Any]):
    """The number of watched origin topics with failures. It is a lower bound if it is not exact."""

    count = serializers.IntegerField()
    exact = serializers.BooleanField()
    watched = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())


class UnresolvedGroups(serializers.Serializer[Any]):
    """Groups that need a decision."""

    count = serializers.IntegerField()
    new = serializers.IntegerField()
    regressed = serializers.IntegerField()


class ErrorsOfDay(serializers.Serializer[Any]):
    """Errors of the last 24 hours and of the six days before. `days` ends with the last 24 hours."""

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
    """Replays that started in the time range, and those with records that failed again."""

    started = serializers.IntegerField()
    failing = serializers.IntegerField()
    newest = NewestFailing(allow_null=True)


class SummaryDocument(serializers.Serializer[Any]):
    """The figures at the top of the overview."""

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
    """A finding, with a link to the relevant page."""

    kind = serializers.ChoiceField(choices=KINDS)
    title = serializers.CharField()
    text = serializers.CharField()
    at = serializers.CharField(allow_null=True)
    href = serializers.CharField()


class Attention(serializers.Serializer[Any]):
    """The findings that need attention, most severe first, and the healthy parts."""

    items = AttentionItem(many=True)
    ok = serializers.CharField()


class IndexTopic(serializers.Serializer[Any]):
    """The index position of one partition."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    position = serializers.IntegerField()
    end = serializers.IntegerField()
    at = serializers.CharField()


class TextHealth(serializers.Serializer[Any]):
    """The lag of search text behind the index."""

    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()


class IndexHealth(serializers.Serializer[Any]):
    """The lag of the index."""

    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()
    text = TextHealth()
    topics = IndexTopic(many=True)


class BrokerHealth(serializers.Serializer[Any]):
    """The state of Kafka."""

    reachable = serializers.BooleanField()
    brokers = serializers.IntegerField()


class EngineHealth(serializers.Serializer[Any]):
    """The state of the engine."""

    reachable = serializers.BooleanField()
    workers = serializers.IntegerField()


class AuditHealth(serializers.Serializer[Any]):
    """The progress of sealing the audit trail and of sending it to its external target."""

    unsealed_seconds = serializers.FloatField()
    unshipped = serializers.IntegerField()
    shipping_trouble = serializers.CharField(allow_blank=True)


class RedisHealth(serializers.Serializer[Any]):
    """The state of Redis."""

    reachable = serializers.BooleanField()


class DatabaseHealth(serializers.Serializer[Any]):
    """The database in use. Without a database there is no response."""

    vendor = serializers.CharField()


class Health(serializers.Serializer[Any]):
    """The health of every part."""

    status = serializers.ChoiceField(choices=["ok", "degraded"])
    index = IndexHealth()
    broker = BrokerHealth()
    engine = EngineHealth()
    redis = RedisHealth()
    database = DatabaseHealth()
    audit = AuditHealth()


class Alive(serializers.Serializer[Any]):
    """A sign that the web process responds."""

    alive = serializers.BooleanField()
