"""Mappings of people, and the topics that are read again with them."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from dlqadmin.deadletters.models.reach import of_topic
from dlqadmin.jobs.models import Job
from dlqadmin.teams.managers import InReach


class MappingVersion(models.Model):
    """One version of a mapping. It never changes; the newest active one of a name is used.

    `document` is an `engine.dialects.mapping.Mapping` as JSON.
    """

    cluster = models.CharField(max_length=64)
    name = models.CharField(max_length=30)
    version = models.IntegerField()
    document = models.JSONField()
    is_active = models.BooleanField(default=True)
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=1000)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name", "version"], name="mapping_version"),
            models.UniqueConstraint(
                fields=["cluster", "name"], condition=models.Q(is_active=True), name="mapping_active"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}, version {self.version}"


class RereadState(models.TextChoices):
    """The state of a reread."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Reread(Job):
    """A dead letter topic that is read again from its start, after a change of its dialect.

    `partition` and `offset` are the next record to read. `total` counts the offsets that the topic had when it began.
    """

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=RereadState, default=RereadState.RUNNING)
    partition = models.IntegerField(default=0)
    offset = models.BigIntegerField(default=0)
    read = models.BigIntegerField(default=0)  # records
    written = models.BigIntegerField(default=0)  # dead letters
    total = models.BigIntegerField(default=0)  # offsets
    done_at = models.DateTimeField(null=True, blank=True)

    objects = InReach["Reread"].by(of_topic)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "topic"], condition=models.Q(state="running"), name="reread_of_topic"
            )
        ]

    def __str__(self) -> str:
        return f"the reread of {self.topic}"
