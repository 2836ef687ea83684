"""The schemas of replays."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.replays.models import ItemState, OrderGuard, ReplayStatus
from dlqadmin.replays.plans.serializers import PlanDocument
from dlqadmin.replays.selections.serializers import SelectionDocument
from dlqadmin.rest.documents import Document


class ItemCounts(Document):
    total = serializers.IntegerField()
    planned = serializers.IntegerField()
    queued = serializers.IntegerField()
    sending = serializers.IntegerField()
    waiting = serializers.IntegerField()
    passed = serializers.IntegerField()
    failed_again = serializers.IntegerField()
    unknown = serializers.IntegerField()
    skipped = serializers.IntegerField()


class ReasonCount(Document):
    state = serializers.ChoiceField(choices=ItemState.choices)
    reason = serializers.CharField()
    count = serializers.IntegerField()


class ApprovalDocument(Document):
    needed = serializers.BooleanField()
    reasons = serializers.ListField(child=serializers.CharField())
    barred = serializers.ListField(child=serializers.CharField())
    above = serializers.IntegerField()
    asked_by = serializers.CharField(allow_null=True)
    asked_at = serializers.DateTimeField(allow_null=True)
    approved_by = serializers.CharField(allow_null=True)
    approved_at = serializers.DateTimeField(allow_null=True)
    void = serializers.BooleanField()
    approved = serializers.BooleanField()
    rate = serializers.IntegerField(allow_null=True)


class CanaryDocument(Document):
    step = serializers.IntegerField()
    size = serializers.IntegerField()
    sent = serializers.IntegerField()
    waiting = serializers.IntegerField()
    passed = serializers.IntegerField()
    failed_again = serializers.IntegerField()
    unknown = serializers.IntegerField()
    stopped = serializers.BooleanField()


class ReplaySummary(Document):
    id = serializers.IntegerField()
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=ReplayStatus.choices)
    target_topic = serializers.CharField()
    use_fixes = serializers.BooleanField()
    resend = serializers.BooleanField()
    rate = serializers.IntegerField()
    target_cluster = serializers.CharField()
    shadow = serializers.BooleanField()
    keep_timestamps = serializers.BooleanField()
    order = serializers.ChoiceField(choices=OrderGuard.choices)
    steps = serializers.ListField(child=serializers.IntegerField())
    breaker_percent = serializers.IntegerField(allow_null=True)
    max_lag = serializers.IntegerField(allow_null=True)
    chunk_records = serializers.IntegerField()
    watch = serializers.ListField(child=serializers.CharField())
    resolve_groups = serializers.BooleanField()
    planned_count = serializers.IntegerField()
    approval = ApprovalDocument()
    reason = serializers.CharField()
    trouble = serializers.CharField()
    step = serializers.IntegerField()
    canary = CanaryDocument(allow_null=True)
    resuming = serializers.CharField()
    selection = SelectionDocument()
    planned_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_by = serializers.CharField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    sent_at = serializers.DateTimeField(allow_null=True)
    done_at = serializers.DateTimeField(allow_null=True)
    watching = serializers.ListField(child=serializers.CharField())
    counts = ItemCounts()
    reasons = ReasonCount(many=True)
    sent = serializers.IntegerField()
    edited = serializers.IntegerField()
    chunks = serializers.IntegerField()


class ReplayDocument(ReplaySummary):
    plan = PlanDocument(allow_null=True)


class ReplaySaid(ReplayDocument):
    said = serializers.CharField()


class ReplayPage(Document):
    results = ReplaySummary(many=True)
    next = serializers.CharField(allow_null=True)


class LogEntry(Document):
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    kind = serializers.CharField()
    text = serializers.CharField()


class LogDocument(Document):
    results = LogEntry(many=True)


class SentAndSettled(Document):
    locals()["from"] = serializers.DateTimeField()
    to = serializers.DateTimeField()
    bucket_ms = serializers.IntegerField()
    sent = serializers.ListField(child=serializers.IntegerField())
    settled = serializers.ListField(child=serializers.IntegerField())
