"""The records beside a failed record in its origin partition, from the index and from Kafka."""

from __future__ import annotations

import msgspec

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index import origin_topics
from dlqadmin.deadletters.index.column_values import key_text, moment
from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import PayloadReader, RecordReader, release
from dlqadmin.deadletters.records.documents import NeighbourState, OriginNeighbour, OriginNeighbours
from dlqadmin.deadletters.search.queries import same_origin
from dlqadmin.rest.times import iso_or_none
from engine.record.record import RawRecord

BEFORE, AFTER = 4, 2
TIMEOUT_S = 1.5


def origin_neighbours(row: DeadLetter, reader: PayloadReader) -> OriginNeighbours:
    """Return the records from 4 before to 2 after this one, and the last good one.

    `last_good` is the newest earlier record with the same key that passed. `not_allowed` says why the origin
    topic may not be read for this dead letter topic, and is null if it may be read.
    """
    with clusters.on(row.cluster):
        return _neighbours(row, reader)


def _neighbours(row: DeadLetter, reader: PayloadReader) -> OriginNeighbours:
    if row.origin_partition is None or row.origin_offset is None:
        return OriginNeighbours(results=[], last_good=None, not_allowed=None)
    failed: dict[int, DeadLetter] = {}
    for letter in same_origin(row, BEFORE, AFTER):
        if letter.origin_offset is not None:
            failed[letter.origin_offset] = letter
    failed[row.origin_offset] = row
    refused = _refusal(row)
    kept = {} if refused else {record.offset: record for record in _read_records(row)}
    passed = 0 if refused else _connector_position(row)
    results = [
        _neighbour(offset, failed.get(offset), kept.get(offset), passed, row)
        for offset in sorted(failed.keys() | kept.keys())
    ]
    good = [
        item
        for item in results
        if item.state == "passed" and item.offset < row.origin_offset and item.key_text == row.key_text
    ]
    for item in results:
        own = neighbour_reader(failed.get(item.offset), row, reader)
        item.key_text, item.withheld = release(item.key_text, own), not own.reads_all
    return OriginNeighbours(results=results, last_good=good[-1] if good else None, not_allowed=refused or None)


def neighbour_reader(letter: DeadLetter | None, row: DeadLetter, reader: PayloadReader) -> RecordReader:
    """Return the reader of a record beside `row` in its origin topic. It is a dead letter itself, or `letter` is None.

    Without a dead letter it is a record of the origin topic alone, which may belong to another team.
    """
    if letter is not None:
        return reader.of(letter)
    own = reader.of(row)
    may_read = own.may_read and reader.reach.has_topic(row.origin_topic, row.cluster)
    return msgspec.structs.replace(own, may_read=may_read)


def _refusal(row: DeadLetter) -> str:
    """Return why the origin may not be read, or "" if it may.

    A topic that cannot be checked is not read.
    """
    try:
        return origin_topics.refusal(row.topic, row.origin_topic)
    except BrokerUnavailable:
        return "Kafka did not respond, so it is unknown whether the topic may be read"


def _read_records(row: DeadLetter) -> list[RawRecord]:
    """Return the origin's records around this one; empty if Kafka is unavailable or deleted them."""
    assert row.origin_partition is not None
    assert row.origin_offset is not None
    last = row.origin_offset + AFTER
    try:
        found = topics.read_range(
            row.origin_topic,
            row.origin_partition,
            max(0, row.origin_offset - BEFORE),
            BEFORE + 1 + AFTER,
            timeout_s=TIMEOUT_S,
        )
    except BrokerUnavailable:
        return []
    return [record for record in found if record.offset <= last]


def _connector_position(row: DeadLetter) -> int:
    """Return the connector's position in the origin partition.

    An earlier record without a dead letter was delivered, filtered or skipped.
    """
    if not row.connector or row.origin_partition is None:
        return 0
    where = (row.origin_topic, row.origin_partition)
    try:
        return topics.committed(f"connect-{row.connector}", [where]).get(where, 0)
    except BrokerUnavailable:
        return 0


def _neighbour(
    offset: int,
    letter: DeadLetter | None,
    record: RawRecord | None,
    passed: int,
    row: DeadLetter,
) -> OriginNeighbour:
    state: NeighbourState
    if letter is not None:
        state, label = "failed", short(letter.fingerprint.exception_class)
    elif offset < passed:
        state, label = "passed", "no dead letter"
    else:
        state, label = "unknown", "unknown"
    at = moment(record.timestamp) if record else letter.origin_timestamp if letter else None
    return OriginNeighbour(
        id=letter.pk if letter else None,
        offset=offset,
        key_text=key_text(record.key) if record else letter.key_text if letter else None,
        withheld=True,
        at=iso_or_none(at),
        state=state,
        label="this record" if letter is not None and letter.pk == row.pk else label,
        this=letter is not None and letter.pk == row.pk,
    )
