"""Counters of dead letters, index positions, the text queue and saved searches."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.deadletters.models import reach
from dlqadmin.deadletters.models.groups import Fingerprint
from dlqadmin.teams.managers import InReach
from dlqadmin.teams.reach import of_colleagues


class FingerprintSource(models.Model):
    """A topic and a connector that dead letters of a fingerprint came from. The indexer adds rows with the counters.

    The few rows tell which names a reader may reach, and which fingerprints.
    """

    fingerprint = models.ForeignKey(Fingerprint, on_delete=models.PROTECT, related_name="+", db_index=False)
    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    connector = models.CharField(max_length=200, blank=True)

    objects = InReach["FingerprintSource"].by(lambda _: reach.of_source())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["fingerprint", "cluster", "topic", "connector"], name="fingerprint_source_once"
            )
        ]
        indexes = [
            models.Index(fields=["topic"], name="fingerprint_source_topic"),
            models.Index(fields=["connector"], name="fingerprint_source_connector"),
        ]

    def __str__(self) -> str:
        return f"{self.fingerprint_id} from {self.topic}"


class OriginSource(models.Model):
    """A topic and a connector whose dead letters came from an origin topic. The indexer adds rows with the letters.

    The few rows tell the names of origin topics, and which of them a reader may reach, without a look at the letters.
    A row remains when its dead letters are gone.
    """

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    connector = models.CharField(max_length=200, blank=True)
    origin_topic = models.CharField(max_length=249)

    objects = InReach["OriginSource"].by(lambda _: reach.of_source())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["origin_topic", "cluster", "topic", "connector"], name="origin_source_once")
        ]

    def __str__(self) -> str:
        return f"{self.origin_topic} in {self.topic}"


class CountHour(models.Model):
    """The number of dead letters that failed in one hour (hours since the epoch)."""

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    connector = models.CharField(max_length=200, blank=True)
    fingerprint = models.ForeignKey(Fingerprint, on_delete=models.PROTECT, related_name="+", db_index=False)
    hour = models.IntegerField()
    n = models.BigIntegerField()

    objects = InReach["CountHour"].by(lambda _: reach.of_source())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["hour", "fingerprint", "cluster", "topic", "connector"], name="count_hour_cell"
            )
        ]

    def __str__(self) -> str:
        return f"{self.hour}: {self.n}"


class CountDay(models.Model):
    """The number of dead letters that failed on one day (days since the epoch, UTC)."""

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    connector = models.CharField(max_length=200, blank=True)
    fingerprint = models.ForeignKey(Fingerprint, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.IntegerField()
    n = models.BigIntegerField()

    objects = InReach["CountDay"].by(lambda _: reach.of_source())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["day", "fingerprint", "cluster", "topic", "connector"], name="count_day_cell"
            )
        ]
        indexes = [models.Index(fields=["fingerprint"], name="count_day_fingerprint")]

    def __str__(self) -> str:
        return f"{self.day}: {self.n}"


class WorkChange(models.Model):
    """A change of the work on dead letters in one hour (hours since the epoch).

    - `n` dead letters more have the work state. It is negative if they are fewer.
    - With `removed`, `n` dead letters left the index in this state. The counters keep counting them.

    Triggers add the rows, in the transaction of the change: a sum of rows is exact, and writers never wait for
    each other. `work_count_compaction` adds up the rows of an hour. "open" is in no row without `removed`: it is the
    rest of the counters.
    """

    hour = models.IntegerField()
    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    connector = models.CharField(max_length=200, blank=True)
    fingerprint = models.ForeignKey(
        Fingerprint, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )  # a check would lock the fingerprint's row
    state = models.CharField(max_length=10)
    removed = models.BooleanField()
    n = models.BigIntegerField()
    compacted = models.BooleanField()

    objects = InReach["WorkChange"].by(lambda _: reach.of_source())

    class Meta:
        indexes = [
            models.Index(fields=["fingerprint"], name="work_change_fingerprint"),
            models.Index(fields=["hour"], condition=models.Q(compacted=False), name="work_change_new"),
        ]

    def __str__(self) -> str:
        return f"{self.hour}: {self.n:+} {self.state}"


class IndexPosition(models.Model):
    """The indexed position of one partition of a dead letter topic.

    It is written in the same transaction as the rows that it covers.
    """

    cluster = models.CharField(max_length=64)
    topic = models.CharField(max_length=249)
    partition = models.IntegerField()
    position = models.BigIntegerField(default=0)
    end_offset = models.BigIntegerField(null=True, blank=True)
    last_record_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField()

    objects = InReach["IndexPosition"].by(reach.of_topic)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "topic", "partition"], name="index_position_partition")
        ]

    def __str__(self) -> str:
        return f"{self.topic} / {self.partition} at {self.position}"


class TextBatch(models.Model):
    """A batch of indexed dead letters whose text cannot be searched yet.

    The row is written in the transaction that writes the dead letters, and deleted in the one that writes
    their text.
    """

    ids = models.BinaryField()  # see word_index.pack
    n = models.IntegerField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.n} at {self.at}"


class SavedSearch(models.Model):
    """A named search. Every user can run a shared search, but only its owner can change it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=100)
    query = models.TextField()  # as the query bar shows it
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    objects = InReach["SavedSearch"].by(lambda reach: of_colleagues(reach, "owner"))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="saved_search_name")]

    def __str__(self) -> str:
        return self.name
