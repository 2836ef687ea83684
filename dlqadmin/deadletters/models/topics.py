"""Rules of administrators about single topics, beside the patterns of DLQ_TOPICS."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from dlqadmin.deadletters.models.reach import of_topic
from dlqadmin.teams.managers import InReach


class TopicRule(models.Model):
    """The decision of an administrator to index a topic, or to exclude it from the index."""

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    is_excluded = models.BooleanField()
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=1000)
    at = models.DateTimeField(default=timezone.now)

    objects = InReach["TopicRule"].by(of_topic)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "topic"], name="topic_rule_topic")]

    def __str__(self) -> str:
        return f"{self.topic} {'excluded' if self.is_excluded else 'added'}"
