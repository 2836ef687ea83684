"""Dead letters of SmallRye Reactive Messaging, as in Quarkus: `dead-letter-*` headers.

The strategy `delayed-retry-topic` writes `delayed-retry-*` headers on the way (`KafkaDelayedRetryTopic`).
"""

from __future__ import annotations

from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.header_facts import MAX_PARTITION, HeaderDialect, HeaderFacts
from engine.record.record import RawRecord

PREFIX, RETRY = "dead-letter-", "delayed-retry-"
DESERIALIZATION = "deserialization-failure-"  # on a record that failed before it (`DeserializationFailureHandler`)
NAMES = ("reason", "cause", "topic", "partition", "offset", "exception-class-name", "cause-class-name")


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without a reason and a topic. Numbers are UTF-8 text.

    SmallRye writes its headers before those of the record. So the last ones tell the true origin, the first ones the
    latest failure. Cause headers exist only if the exception has a cause. Old versions wrote only reason and cause.
    There is no stack trace.
    """
    facts = HeaderFacts(message.headers)
    topic = facts.text("origin topic", PREFIX + "topic", "last")
    reason = facts.text("message", PREFIX + "reason", "first")
    if not topic and not reason:
        return None
    partition = facts.decimal("origin partition", PREFIX + "partition", "last", MAX_PARTITION)
    offset = facts.decimal("origin offset", PREFIX + "offset", "last")
    raised = facts.text("exception", PREFIX + "exception-class-name", "first")
    cause = facts.text("cause", PREFIX + "cause-class-name", "first")
    cause_message = facts.text("cause message", PREFIX + "cause", "first")
    has_cause = bool(cause or cause_message)
    return DeadLetterFacts(
        dialect=DIALECT.name,
        stage="DESERIALIZER" if facts.has(DESERIALIZATION + "reason") else "CHANNEL",
        root_class=cause or raised or "UnknownException",
        root_message=cause_message if has_cause else reason,
        origin=Origin(topic, partition, offset) if topic else None,
        attempt=facts.decimal("retries", RETRY + "count", "first"),
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        notes=facts.notes,
        problems=facts.problems,
    )


DIALECT = HeaderDialect(
    name="smallrye",
    title="SmallRye (Quarkus)",
    read=read,
    markers=frozenset({PREFIX + "topic", PREFIX + "reason"}),
    prefixes=(RETRY, DESERIALIZATION),
    names=frozenset(PREFIX + name for name in NAMES),
    prepends=True,
)
