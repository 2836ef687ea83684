"""Messages that no dialect recognises. They are stored and shown unchanged."""

from __future__ import annotations

from engine.dialects.facts import DeadLetterFacts, FactNote, last, text
from engine.dialects.spring_kafka import GROUP_HEADER
from engine.record.record import RawRecord


def read(message: RawRecord) -> DeadLetterFacts:
    """Return the message itself as the original record.

    All unreadable messages with the same reason form one group.
    """
    return DeadLetterFacts(
        dialect="unreadable",
        stage="UNKNOWN",
        root_class="UnreadableDeadLetter",
        root_message=_reason(message),
        readable=False,
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        group=text(last(message.headers, GROUP_HEADER)),
        notes=(FactNote("value", "the message's own value, as it is"),),
        problems=(_reason(message),),
    )


def _reason(message: RawRecord) -> str:
    if message.value is None:
        return "the value is null: no error context"
    if not message.value:
        return "the value is empty: no error context"
    return "the value is not an error context of a known dialect"
