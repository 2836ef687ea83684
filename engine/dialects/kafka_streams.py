"""Dead letters of Kafka Streams (KIP-1034, since 4.2): the source record, with `__streams.errors.*` headers."""

from __future__ import annotations

from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.header_facts import MAX_PARTITION, HeaderDialect, HeaderFacts, RootCause
from engine.record.record import RawRecord

PREFIX = "__streams.errors."
# The classes in a stack trace that tell which exception handler wrote the dead letter.
STAGES = (
    ("streams.processor.internals.RecordDeserializer", "DESERIALIZATION"),
    ("streams.processor.internals.RecordCollectorImpl", "PRODUCTION"),
    ("clients.producer.", "PRODUCTION"),
    ("streams.processor.internals.", "PROCESSING"),
)


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without an exception.

    Numbers are UTF-8 text. The `exception` header is the exception's class, or its `toString()`. The handlers copy the
    timestamp of the source record (`ExceptionHandlerUtils.buildDeadLetterQueueRecord`). A punctuation has no source
    record: its topic is null, and partition and offset are −1.
    """
    facts = HeaderFacts(message.headers)
    if not facts.has(PREFIX + "exception") and not facts.has(PREFIX + "stacktrace"):
        return None
    topic = facts.text("origin topic", PREFIX + "topic")
    partition = offset = None
    if topic:
        partition = facts.decimal("origin partition", PREFIX + "partition", most=MAX_PARTITION)
        offset = facts.decimal("origin offset", PREFIX + "offset")
    failure = facts.failure(PREFIX + "exception", PREFIX + "message", trace=PREFIX + "stacktrace")
    if not failure.trace:
        failure = RootCause(failure.root_class.partition(":")[0].strip(), failure.root_message)
    return DeadLetterFacts(
        dialect=DIALECT.name,
        stage=_stage(facts, failure.trace),
        root_class=failure.root_class,
        root_message=failure.root_message,
        origin=Origin(topic, partition, offset, facts.copied_timestamp(message)) if topic else None,
        trace=failure.trace,
        copies_timestamp=True,
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        has_record=bool(topic) or message.value is not None,
        notes=facts.notes,
        problems=facts.problems,
    )


def _stage(facts: HeaderFacts, trace: str) -> str:
    """Return the failed part of the topology. No header tells it, so it is a guess from the stack trace."""
    for name, stage in STAGES:
        if name in trace:
            facts.guess("stage", f"stack trace: it contains {name}", stage)
            return stage
    return "UNKNOWN"


DIALECT = HeaderDialect(
    name="kafka-streams",
    title="Kafka Streams",
    read=read,
    markers=frozenset({PREFIX + "exception", PREFIX + "stacktrace"}),
    prefixes=(PREFIX,),
)
