"""Serializers of reports.

They describe the parts that both kinds share. The serializers of groups and replays describe the
rest.
"""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.deadletters.groups.serializers import CommonDocument, FingerprintDocument
from dlqadmin.replays.jobs.serializers import ReplayDocument
from dlqadmin.rest.documents import Document

KINDS = ("group", "replay")


class ExampleDocument(Document):
    dead_letter = serializers.IntegerField()
    coordinates = serializers.CharField()
    origin = serializers.CharField()
    failed_at = serializers.DateTimeField()
    message = serializers.CharField()
    key = serializers.CharField(allow_null=True)
    value = serializers.CharField(allow_null=True)
    value_size = serializers.IntegerField(allow_null=True)


class TimelineDocument(Document):
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    text = serializers.CharField()


class ReportDocument(Document):
    """The common part of all reports.

    `values`: the report contains keys and values. `left_out`: the parts that took too long to query.
    """

    kind = serializers.ChoiceField(KINDS)
    id = serializers.CharField()
    title = serializers.CharField()
    environment = serializers.CharField()
    cluster = serializers.CharField()
    written_at = serializers.DateTimeField()
    written_by = serializers.CharField()
    values = serializers.BooleanField()
    chart = serializers.DictField()
    timeline = TimelineDocument(many=True)
    examples = ExampleDocument(many=True)
    left_out = serializers.ListField(child=serializers.CharField())


class GroupReport(ReportDocument):
    state = serializers.CharField()
    owner = serializers.CharField(allow_null=True)
    exception_class = serializers.CharField()
    stage = serializers.CharField()
    message = serializers.CharField()
    connectors = serializers.ListField(child=serializers.CharField())
    topics = serializers.ListField(child=serializers.CharField())
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()
    events = serializers.IntegerField()
    events_24h = serializers.IntegerField()
    keys = serializers.IntegerField()
    keys_exact = serializers.BooleanField()
    why = FingerprintDocument(many=True)
    common = CommonDocument()
    decided = serializers.DictField(child=serializers.IntegerField())
    replays = ReplayDocument(many=True)


class ReplayReport(ReportDocument):
    status = serializers.CharField()
    target_topic = serializers.CharField()
    reason = serializers.CharField()
    trouble = serializers.CharField()
    started_by = serializers.CharField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    approved_by = serializers.CharField(allow_null=True)
    approved_at = serializers.DateTimeField(allow_null=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    reasons = serializers.ListField(child=serializers.DictField())
    groups = serializers.ListField(child=serializers.DictField())
    groups_of = serializers.IntegerField()
