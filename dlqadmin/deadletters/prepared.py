"""A message of a dead letter topic with all that is known of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from dlqadmin.deadletters.dialects.facts import DeadLetterFacts
from dlqadmin.deadletters.fingerprint import Fingerprinted
from engine.record.record import Headers, RawRecord


class ReadTrace(msgspec.Struct, frozen=True):
    """A stack trace in two parts, `traces.split`, the digest of the second, and the frame that tells failures apart.

    That is `file:function`. All four are empty where there is none.
    """

    heads: str = ""
    frames: str = ""
    digest: str = ""
    place: str = ""


class Prepared(msgspec.Struct, frozen=True):
    """One message with all that is known of it; `original` says where key and value come from.

    `original_headers` are those of a record that was fetched; None where the message carries them itself. `letter` and
    `body` are its rows, but for what is known only when they are written: `preparing` makes them.
    """

    message: RawRecord
    facts: DeadLetterFacts
    fingerprint: Fingerprinted
    failed_at: datetime
    connector: str
    trace: ReadTrace
    original: str
    key: bytes | None
    value: bytes | None
    original_headers: Headers | None = None
    letter: tuple[Any, ...] = ()
    body: tuple[Any, ...] = ()
