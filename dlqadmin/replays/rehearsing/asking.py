"""What a rehearsal needs: a record's own connector as the engine knows it, and the bytes that would be sent."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dlqadmin.connectors import queries as connectors
from dlqadmin.deadletters import dialects
from dlqadmin.deadletters.details import as_bytes, own_message
from dlqadmin.deadletters.dialects.facts import DeadLetterFacts
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.deadletters.values import unpack_headers
from dlqadmin.replays.models import Fix
from dlqadmin.replays.sending.messages import Outgoing, original
from engine.record.record import Headers
from engine.record.stage import Stage, StageType

MAX_BYTES = 1024 * 1024
CONVERTERS = {
    StageType.KEY_CONVERTER: "key.converter",
    StageType.VALUE_CONVERTER: "value.converter",
    StageType.HEADER_CONVERTER: "header.converter",
}


class CannotRehearse(Exception):
    """Why a record can't be rehearsed, as one sentence."""


class Asked(msgspec.Struct, frozen=True):
    """A dead letter that is rehearsed, and the message that would be sent; `facts` say where it failed before."""

    row: DeadLetter
    facts: DeadLetterFacts
    message: Outgoing
    edited: bool


def asked(row: DeadLetter, fix: Fix | None) -> Asked:
    """The record as it would be sent: with the draft, or as it was. Needs `body`. Raises CannotRehearse."""
    facts = dialects.read(own_message(row))
    if facts.source is not None:
        raise CannotRehearse("A source connector read this record: it goes on behind the stage where it failed.")
    whole = original(row)
    if whole is None:
        gone = row.original == Original.EXPIRED
        text = "Its own bytes are gone from the origin topic" if gone else "Its own bytes are not known"
        raise CannotRehearse(f"{text}; there is nothing to rehearse.")
    message = whole if fix is None else draft_of(fix)
    if message.size > MAX_BYTES:
        raise CannotRehearse(f"The record has {message.size} bytes; a rehearsal takes at most {MAX_BYTES}.")
    return Asked(row, facts, message, fix is not None and message.digest != whole.digest)


def failed_stage(facts: DeadLetterFacts) -> Stage | None:
    """The stage that failed, as far as the dead letter tells; without a class where it names only its type."""
    if facts.index is not None and 0 <= facts.index < len(facts.stages):
        return facts.stages[facts.index]
    known = facts.stage in StageType.__members__ and facts.stage != StageType.UNKNOWN
    return Stage(StageType(facts.stage), "") if known else None


def draft_of(fix: Fix) -> Outgoing:
    """The draft's message."""
    return Outgoing(as_bytes(fix.key), as_bytes(fix.value), unpack_headers(bytes(fix.headers)))


def properties(connector: str) -> dict[str, str]:
    """The connector as the engine runs it now, secrets masked. Raises CannotRehearse."""
    if not connector:
        raise CannotRehearse("The dead letter does not say in which connector it failed.")
    answer = connectors.ask()
    if not answer.reachable:
        raise CannotRehearse(f"The engine does not answer, so how {connector} is configured is not known now.")
    row = answer.body.get(connector)
    if row is None:
        raise CannotRehearse(f"The engine has no connector {connector} any more.")
    return {str(name): str(value) for name, value in row["info"]["config"].items()}


def worker_options(stages: Sequence[Stage], config: Mapping[str, str]) -> dict[str, str]:
    """The worker's converters where the connector names none of its own: the dead letter tells what they were."""
    found: dict[str, str] = {}
    for stage in stages:
        option = CONVERTERS.get(stage.type)
        if option and not stage.name and option not in config and stage.class_name and option not in found:
            found[option] = stage.class_name
            found |= {f"{option}.{name}": value for name, value in stage.config.items()}
    return found


def record_document(one: Asked) -> dict[str, Any]:
    """The record as the engine's rehearsal reads it."""
    row, message = one.row, one.message
    return {
        "topic": row.origin_topic or "unknown",
        "partition": row.origin_partition or 0,
        "offset": row.origin_offset or 0,
        "timestamp": int(row.origin_timestamp.timestamp() * 1000) if row.origin_timestamp else -1,
        "key": text_of(message.key),
        "value": text_of(message.value),
        "headers": _headers(message.headers),
    }


def text_of(data: bytes | None) -> str | None:
    """Bytes in base64; null is null."""
    return None if data is None else base64.b64encode(data).decode()


def _headers(headers: Headers) -> list[list[str | None]]:
    return [[name, text_of(value)] for name, value in headers]
