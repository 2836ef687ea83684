"""How each tool writes its dead letters: one module a dialect, asked in order."""

from __future__ import annotations

from dlqadmin.deadletters.dialects.connect_headers import read as read_connect_headers
from dlqadmin.deadletters.dialects.facts import DeadLetterFacts, Dialect
from dlqadmin.deadletters.dialects.kip298 import read as read_kip298
from dlqadmin.deadletters.dialects.quick import read as read_quickly
from dlqadmin.deadletters.dialects.unreadable import read as read_unreadable
from engine.record.record import RawRecord

DIALECTS: tuple[Dialect, ...] = (read_kip298, read_connect_headers)


def read_for_index(message: RawRecord) -> DeadLetterFacts:
    """What a row holds of the message; the same as `read` says, without how it knows."""
    return read_quickly(message) or read(message)


def read(message: RawRecord) -> DeadLetterFacts:
    """What the message says, by the first dialect that knows it; every message has an answer."""
    for dialect in DIALECTS:
        facts = dialect(message)
        if facts is not None:
            return facts
    return read_unreadable(message)
