"""The API documents of topics and their records."""

from __future__ import annotations

import msgspec

from dlqadmin.broker.topic_scan import StopReason
from dlqadmin.deadletters.payloads import HeaderDocument, PayloadDocument
from dlqadmin.rest.documents import Document, Time


class TopicRow(Document):
    """A topic. `offsets` counts the offsets that Kafka keeps, an upper bound of its records; null if unknown.

    `internal` says why the topic is internal according to its name; null if it is not.
    """

    name: str
    partitions: int
    offsets: int | None
    is_dead_letter_topic: bool
    internal: str | None


class TopicList(Document):
    """The first topics by name that match. `count` is the number of all that match."""

    results: list[TopicRow]
    count: int


class TopicPartitionRange(Document):
    """The offsets that Kafka keeps of one partition: from `begin` up to, and without, `end`."""

    partition: int
    begin: int
    end: int


class TopicDetail(Document):
    """A topic. `refusal` says why its records may not be read; null if they may."""

    name: str
    is_dead_letter_topic: bool
    refusal: str | None
    partitions: list[TopicPartitionRange]


class TopicRecord(Document):
    """A record of a topic. The payloads contain the first bytes.

    `timestamp_type` is CREATE_TIME, LOG_APPEND_TIME or NO_TIMESTAMP_TYPE. `dead_letter` is the id of a dead letter
    of this record, or of this record if it is one itself.
    """

    partition: int
    offset: int
    timestamp: Time | None
    timestamp_type: str
    key: PayloadDocument
    value: PayloadDocument
    header_count: int
    dead_letter: int | None


class TopicRecordDetail(TopicRecord, kw_only=True):
    """A record of a topic with its headers."""

    headers: list[HeaderDocument]


class TopicRecords(Document):
    """Some records of a topic, in the order in which they are to be shown, and how they were read.

    `read` and `read_bytes` count the records that were read to find these. `stopped` says why reading ended: at the
    `end` of what was asked for, with `found` as many as asked for, or at a limit of `records`, `bytes` or `time`.
    `after` and `before` continue in both directions; null if there is nothing older or the topic is empty.
    """

    results: list[TopicRecord]
    read: int
    read_bytes: int
    took_ms: int
    stopped: StopReason
    after: str | None
    before: str | None


class TopicRates(Document):
    """The offsets that were written to a topic by the time of its records. The range is widened to whole columns.

    Records that Kafka has deleted are not counted.
    """

    start: Time = msgspec.field(name="from")
    to: Time
    bucket_ms: int
    points: list[int]
    total: int
