"""Documents of a topic's records, with content for payload readers only."""

from __future__ import annotations

from collections.abc import Sequence

from dlqadmin.broker import clusters
from dlqadmin.deadletters.index.active_mappings import active_mappings
from dlqadmin.deadletters.index.column_values import moment
from dlqadmin.deadletters.index.followed_topics import follows
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import SHOWN_BYTES, Part, PayloadReader, RecordReader, header, payload
from dlqadmin.rest.documents import extend
from dlqadmin.rest.times import iso_or_none
from dlqadmin.topics.documents import TopicRecord, TopicRecordDetail, TopicRecords
from dlqadmin.topics.record_pages import RecordPage, positions_text
from engine.record.record import RawRecord

PREVIEW_BYTES = 512

Place = tuple[int, int]  # partition and offset


def page_document(page: RecordPage, reader: PayloadReader) -> TopicRecords:
    """Return a page of records with the first bytes of their keys and values."""
    letters = _dead_letters(page.records)
    return TopicRecords(
        results=[_document(record, _reader(record, reader), letters, PREVIEW_BYTES) for record in page.records],
        read=page.scanned.read,
        read_bytes=page.scanned.read_bytes,
        took_ms=page.took_ms,
        stopped=page.scanned.stopped,
        after=positions_text(page.after) or None,
        before=positions_text(page.before) if page.before else None,
    )


def record_document(record: RawRecord, reader: PayloadReader) -> TopicRecordDetail:
    """Return a record with its headers, and the first 64 kB of its key and value."""
    own = _informed(record, _reader(record, reader))
    return extend(
        TopicRecordDetail,
        _document(record, own, _dead_letters([record]), SHOWN_BYTES),
        headers=[header(name, value, own) for name, value in record.headers],
    )


def _document(record: RawRecord, reader: RecordReader, letters: dict[Place, int], shown: int) -> TopicRecord:
    # The value of a dead letter may be a description of the error that contains the whole record.
    part: Part | None = None if reader.masks is not None and _describes_error(record) else "value"
    return TopicRecord(
        partition=record.partition,
        offset=record.offset,
        timestamp=iso_or_none(moment(record.timestamp)),
        timestamp_type=record.timestamp_type,
        key=payload(record.key, reader, shown, "key"),
        value=payload(record.value, reader, shown, part),
        header_count=len(record.headers),
        dead_letter=letters.get((record.partition, record.offset)),
    )


def part_bytes(record: RawRecord, part: Part, reader: PayloadReader) -> bytes | None:
    """Return the bytes of a part as this reader sees them; None if they are null or hidden."""
    own = _reader(record, reader)
    if part == "value" and own.masks is not None and _describes_error(record):
        return None
    return own.part(part, record.key if part == "key" else record.value)


def _reader(record: RawRecord, reader: PayloadReader) -> RecordReader:
    """Return the reader of a record. Rules for the origin topic hold in its dead letter and retry topics too."""
    origin = active_mappings().read(record).origin if reader.rules else None
    return reader.of_topic(record.topic, "" if origin is None else origin.topic)


def _informed(record: RawRecord, reader: RecordReader) -> RecordReader:
    """Return the reader with the record's secrets, unless they are inside a description of an error."""
    if reader.masks is None or _describes_error(record):
        return reader
    return reader.knowing(record.key, record.value, record.headers)


def _describes_error(record: RawRecord) -> bool:
    facts = active_mappings().read(record)
    return facts.readable and not facts.own_value


def _dead_letters(records: Sequence[RawRecord]) -> dict[Place, int]:
    """Return the ids of the newest dead letters of these records, or of these records if they are dead letters."""
    if not records:
        return {}
    topic = records[0].topic
    prefix = "" if follows(topic) else "origin_"
    partition, offset = f"{prefix}partition", f"{prefix}offset"
    by_partition: dict[int, list[int]] = {}
    for record in records:
        by_partition.setdefault(record.partition, []).append(record.offset)
    found: dict[Place, int] = {}
    for number, offsets in by_partition.items():
        rows = DeadLetter.objects.filter(
            **{
                "cluster": clusters.current(),
                f"{prefix}topic": topic,
                partition: number,
                f"{offset}__in": offsets,
            }
        )
        found |= {(number, at): pk for at, pk in rows.order_by("id").values_list(offset, "id")}
    return found
