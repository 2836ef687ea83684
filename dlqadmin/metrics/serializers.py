"""The API documents of metrics."""

from typing import Any

from rest_framework import serializers


class ConnectorBalance(serializers.Serializer[Any]):
    """The record counts of one connector, by bucket."""

    name = serializers.CharField()
    consumed = serializers.IntegerField()
    delivered = serializers.IntegerField()
    dead_lettered = serializers.IntegerField()
    skipped = serializers.IntegerField()
    filtered = serializers.IntegerField()
    balanced = serializers.BooleanField()


class Balance(serializers.Serializer[Any]):
    """The record counts of all connectors, by bucket.

    Consumed = delivered + dead-lettered + skipped + filtered.
    """

    consumed = serializers.IntegerField()
    delivered = serializers.IntegerField()
    dead_lettered = serializers.IntegerField()
    skipped = serializers.IntegerField()
    filtered = serializers.IntegerField()
    balanced = serializers.BooleanField()
    as_of = serializers.CharField(allow_null=True)
    connectors = ConnectorBalance(many=True)


class ErrorSeries(serializers.Serializer[Any]):
    """The columns of one series. `stage` is the stage at which most records failed."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field's name is also an attribute of the base
    stage = serializers.CharField()
    total = serializers.IntegerField()
    points = serializers.ListField(child=serializers.IntegerField())
    others = serializers.IntegerField(help_text="How many series this one puts together; 0 where it is one.")


class WeekBefore(serializers.Serializer[Any]):
    """The same time a week before, by column."""

    total = serializers.IntegerField()
    points = serializers.ListField(child=serializers.IntegerField())


class HeatRow(serializers.Serializer[Any]):
    """One dead letter topic."""

    topic = serializers.CharField()
    total = serializers.IntegerField()
    week_before = serializers.IntegerField()
    points = serializers.ListField(child=serializers.IntegerField())


class Heat(serializers.Serializer[Any]):
    """Errors by topic and time. The range is widened to whole columns."""

    locals()["from"] = serializers.CharField()
    to = serializers.CharField()
    bucket_ms = serializers.IntegerField()
    topics = serializers.IntegerField()
    rows = HeatRow(many=True)
    exact = serializers.BooleanField()


class Errors(serializers.Serializer[Any]):
    """Errors over time. The range is widened to whole buckets."""

    locals()["from"] = serializers.CharField()
    to = serializers.CharField()
    bucket_ms = serializers.IntegerField()
    series = ErrorSeries(many=True)
    total = serializers.IntegerField()
    week_before = WeekBefore(allow_null=True)
    exact = serializers.BooleanField()


class StageFigures(serializers.Serializer[Any]):
    """One stage, with the number of records that arrived and that failed."""

    index = serializers.IntegerField()
    type = serializers.CharField()
    locals()["class"] = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    locals()["in"] = serializers.IntegerField()
    failed = serializers.IntegerField()


class Stages(serializers.Serializer[Any]):
    """The pipeline of one connector."""

    connector = serializers.CharField()
    stages = StageFigures(many=True)
    total_failed = serializers.IntegerField()
    exact = serializers.BooleanField()
