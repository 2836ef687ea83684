"""Dead letters of Watermill's poison queue middleware (Go): `reason_poisoned` and three more headers."""

from __future__ import annotations

from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.header_facts import HeaderDialect, HeaderFacts
from engine.record.record import RawRecord

REASON, TOPIC, HANDLER, SUBSCRIBER = "reason_poisoned", "topic_poisoned", "handler_poisoned", "subscriber_poisoned"


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without a reason.

    The reason is the text of a Go error: there is no class, no stack trace, and no partition or offset of the origin.
    Old versions wrote only the reason.
    """
    facts = HeaderFacts(message.headers)
    if not facts.has(REASON):
        return None
    reason, topic = facts.text("message", REASON), facts.text("origin topic", TOPIC)
    handler = facts.text("handler", HANDLER)
    facts.text("subscriber", SUBSCRIBER)
    return DeadLetterFacts(
        dialect=DIALECT.name,
        stage="HANDLER",
        root_class=handler or "error",
        root_message=reason,
        origin=Origin(topic) if topic else None,
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        notes=facts.notes,
        problems=facts.problems,
    )


DIALECT = HeaderDialect(
    name="watermill",
    title="Watermill",
    read=read,
    markers=frozenset({REASON}),
    names=frozenset({REASON, TOPIC, HANDLER, SUBSCRIBER}),
)
