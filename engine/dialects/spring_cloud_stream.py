"""Dead letters of Spring Cloud Stream's Kafka binder (`KafkaMessageChannelBinder`): `x-original-*`, `x-exception-*`."""

from __future__ import annotations

from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.header_facts import MAX_PARTITION, HeaderDialect, HeaderFacts
from engine.record.record import RawRecord

TOPIC, PARTITION, OFFSET = "x-original-topic", "x-original-partition", "x-original-offset"
TIMESTAMP, TIMESTAMP_TYPE = "x-original-timestamp", "x-original-timestamp-type"
RAISED, MESSAGE, TRACE = "x-exception-fqcn", "x-exception-message", "x-exception-stacktrace"


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without an exception and a topic.

    Partition, offset and timestamp are big-endian numbers. Old versions wrote only topic, message and stack trace.
    The binder appends its headers at each hop, so the first ones tell the true origin.
    """
    facts = HeaderFacts(message.headers)
    topic = facts.text("origin topic", TOPIC, "first")
    if not topic or not (facts.has(RAISED) or facts.has(TRACE) or facts.has(MESSAGE)):
        return None
    partition = facts.binary("origin partition", PARTITION, (4,), "first", MAX_PARTITION)
    offset = facts.binary("origin offset", OFFSET, (8,), "first")
    produced = facts.binary("produced at", TIMESTAMP, (8,), "first")
    failure = facts.failure(RAISED, MESSAGE, trace=TRACE)
    return DeadLetterFacts(
        dialect=DIALECT.name,
        stage="LISTENER",
        root_class=failure.root_class,
        root_message=failure.root_message,
        origin=Origin(topic, partition, offset, produced),
        trace=failure.trace,
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        notes=facts.notes,
        problems=facts.problems,
    )


DIALECT = HeaderDialect(
    name="spring-cloud-stream",
    title="Spring Cloud Stream",
    read=read,
    markers=frozenset({TOPIC}),
    names=frozenset({TOPIC, PARTITION, OFFSET, TIMESTAMP, TIMESTAMP_TYPE, RAISED, MESSAGE, TRACE}),
)
