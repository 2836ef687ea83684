"""Records whose content was erased, and keys whose future records are indexed without content."""

from __future__ import annotations

from django.db import models

from dlqadmin.deadletters.models.reach import of_topic
from dlqadmin.teams.managers import InReach


class ErasedRecord(models.Model):
    """A dead letter whose content was erased. Its content is never written again, even if its row is deleted.

    `erasure` is the number of the erasure, X-3. The coordinates and times tell what Kafka may still hold of it.
    The row does not refer to the dead letter, because retention deletes only dead letters without references.
    """

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    offset = models.BigIntegerField()
    erasure = models.BigIntegerField()
    at = models.DateTimeField()
    dead_letter = models.BigIntegerField()
    failed_at = models.DateTimeField()
    origin_topic = models.CharField(max_length=249, blank=True)
    origin_partition = models.IntegerField(null=True, blank=True)
    origin_offset = models.BigIntegerField(null=True, blank=True)
    origin_timestamp = models.DateTimeField(null=True, blank=True)

    objects = InReach["ErasedRecord"].by(of_topic)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "topic", "partition", "offset"], name="erased_record_once")
        ]
        indexes = [models.Index(fields=["erasure", "id"], name="erased_record_erasure")]

    def __str__(self) -> str:
        return f"{self.topic} / {self.partition} / {self.offset}"


class ErasedKey(models.Model):
    """A key whose future dead letters are indexed without content. Only an HMAC of the key is stored."""

    digest = models.CharField(max_length=64, unique=True)
    erasure = models.BigIntegerField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.digest
