"""Dead letters of bakdata's kafka-error-handling: the record `DeadLetter` as Avro, of a known layout."""

from __future__ import annotations

from typing import Any

from engine.dialects import avro_layouts
from engine.dialects.avro_layouts import Layout
from engine.dialects.facts import DeadLetterFacts, FactNote, Origin
from engine.dialects.header_facts import MAX_OFFSET, MAX_PARTITION, short
from engine.dialects.stack_traces import parse
from engine.record.record import RawRecord

NAME, TITLE = "bakdata", "bakdata error handling"
FIRST: Layout = {
    "input_value": "string?",
    "topic": "string?",
    "partition": "int?",
    "offset": "long?",
    "description": "string",
    "cause.error_class": "string?",
    "cause.message": "string?",
    "cause.stack_trace": "string?",
}
LAYOUTS: tuple[Layout, ...] = (FIRST, FIRST | {"input_timestamp": "long?"})


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the value, or None if it is no `DeadLetter`.

    `input_value` is a rendering of the failed record, so only its origin has the original bytes. The topology gives
    the dead letter the timestamp of the record.
    """
    fields = next((found for layout in LAYOUTS if (found := avro_layouts.decode(message.value, layout))), None)
    if fields is None or not _is_plausible(fields):
        return None
    trace = fields["cause.stack_trace"] or ""
    chain = parse(trace)
    root = chain[-1] if chain else None
    topic = fields["topic"]
    return DeadLetterFacts(
        dialect=NAME,
        stage="PROCESSING",
        root_class=(root and root.class_name) or fields["cause.error_class"] or "UnknownException",
        root_message=(root and root.message) or fields["cause.message"] or fields["description"],
        origin=Origin(topic, fields["partition"], fields["offset"], fields.get("input_timestamp")) if topic else None,
        trace=trace,
        copies_timestamp=True,
        key=message.key,
        notes=tuple(
            FactNote(name, f"Avro field {name}", short(value), guessed=True)
            for name, value in fields.items()
            if value is not None and name not in ("input_value", "cause.stack_trace")
        ),
    )


def _is_plausible(fields: dict[str, Any]) -> bool:
    numbers = ((fields["partition"], MAX_PARTITION), (fields["offset"], MAX_OFFSET))
    return bool(fields["description"]) and all(number is None or 0 <= number <= most for number, most in numbers)
