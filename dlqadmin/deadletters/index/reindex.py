"""Read a dead letter topic again from its start, after a change of dialects or fingerprints."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec
from django.db import IntegrityError, OperationalError, close_old_connections, connection, transaction
from django.db.models import Q
from django.utils import timezone

from dlqadmin.broker import clusters, topics
from dlqadmin.deadletters.index import erased_records, letter_rows, partitions, writer
from dlqadmin.deadletters.index.active_mappings import load_active_mappings
from dlqadmin.deadletters.index.consumer import BATCH_BYTES
from dlqadmin.deadletters.index.message_parser import parse_message, with_time
from dlqadmin.deadletters.index.parsed_message import ParsedMessage
from dlqadmin.deadletters.index.pointers import resolve
from dlqadmin.deadletters.index.removal import lock_free, remove, remove_unused_traces
from dlqadmin.deadletters.index.retention import is_forgotten
from dlqadmin.deadletters.models import DeadLetter, TimeSource
from engine.record.record import RawRecord

SLICE = 500
LONGEST_S = 86_400.0  # for one partition
TRIES, RETRY_S = 5, 1.0

log = logging.getLogger(__name__)


class RewrittenSlice(msgspec.Struct, frozen=True):
    """Records of one partition that were read again. `next_offset` follows the last of them."""

    partition: int
    next_offset: int
    read: int
    written: int


def reindex(topic: str) -> int:
    """Rewrite every dead letter that the topic still contains; return their number.

    See `rewrite_slices`.
    """
    return sum(part.written for part in rewrite_slices(topic))


def rewrite_slices(topic: str, partition: int = 0, offset: int = 0) -> Iterator[RewrittenSlice]:
    """Rewrite the dead letters that the topic still contains, slice by slice, from this position on.

    - The old row is replaced in one transaction, so a kill neither loses nor duplicates a row.
    - The indexer may run meanwhile.
    - A row that a replay, an outcome or a draft refers to stays unchanged, and so does one that the topic no
      longer has.
    - Dead letters older than RETENTION_DAYS are not indexed again, and the rows of erased ones stay as they are.

    Raises BrokerUnavailable or OperationalError.
    """
    mappings = load_active_mappings()
    for number in range(partition, topics.partitions(topic) or 0):
        start = offset if number == partition else 0
        records = topics.read_to_end(topic, number, start, LONGEST_S, whole=True)
        for messages in _slices(records):
            now = timezone.now()
            batch = resolve([parse_message(message, now, mappings) for message in messages])
            written = _rewrite_with_retries(batch)
            yield RewrittenSlice(number, messages[-1].offset + 1, len(messages), written)


def rewrite(batch: Sequence[ParsedMessage], cluster: str, now: datetime) -> int:
    """Replace the rows of these dead letters; return how many were written."""
    kept = [item for item in batch if not is_forgotten(item.failed_at, now)]
    partitions.make_room(len(kept))  # PostgreSQL adds none after a deletion in the same transaction
    with transaction.atomic():
        positions = writer.lock_positions(kept, cluster, now)
        kept = erased_records.without_erased(kept, cluster, positions)
        found = _remove_unreferenced(kept, cluster)
        by_place = {(row.topic, row.partition, row.offset): row for row in found}
        seen = [_first_seen(item, by_place.get(writer.coordinates(item))) for item in kept]
        written = writer.write(seen, cluster, now, _removed_rows(found))
        remove_unused_traces(row.trace_id for row in found)
    return written


def _rewrite_with_retries(batch: Sequence[ParsedMessage]) -> int:
    """Rewrite, and retry if the database aborts, as it does when two writers conflict."""
    for _ in range(TRIES - 1):
        try:
            return rewrite(batch, clusters.current(), timezone.now())
        except (OperationalError, IntegrityError) as error:
            log.warning("reindexing is waiting: %s", error)
            if not connection.in_atomic_block:
                close_old_connections()
            time.sleep(RETRY_S)
    return rewrite(batch, clusters.current(), timezone.now())


def _remove_unreferenced(batch: Iterable[ParsedMessage], cluster: str) -> list[DeadLetter]:
    """Remove the rows of the batch that nothing refers to; return the removed rows."""
    places: dict[tuple[str, int], list[int]] = {}
    for item in batch:
        topic, partition, offset = writer.coordinates(item)
        places.setdefault((topic, partition), []).append(offset)
    wanted = Q(pk__in=[])
    for (topic, partition), offsets in places.items():
        wanted |= Q(topic=topic, partition=partition, offset__in=offsets)
    found = lock_free(DeadLetter.objects.filter(wanted, cluster=cluster))
    remove([row.pk for row in found])
    return found


def _first_seen(item: ParsedMessage, row: DeadLetter | None) -> ParsedMessage:
    """Return the item with the time at which it was first indexed, if no other time is known."""
    if row is None or item.time_source != TimeSource.INDEX:
        return item
    return with_time(item, row.failed_at if row.time_source == TimeSource.INDEX else row.indexed_at)


def _removed_rows(found: Iterable[DeadLetter]) -> writer.RemovedRows:
    return writer.RemovedRows(
        {(row.topic, row.partition, row.offset) for row in found},
        letter_rows.hours((row.failed_at, row.fingerprint_id, row.cluster, row.topic, row.connector) for row in found),
    )


def _slices(records: Iterable[RawRecord]) -> Iterator[list[RawRecord]]:
    """Split records into batches of at most 500. A batch also ends with the record that reaches 8 MB."""
    part, size = [], 0
    for record in records:
        part.append(record)
        size += _size_bytes(record)
        if len(part) >= SLICE or size >= BATCH_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _size_bytes(record: RawRecord) -> int:
    """Return the size of key, value and headers in bytes."""
    parts = (record.key, record.value, *(value for _, value in record.headers))
    return sum(len(part or b"") for part in parts)
