"""Dead letters of Karafka (Ruby): `source_*` headers, `original_*` before version 2.4.

Only Karafka Pro writes these headers. Karafka's free edition writes the record without any.
"""

from __future__ import annotations

from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.header_facts import MAX_PARTITION, HeaderDialect, HeaderFacts
from engine.record.record import RawRecord

NEW, OLD = "source_", "original_"
NAMES = ("topic", "partition", "offset", "consumer_group", "attempts", "trace_id")
MAX_ATTEMPTS = 1_000_000


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without topic, partition, offset and consumer group.

    Numbers are UTF-8 text. The headers tell neither exception nor message: `trace_id` finds both in Karafka's log.
    """
    facts = HeaderFacts(message.headers)
    prefix = NEW if facts.has(NEW + "consumer_group") else OLD
    if not all(facts.has(prefix + name) for name in ("topic", "partition", "offset", "consumer_group")):
        return None
    topic = facts.text("origin topic", prefix + "topic")
    partition = facts.decimal("origin partition", prefix + "partition", most=MAX_PARTITION)
    offset = facts.decimal("origin offset", prefix + "offset")
    group = facts.text("consumer group", prefix + "consumer_group")
    attempts = facts.decimal("attempts", prefix + "attempts", most=MAX_ATTEMPTS)
    facts.text("trace id in Karafka's log", prefix + "trace_id")
    return DeadLetterFacts(
        dialect=DIALECT.name,
        stage="CONSUMER",
        root_class="UnknownException",
        root_message="Karafka's headers do not tell the error",
        origin=Origin(topic, partition, offset) if topic else None,
        group=group,
        attempt=max(attempts - 1, 0) if attempts is not None else None,
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        notes=facts.notes,
        problems=facts.problems,
    )


DIALECT = HeaderDialect(
    name="karafka",
    title="Karafka",
    read=read,
    markers=frozenset({NEW + "consumer_group", OLD + "consumer_group"}),
    names=frozenset(prefix + name for prefix in (NEW, OLD) for name in NAMES),
)
