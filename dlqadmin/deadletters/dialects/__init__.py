"""Dialects of dead letters: one module for each framework that writes them.

Dialects are tried in the order of `DIALECTS`; the first one that recognises a message wins.
"""

from __future__ import annotations

from dlqadmin.deadletters.dialects.connect_headers import read as read_connect_headers
from dlqadmin.deadletters.dialects.facts import DeadLetterFacts, Dialect
from dlqadmin.deadletters.dialects.kip298 import read as read_kip298
from dlqadmin.deadletters.dialects.quick import read as read_quickly
from dlqadmin.deadletters.dialects.unreadable import read as read_unreadable
from engine.record.record import RawRecord

DIALECTS: tuple[Dialect, ...] = (read_kip298, read_connect_headers)


def read_for_index(message: RawRecord) -> DeadLetterFacts:
    """Return the facts that a row of the index stores.

    They equal the facts of `read`, without stages, notes and problems.
    """
    return read_quickly(message) or read(message)


def read(message: RawRecord) -> DeadLetterFacts:
    """Return the facts of a message from the first dialect that recognises it.

    Every message has facts: `unreadable` accepts all that no dialect recognises.
    """
    for dialect in DIALECTS:
        facts = dialect(message)
        if facts is not None:
            return facts
    return read_unreadable(message)
