"""Add dead letter topics to the index, and exclude topics from it, without a restart."""

from __future__ import annotations

from typing import Any, Literal

from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from dlqadmin.audit.entries import record
from dlqadmin.broker import clusters, internal_topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.topic_patterns import is_name
from dlqadmin.clusters.documents import TopicRuleDocument
from dlqadmin.deadletters.index.candidate_topics import ADDED
from dlqadmin.deadletters.models import TopicRule
from dlqadmin.rest.problems import UpstreamUnavailable
from dlqadmin.rest.times import iso

Rule = Literal["added", "excluded", "default"]
ACTIONS = {"added": ADDED, "excluded": "exclude topic", "default": "reset topic"}
MAX_NAME = 249


def rules() -> list[TopicRuleDocument]:
    """Return the rules of the own cluster by topic."""
    rows = TopicRule.objects.filter(cluster=clusters.current()).order_by("topic")
    return [
        TopicRuleDocument(
            topic=row.topic,
            rule="excluded" if row.is_excluded else "added",
            by=row.actor,
            at=iso(row.at),
            reason=row.reason,
        )
        for row in rows
    ]


def change(user: Any, topic: str, rule: Rule, reason: str) -> None:
    """Add a topic to the index, exclude it, or leave it to DLQ_TOPICS again. The indexer follows within seconds.

    Indexed records stay in the index. Raises ValidationError, or UpstreamUnavailable if Kafka must be asked and does
    not respond.
    """
    if not is_name(topic) or len(topic) > MAX_NAME or topic in (".", ".."):
        raise ValidationError({"topic": ["is not the name of a topic. Write letters, digits, '.', '_' and '-' only."]})
    if rule == "added":
        _refuse_internal(topic)
    with transaction.atomic():
        known = TopicRule.objects.select_for_update().filter(cluster=clusters.current(), topic=topic).first()
        before = "default" if known is None else "excluded" if known.is_excluded else "added"
        if before == rule:
            return
        if rule == "default":
            TopicRule.objects.filter(cluster=clusters.current(), topic=topic).delete()
        else:
            values = {"is_excluded": rule == "excluded", "actor": user.get_username(), "reason": reason}
            TopicRule.objects.update_or_create(
                cluster=clusters.current(), topic=topic, defaults={**values, "at": timezone.now()}
            )
        record(user, ACTIONS[rule], "topic", topic, {"reason": reason, "before": before, "after": rule})


def _refuse_internal(topic: str) -> None:
    """Refuse topics of Kafka, Kafka Connect and the engine: their records are no dead letters, and may hold secrets."""
    try:
        internal = internal_topics.find_now([topic]).get(topic)
    except BrokerUnavailable as error:
        raise UpstreamUnavailable(
            "Kafka does not respond, so it is not known whether the topic is internal. Try again later."
        ) from error
    if internal is not None:
        raise ValidationError({"topic": [f"{topic} {internal.why}, so it can't be indexed."]})
