"""How each tool writes its dead letters: one module a dialect, asked in order."""

from __future__ import annotations

from dlqadmin.deadletters.dialects import connect_headers, kip298, unreadable
from dlqadmin.deadletters.dialects.facts import DeadLetterFacts
from engine.record.record import RawRecord

DIALECTS = (kip298.read, connect_headers.read)


def read(message: RawRecord) -> DeadLetterFacts:
    """What the message says, by the first dialect that knows it; every message has an answer."""
    for dialect in DIALECTS:
        facts = dialect(message)
        if facts is not None:
            return facts
    return unreadable.read(message)
