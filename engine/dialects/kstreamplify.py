"""Dead letters of Kstreamplify: the record `KafkaError` as Avro, or as JSON.

The layout is known, so the schema registry is not asked. An Avro record that is not exactly this layout needs the
registry and a mapping.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from engine.dialects import avro_layouts
from engine.dialects.avro_layouts import Layout
from engine.dialects.facts import DeadLetterFacts, FactNote, Origin
from engine.dialects.header_facts import MAX_OFFSET, MAX_PARTITION, short
from engine.dialects.stack_traces import parse
from engine.record.record import RawRecord

NAME, TITLE = "kstreamplify", "Kstreamplify"
FIRST: Layout = {
    "cause": "string?",
    "contextMessage": "string?",
    "stack": "string?",
    "value": "string?",
    "byteValue": "bytes?",
    "offset": "long",
    "partition": "int",
    "topic": "string",
    "applicationId": "string?",
}
LAYOUTS: tuple[Layout, ...] = (
    FIRST,
    FIRST | {"processorNodeId": "string?", "taskId": "string?", "sourceRawKey": "bytes?", "sourceRawValue": "bytes?"},
)
REQUIRED = frozenset({"cause", "contextMessage", "stack", "offset", "partition", "topic"})


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the value, or None if it is no `KafkaError`.

    `value` is a rendering of the failed record, so the original bytes are in `sourceRawValue` or `byteValue`, or at
    the origin. The topology gives the dead letter the timestamp of the record.
    """
    fields, form = _avro(message), "Avro"
    if fields is None:
        fields, form = _json(message), "JSON"
    if fields is None or not _is_plausible(fields):
        return None
    trace = fields.get("stack") or ""
    chain = parse(trace)
    root = chain[-1] if chain else None
    raw = fields.get("sourceRawValue") or fields.get("byteValue")
    shown = ("topic", "partition", "offset", "applicationId", "processorNodeId", "cause", "contextMessage")
    return DeadLetterFacts(
        dialect=NAME,
        stage=fields.get("processorNodeId") or "PROCESSING",
        root_class=root.class_name if root and root.class_name else "UnknownException",
        root_message=root.message if root and root.message else fields.get("cause") or "",
        origin=Origin(fields["topic"], fields["partition"], fields["offset"]),
        group=fields.get("applicationId") or "",
        trace=trace,
        copies_timestamp=True,
        key=fields.get("sourceRawKey") or message.key,
        value=raw,
        complete=raw is not None,
        notes=tuple(
            FactNote(name, f"{form} field {name}", short(fields[name]), guessed=form == "Avro")
            for name in shown
            if fields.get(name) is not None
        ),
    )


def _avro(message: RawRecord) -> dict[str, Any] | None:
    return next((found for layout in LAYOUTS if (found := avro_layouts.decode(message.value, layout))), None)


def _json(message: RawRecord) -> dict[str, Any] | None:
    if not message.value or message.value[:1] != b"{":
        return None
    try:
        fields = msgspec.json.decode(message.value, type=dict[str, Any])
    except (ValueError, RecursionError):
        return None
    if not fields.keys() >= REQUIRED:
        return None
    return fields | {name: _bytes(fields.get(name)) for name in ("byteValue", "sourceRawKey", "sourceRawValue")}


def _bytes(value: Any) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except ValueError:
        return None


def _is_plausible(fields: dict[str, Any]) -> bool:
    """Return whether the values have the types and ranges of a `KafkaError`."""
    numbers = ((fields["partition"], MAX_PARTITION), (fields["offset"], MAX_OFFSET))
    texts = [fields.get(name) for name in ("cause", "contextMessage", "stack", "applicationId", "processorNodeId")]
    return (
        isinstance(fields["topic"], str)
        and bool(fields["topic"])
        and all(type(number) is int and 0 <= number <= most for number, most in numbers)
        and all(text is None or isinstance(text, str) for text in texts)
    )
