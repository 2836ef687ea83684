"""A parsed message of a dead letter topic."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from dlqadmin.deadletters.index.fingerprint import ComputedFingerprint
from dlqadmin.deadletters.models import TimeSource
from engine.dialects.facts import DeadLetterFacts
from engine.record.record import Headers, RawRecord


class ParsedTrace(msgspec.Struct, frozen=True, gc=False):
    """A stack trace in the two parts of `stack_traces.split`, with a digest and a frame.

    `digest` is the digest of `frames`. `place` is the frame that distinguishes failures, as `file:function`.
    All four are empty without a trace.
    """

    heads: str = ""
    frames: str = ""
    digest: str = ""
    place: str = ""


class ParsedMessage(msgspec.Struct, frozen=True, gc=False):
    """One parsed message. `original` tells the source of key and value.

    - `refused` says why they were not fetched, if that is forbidden.
    - `original_headers` are those of a fetched record, or None if the message carries them itself.
    - `letter` and `body` are its rows, without columns that are known only when they are written.
      `message_parser` sets them.
    """

    message: RawRecord
    facts: DeadLetterFacts
    fingerprint: ComputedFingerprint
    failed_at: datetime
    time_source: TimeSource
    connector: str
    trace: ParsedTrace
    original: str
    key: bytes | None
    value: bytes | None
    original_headers: Headers | None = None
    refused: str | None = None
    letter: tuple[Any, ...] = ()
    body: tuple[Any, ...] = ()
