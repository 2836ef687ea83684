"""What stands beside a failed record in its origin partition: from the index and from Kafka, as far as known."""

from __future__ import annotations

from typing import Any

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.queries import same_origin
from dlqadmin.deadletters.titles import short
from dlqadmin.deadletters.values import key_text, moment
from dlqadmin.rest.times import iso_or_none
from engine.record.record import RawRecord

BEFORE, AFTER = 4, 2
TIMEOUT_S = 1.5


def around(row: DeadLetter) -> dict[str, Any]:
    """The records from 4 before to 2 after; `last_good` is the newest that passed, with the same key."""
    if row.origin_partition is None or row.origin_offset is None:
        return {"results": [], "last_good": None}
    failed: dict[int, DeadLetter] = {}
    for letter in same_origin(row, BEFORE, AFTER):
        if letter.origin_offset is not None:
            failed[letter.origin_offset] = letter
    failed[row.origin_offset] = row
    kept = {record.offset: record for record in _read(row)}
    passed = _passed(row)
    results = [
        _neighbour(offset, failed.get(offset), kept.get(offset), passed, row)
        for offset in sorted(failed.keys() | kept.keys())
    ]
    good = [
        item
        for item in results
        if item["state"] == "passed" and item["offset"] < row.origin_offset and item["key_text"] == row.key_text
    ]
    return {"results": results, "last_good": good[-1] if good else None}


def _read(row: DeadLetter) -> list[RawRecord]:
    """The origin's records around this one; none when Kafka does not answer or has forgotten them."""
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


def _passed(row: DeadLetter) -> int:
    """The connector's position: a record before it without a dead letter was delivered, filtered or skipped."""
    if not row.connector or row.origin_partition is None:
        return 0
    where = (row.origin_topic, row.origin_partition)
    try:
        return topics.committed(f"connect-{row.connector}", [where]).get(where, 0)
    except BrokerUnavailable:
        return 0


def _neighbour(
    offset: int, letter: DeadLetter | None, record: RawRecord | None, passed: int, row: DeadLetter
) -> dict[str, Any]:
    if letter is not None:
        state, label = "failed", short(letter.fingerprint.exception_class)
    elif offset < passed:
        state, label = "passed", "no dead letter"
    else:
        state, label = "unknown", "unknown"
    at = moment(record.timestamp) if record else letter.origin_timestamp if letter else None
    return {
        "id": letter.pk if letter else None,
        "offset": offset,
        "key_text": key_text(record.key) if record else letter.key_text if letter else None,
        "at": iso_or_none(at),
        "state": state,
        "label": "this record" if letter is not None and letter.pk == row.pk else label,
        "this": letter is not None and letter.pk == row.pk,
    }
