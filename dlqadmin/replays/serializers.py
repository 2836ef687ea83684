"""The shapes of fixes, selections and replays as the schema describes them."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.deadletters.serializers import Document
from dlqadmin.replays.models import ItemState, ReplayStatus


class BytesDocument(Document):
    base64 = serializers.CharField(allow_null=True)
    size = serializers.IntegerField(allow_null=True)


class HeaderBytes(Document):
    name = serializers.CharField()
    value = BytesDocument()


class MessageDocument(Document):
    key = BytesDocument()
    value = BytesDocument()
    headers = HeaderBytes(many=True)


class DraftDocument(MessageDocument):
    id = serializers.IntegerField()
    updated_at = serializers.DateTimeField()
    digest = serializers.CharField()
    identical = serializers.BooleanField()


class OtherDraft(Document):
    author = serializers.CharField()
    updated_at = serializers.DateTimeField()


class EarlierReplay(Document):
    replay = serializers.IntegerField()
    item_state = serializers.ChoiceField(choices=ItemState.choices)
    reason = serializers.CharField()
    at = serializers.DateTimeField()


class FixDocument(Document):
    original = MessageDocument(allow_null=True)
    not_replayable = serializers.ChoiceField(choices=["expired", "unknown"], allow_null=True)
    stripped = serializers.ListField(child=serializers.CharField())
    draft = DraftDocument(allow_null=True)
    others = OtherDraft(many=True)
    too_large = serializers.BooleanField()
    earlier = EarlierReplay(many=True)


class PlaceDocument(Document):
    id = serializers.IntegerField()
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()


class LetterDocument(PlaceDocument):
    key_text = serializers.CharField(allow_null=True)


class FixRow(Document):
    id = serializers.IntegerField()
    dead_letter = LetterDocument()
    updated_at = serializers.DateTimeField()
    identical = serializers.BooleanField()


class FixList(Document):
    results = FixRow(many=True)


class SelectionDocument(Document):
    id = serializers.IntegerField()
    count = serializers.IntegerField()
    watermark = serializers.IntegerField()
    digest = serializers.CharField()
    title = serializers.CharField()
    filters = serializers.DictField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)


class SelectionDetail(SelectionDocument):
    drifted = serializers.BooleanField()


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


class TargetDocument(Document):
    topic = serializers.CharField()
    exists = serializers.BooleanField()
    partitions = PartitionCount(many=True)
    largest_bytes = serializers.IntegerField(allow_null=True)
    limit_bytes = serializers.IntegerField(allow_null=True)
    watched = WatchedDocument(many=True)
    also_read_by = serializers.ListField(child=serializers.CharField())


class PlanHeaders(Document):
    added = serializers.ListField(child=serializers.CharField())
    stripped = serializers.ListField(child=serializers.CharField())


class PlanDocument(Document):
    checked_at = serializers.DateTimeField()
    took_ms = serializers.IntegerField()
    digest = serializers.CharField()
    total = serializers.IntegerField()
    to_send = serializers.IntegerField()
    skipped = SkippedDocument(many=True)
    edited = serializers.IntegerField()
    checks = CheckDocument(many=True)
    targets = TargetDocument(many=True)
    headers = PlanHeaders()
    runnable = serializers.BooleanField()


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


class ReplaySummary(Document):
    id = serializers.IntegerField()
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=ReplayStatus.choices)
    target_topic = serializers.CharField()
    use_fixes = serializers.BooleanField()
    resend = serializers.BooleanField()
    rate = serializers.IntegerField()
    reason = serializers.CharField()
    trouble = serializers.CharField()
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
    plan = PlanDocument()


class ReplaySaid(ReplayDocument):
    said = serializers.CharField()


class ReplayPage(Document):
    results = ReplaySummary(many=True)
    next = serializers.CharField(allow_null=True)


class Coordinates(Document):
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()


class EarlierOutcome(Document):
    at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=ItemState.choices)
    reason = serializers.CharField()
    evidence = serializers.CharField()


class ItemDocument(Document):
    ordinal = serializers.IntegerField()
    dead_letter = LetterDocument()
    locals()["from"] = Coordinates(allow_null=True)
    sent_to = Coordinates(allow_null=True)
    sent_digest = serializers.CharField()
    attempt = serializers.IntegerField()
    state = serializers.ChoiceField(choices=ItemState.choices)
    reason = serializers.CharField()
    evidence = serializers.CharField()
    edited = serializers.BooleanField()
    refailure = PlaceDocument(allow_null=True)
    at = serializers.DateTimeField()
    history = EarlierOutcome(many=True)


class ItemPage(Document):
    results = ItemDocument(many=True)
    next = serializers.CharField(allow_null=True)
    total = serializers.IntegerField()


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


class ReplayLink(Document):
    id = serializers.IntegerField()
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=ReplayStatus.choices)
    started_by = serializers.CharField(allow_null=True)


class ItemOfReplay(ItemDocument):
    replay = ReplayLink()


class WayEvent(Document):
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(choices=["edited", "replay_sent", "replay_outcome"])
    text = serializers.CharField()
    replay = serializers.IntegerField(allow_null=True)
    dead_letter = serializers.IntegerField(allow_null=True)


class LineageEntry(Document):
    dead_letter = serializers.IntegerField()
    at = serializers.DateTimeField()
    text = serializers.CharField()


class WayDocument(Document):
    results = ItemOfReplay(many=True)
    timeline = WayEvent(many=True)
    lineage = LineageEntry(many=True)
