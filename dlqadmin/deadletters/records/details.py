"""The details of one dead letter. Its dialect reads the stored bytes again."""

from __future__ import annotations

from typing import Any

from dlqadmin.deadletters import dialects
from dlqadmin.deadletters.dialects.facts import DeadLetterFacts
from dlqadmin.deadletters.dialects.stack_traces import joined, parse
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import LOST, DeadLetter, DeadLetterBody, Original
from dlqadmin.deadletters.payloads import Reader, header, payload, release
from dlqadmin.rest.times import iso, iso_or_none
from engine.config.masking import mask, mask_url, plain_options
from engine.record.record import RawRecord


def own_message(row: DeadLetter) -> RawRecord:
    """Return the dead letter as it is in its topic."""
    body = row.body
    return RawRecord(
        topic=row.topic,
        partition=row.partition,
        offset=row.offset,
        timestamp=-1,
        timestamp_type="NO_TIMESTAMP_TYPE",
        key=as_bytes(body.key),
        value=as_bytes(body.value if body.context is None else body.context),
        headers=unpack_headers(bytes(body.headers)),
    )


def detail(row: DeadLetter, reader: Reader) -> dict[str, Any]:
    """Return the document of the record page, without the list row and its neighbours."""
    message = own_message(row)
    facts = dialects.read(message)
    body = row.body
    return {
        "cluster": row.cluster,
        "origin_timestamp": iso_or_none(row.origin_timestamp),
        "indexed_at": iso(row.indexed_at),
        "first_failure_at": iso_or_none(row.first_failure_at),
        "elapsed_ms": row.elapsed_ms,
        "attempt": row.attempt,
        "original": row.original,
        "not_allowed": (body.refused or "") if row.original == Original.FORBIDDEN else None,
        "source": _source(facts, reader),
        "dialect": {
            "name": facts.dialect,
            "version": facts.version,
            "notes": [{"field": field, "read_from": source} for field, source in facts.notes],
            "problems": list(facts.problems),
        },
        "stages": _stages(facts),
        "exception": _exception(row, facts),
        "key": _payload(row, body.key, reader),
        "value": _payload(row, body.value, reader),
        "context": payload(as_bytes(body.context), reader),
        "headers": [header(name, value, reader) for name, value in message.headers],
        "timeline": _timeline(row),
        "truncated": row.truncated,
    }


def _payload(row: DeadLetter, data: bytes | memoryview | None, reader: Reader) -> dict[str, Any]:
    """Return a payload for the API. Bytes that are not available are unknown, which differs from null."""
    shown = payload(as_bytes(data), reader)
    return shown | {"is_null": False} if data is None and row.original in LOST else shown


def part(body: DeadLetterBody, name: str, reader: Reader) -> bytes | None:
    """Return the bytes of one part: context, key or value.

    A dead letter that carries the original value is its own context.
    """
    if name == "context":
        return release(as_bytes(body.value if body.context is None else body.context), reader)
    return release(as_bytes(body.key if name == "key" else body.value), reader)


def as_bytes(value: bytes | memoryview | None) -> bytes | None:
    """Return a binary column as bytes, independent of the database driver."""
    return None if value is None else bytes(value)


def _stages(facts: DeadLetterFacts) -> list[dict[str, Any]]:
    failed = len(facts.stages) if facts.index is None else facts.index
    return [
        {
            "index": index,
            "type": str(stage.type),
            "class": stage.class_name,
            "config": mask(stage.config, plain=plain_options(stage.class_name)),
            "state": "passed" if index < failed else "failed" if index == failed else "not_reached",
        }
        for index, stage in enumerate(facts.stages)
    ]


def _source(facts: DeadLetterFacts, reader: Reader) -> dict[str, Any] | None:
    """Return the source coordinates of a record; None for records that were consumed from Kafka."""
    source = facts.source
    if source is None:
        return None
    return {
        "partition": [{"name": name, "value": mask_url(value)} for name, value in source.partition.items()],
        "offset": [{"name": name, "value": mask_url(value)} for name, value in source.offset.items()],
        "schema": source.schema,
        "value": release(source.value, reader),
        "withheld": source.value is not None and not reader.may_read,
    }


def _exception(row: DeadLetter, facts: DeadLetterFacts) -> dict[str, Any]:
    text = joined(row.body.trace_heads, row.trace.text) if row.trace else ""
    return {
        "class": facts.root_class,
        "message": facts.root_message,
        "text": text,
        "chain": [
            {
                "class": link.class_name,
                "message": link.message,
                "frames": [
                    {
                        "file": frame.file,
                        "line": frame.line,
                        "function": frame.function,
                        "application": frame.application,
                    }
                    for frame in link.frames
                ],
            }
            for link in parse(text)
        ],
    }


def _timeline(row: DeadLetter) -> list[dict[str, str]]:
    """Return the known events in causal order, whatever their timestamps say. Unknown events are left out."""
    stage = row.fingerprint.stage
    events = []
    if row.origin_timestamp:
        events.append((row.origin_timestamp, "produced", f"Produced to {row.origin_topic}"))
    if row.first_failure_at and row.attempt:
        events.append((row.first_failure_at, "failed", f"Failed at {stage}"))
        retries = "1 retry" if row.attempt == 1 else f"{row.attempt} retries"
        events.append((row.failed_at, "error", f"Failed again after {retries}: error"))
    elif row.readable:
        events.append((row.failed_at, "failed", f"Failed at {stage}, not retried"))
    events.append((row.failed_at, "dead_lettered", f"Dead-lettered to {row.topic}"))
    events.append((row.indexed_at, "indexed", _indexed(row)))
    return [{"at": iso(at), "kind": kind, "text": text} for at, kind, text in events]


def _indexed(row: DeadLetter) -> str:
    if row.original == Original.FETCHED:
        return "Indexed; original bytes fetched from the origin"
    if row.original == Original.EXPIRED:
        return "Indexed; the original bytes are gone from the origin"
    if row.original == Original.UNKNOWN:
        return "Indexed; the original bytes are not known"
    if row.original == Original.FORBIDDEN:
        return f"Indexed; the original was not fetched: not allowed ({row.body.refused})"
    return "Indexed; original bytes kept"
