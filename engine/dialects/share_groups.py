"""Dead letters of share groups (KIP-1191): the broker's `__dlq.errors.*` headers.

The broker copies key and value only with `errors.deadletterqueue.copy.record.enable`, and never the record's headers.
"""

from __future__ import annotations

from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.header_facts import MAX_PARTITION, HeaderDialect, HeaderFacts
from engine.record.record import RawRecord

PREFIX = "__dlq.errors."
MAX_DELIVERIES = 2**15 - 1
# The broker does not know the consumer's exception. Its sentences are those of `ShareGroupDLQThrowable`.
CAUSES = {
    "Offset rejected by client.": "RejectedByClient",
    "Offset delivery count exceeded the threshold.": "DeliveryCountExceeded",
}
OTHER_CAUSE = "GivenUpByBroker"


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without a topic and a group. Numbers are UTF-8 text.

    Without key and value the dead letter is a pointer: its origin has the bytes.
    """
    facts = HeaderFacts(message.headers)
    topic, group = facts.text("origin topic", PREFIX + "topic"), facts.text("share group", PREFIX + "group")
    if not topic or not group:
        return None
    partition = facts.decimal("origin partition", PREFIX + "partition", most=MAX_PARTITION)
    offset = facts.decimal("origin offset", PREFIX + "offset")
    deliveries = facts.decimal("deliveries", PREFIX + "delivery.count", most=MAX_DELIVERIES)
    sentence = facts.text("message", PREFIX + "message")
    is_pointer = message.key is None and message.value is None
    if is_pointer:
        facts.guess("key and value", "the message has neither: the broker copied none", "fetched from the origin")
    return DeadLetterFacts(
        dialect=DIALECT.name,
        stage="SHARE_CONSUMER",
        root_class=CAUSES.get(sentence, OTHER_CAUSE),
        root_message=sentence,
        origin=Origin(topic, partition, offset),
        group=group,
        attempt=max(deliveries - 1, 0) if deliveries is not None else None,
        key=message.key,
        value=message.value,
        complete=not is_pointer,
        own_value=True,
        notes=facts.notes,
        problems=facts.problems,
    )


DIALECT = HeaderDialect(
    name="share-groups",
    title="Share group",
    read=read,
    markers=frozenset({PREFIX + "topic"}),
    prefixes=(PREFIX,),
)
