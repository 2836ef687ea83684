"""The schema of a replay's plan."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.rest.documents import Document


class SkippedDocument(Document):
    reason = serializers.CharField()
    count = serializers.IntegerField()
    text = serializers.CharField()
    replays = serializers.ListField(child=serializers.IntegerField())


class CheckDocument(Document):
    level = serializers.ChoiceField(choices=["ok", "warn", "stop"])
    title = serializers.CharField()
    text = serializers.CharField()


class PartitionCount(Document):
    partition = serializers.IntegerField(allow_null=True)
    count = serializers.IntegerField()


class WatchedDocument(Document):
    connector = serializers.CharField()
    group = serializers.CharField()
    state = serializers.CharField()
    lag = serializers.IntegerField(allow_null=True)


class ConsumerGroupDocument(Document):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=["classic", "consumer", "share", "simple"])
    state = serializers.CharField()
    members = serializers.IntegerField()
    lag = serializers.IntegerField(allow_null=True)
    watched = serializers.BooleanField()


class TargetDocument(Document):
    topic = serializers.CharField()
    exists = serializers.BooleanField()
    partitions = PartitionCount(many=True)
    largest_bytes = serializers.IntegerField(allow_null=True)
    limit_bytes = serializers.IntegerField(allow_null=True)
    watched = WatchedDocument(many=True)
    also_read_by = serializers.ListField(child=serializers.CharField())
    groups = ConsumerGroupDocument(many=True)


class PlanHeaders(Document):
    added = serializers.ListField(child=serializers.CharField())
    stripped = serializers.ListField(child=serializers.CharField())


class ConfirmDocument(Document):
    word = serializers.CharField()


class PlanDocument(Document):
    checked_at = serializers.DateTimeField()
    took_ms = serializers.IntegerField()
    digest = serializers.CharField()
    records_digest = serializers.CharField()
    rate = serializers.IntegerField()
    total = serializers.IntegerField()
    to_send = serializers.IntegerField()
    skipped = SkippedDocument(many=True)
    elsewhere = serializers.IntegerField()
    edited = serializers.IntegerField()
    newer = serializers.IntegerField()
    checks = CheckDocument(many=True)
    targets = TargetDocument(many=True)
    headers = PlanHeaders()
    confirm = ConfirmDocument(allow_null=True)
    runnable = serializers.BooleanField()
