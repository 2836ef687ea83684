"""Streams every matching dead letter, in the order of indexing, with exact bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import orjson
from asgiref.sync import sync_to_async

from dlqadmin.deadletters.details import as_bytes, own_message
from dlqadmin.deadletters.filters import Filters, apply
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import both
from dlqadmin.rest.times import iso, iso_or_none

CHUNK_ROWS = 500
CHUNK_BYTES = 16 * 1024 * 1024
MAX_ROWS = 1_000_000
CONTENT_TYPES = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
FACTS = (
    "id", "cluster", "topic", "partition", "offset", "failed_at", "indexed_at", "origin_topic", "origin_partition",
    "origin_offset", "origin_timestamp", "connector", "task_id", "stage", "exception_class", "message", "group",
    "attempt", "dialect", "readable", "original", "replay_state",
)  # fmt: skip
CSV_COLUMNS = (*FACTS, "key_text", "key_base64", "value_text", "value_base64", "headers")
# A spreadsheet takes a cell that starts so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def watermark() -> int:
    """The highest indexed id: what is indexed later is not part of an export that has begun."""
    return DeadLetter.objects.order_by("-id").values_list("id", flat=True).first() or 0


async def stream(filters: Filters, form: str, last: int) -> AsyncIterator[bytes]:
    """The matching dead letters up to id `last` as NDJSON or CSV, in chunks that bound the memory."""
    if form == "csv":
        yield _csv([CSV_COLUMNS])
    after, written = 0, 0
    while written < MAX_ROWS:
        rows = await sync_to_async(_chunk)(filters, after, last)
        if not rows:
            return
        encode = _csv_rows if form == "csv" else _ndjson_rows
        for data in encode(rows):
            yield data
        after, written = rows[-1].pk, written + len(rows)


def _chunk(filters: Filters, after: int, last: int) -> list[DeadLetter]:
    """The next rows with their bodies: at most 500, and about 16 MB of bytes."""
    rows = apply(filters, DeadLetter.objects.filter(id__gt=after, id__lte=last)).order_by("id")
    ids, size = [], 0
    for pk, key_size, value_size in rows.values_list("id", "key_size", "value_size")[:CHUNK_ROWS]:
        ids.append(pk)
        size += (key_size or 0) + (value_size or 0)
        if size > CHUNK_BYTES:
            break
    return list(
        DeadLetter.objects.filter(pk__in=ids).select_related("fingerprint__group", "body", "trace").order_by("id")
    )


def _ndjson_rows(rows: list[DeadLetter]) -> Iterator[bytes]:
    for row in rows:
        yield orjson.dumps(_record(row), option=orjson.OPT_APPEND_NEWLINE)


def _csv_rows(rows: list[DeadLetter]) -> Iterator[bytes]:
    for row in rows:
        document = _record(row)
        facts = [_cell(document[name]) for name in FACTS]
        key, value = document["key"], document["value"]
        payloads = [_cell(key["text"]), key["base64"], _cell(value["text"]), value["base64"]]
        headers = orjson.dumps(document["headers"]).decode()
        yield _csv([[*facts, *payloads, headers]])


def _record(row: DeadLetter) -> dict[str, Any]:
    message, body = own_message(row), row.body
    return {
        "id": row.pk,
        "cluster": row.cluster,
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "failed_at": iso(row.failed_at),
        "indexed_at": iso(row.indexed_at),
        "origin_topic": row.origin_topic or None,
        "origin_partition": row.origin_partition,
        "origin_offset": row.origin_offset,
        "origin_timestamp": iso_or_none(row.origin_timestamp),
        "connector": row.connector or None,
        "task_id": row.task_id or None,
        "stage": row.fingerprint.stage,
        "exception_class": row.fingerprint.exception_class,
        "message": row.message,
        "group": row.fingerprint.group_id,
        "attempt": row.attempt,
        "dialect": row.dialect,
        "readable": row.readable,
        "original": row.original,
        "replay_state": row.replay_state,
        "trace": row.trace.text if row.trace else None,
        "key": both(as_bytes(body.key)),
        "value": both(as_bytes(body.value)),
        "headers": [{"name": name, **both(value)} for name, value in message.headers],
    }


def _cell(value: Any) -> Any:
    """A cell no spreadsheet runs; the base64 columns hold the exact bytes."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _csv(rows: Any) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode("utf-8", "replace")
