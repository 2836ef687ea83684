"""The inputs of a rehearsal: the connector's current configuration, and the bytes to send."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dlqadmin.connectors import cluster_responses, spark_queries
from dlqadmin.deadletters.index.active_mappings import active_mappings
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.deadletters.records.details import as_bytes, message_of_letter
from dlqadmin.replays.items.messages import Outgoing, original
from dlqadmin.replays.models import Fix
from engine.dialects.facts import DeadLetterFacts
from engine.record.record import Headers
from engine.record.stage import Stage, StageType

MAX_BYTES = 1024 * 1024
_PATH = re.compile(r"[A-Za-z_]\w*(\.\w+)*[.:][\w$]+")  # a class by its dotted path
CONVERTERS = {
    StageType.KEY_CONVERTER: "key.converter",
    StageType.VALUE_CONVERTER: "value.converter",
    StageType.HEADER_CONVERTER: "header.converter",
}


_LOST: dict[str, str] = {
    Original.EXPIRED: "The origin topic no longer contains the original bytes",
    Original.FORBIDDEN: "The original bytes were not fetched: not allowed",
    Original.ERASED: "The content was erased",
}


class CannotRehearse(Exception):
    """A record can't be rehearsed. The text is the reason, as one sentence."""


class RehearsalInput(msgspec.Struct, frozen=True):
    """A dead letter to rehearse, with the message to send. `facts` tell where it failed before."""

    row: DeadLetter
    facts: DeadLetterFacts
    message: Outgoing
    edited: bool


def asked(row: DeadLetter, fix: Fix | None) -> RehearsalInput:
    """Return the record with the draft, or as it was. `body` must be loaded. Raises CannotRehearse."""
    facts = active_mappings().read(message_of_letter(row))
    if facts.source is not None:
        raise CannotRehearse("A source connector read this record. Rehearse it from the stage where it failed.")
    whole = original(row)
    if whole is None:
        text = _LOST.get(row.original, "The original bytes are unknown")
        raise CannotRehearse(f"{text}, so the record can't be rehearsed.")
    message = whole if fix is None else draft_of(fix)
    if message.size > MAX_BYTES:
        raise CannotRehearse(f"The record has {message.size} bytes. A rehearsal accepts at most {MAX_BYTES}.")
    return RehearsalInput(row, facts, message, fix is not None and message.digest != whole.digest)


def failed_stage(facts: DeadLetterFacts) -> Stage | None:
    """Return the stage that failed, None if the dead letter does not tell it.

    Its class is "" if the dead letter names only the type.
    """
    if facts.index is not None and 0 <= facts.index < len(facts.stages):
        return facts.stages[facts.index]
    known = facts.stage in StageType.__members__ and facts.stage != StageType.UNKNOWN
    return Stage(StageType(facts.stage), "") if known else None


def draft_of(fix: Fix) -> Outgoing:
    """Return the draft's message."""
    return Outgoing(as_bytes(fix.key), as_bytes(fix.value), unpack_headers(bytes(fix.headers)))


def properties(connector: str) -> dict[str, str]:
    """Return the connector's current configuration with masked secrets. Raises CannotRehearse."""
    if not connector:
        raise CannotRehearse("The dead letter does not name its connector.")
    responses = cluster_responses.fetch_connectors()
    answer = cluster_responses.of_own_engine(responses)
    row = answer.body.get(connector) if answer else None
    if answer is None or row is None:
        others = [one.cluster for one in responses if one is not answer and connector in one.body]
        if spark_queries.is_known(connector):
            raise CannotRehearse(f"{connector} is a Spark query. Only the engine's connectors can be rehearsed.")
        if others:
            raise CannotRehearse(f"{connector} runs on the Connect cluster {others[0]}, which can't rehearse records.")
    if answer is None:
        raise CannotRehearse("No engine of the settings can rehearse records.")
    if not answer.reachable:
        raise CannotRehearse(
            f"The engine does not respond, so the configuration of {connector} is unknown. Try again later."
        )
    if row is None:
        raise CannotRehearse(f"The engine no longer has a connector {connector}.")
    return {str(name): str(value) for name, value in row["info"]["config"].items()}


def worker_options(stages: Sequence[Stage], config: Mapping[str, str]) -> dict[str, str]:
    """Return worker options for the converters that the connector does not configure.

    The dead letter tells which converters the worker had. Classes may be imported by the paths in the connector's
    configuration, because the engine that runs it has allowed them. A class that only the dead letter names must be
    built in or installed, because anybody who can write to its topic can choose it.
    """
    named = {part.strip() for value in config.values() for part in value.split(",")}
    paths = sorted(path for path in named if _PATH.fullmatch(path))
    found: dict[str, str] = {"plugin.classes.allow": ",".join(paths)} if paths else {}
    for stage in stages:
        option = CONVERTERS.get(stage.type)
        if option and not stage.name and option not in config and stage.class_name and option not in found:
            found[option] = stage.class_name
            found |= {f"{option}.{name}": value for name, value in stage.config.items()}
    return found


def record_document(one: RehearsalInput) -> dict[str, Any]:
    """Return the record in the format of the engine's rehearsal."""
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
    """Encode bytes as base64. Null is None."""
    return None if data is None else base64.b64encode(data).decode()


def _headers(headers: Headers) -> list[list[str | None]]:
    return [[name, text_of(value)] for name, value in headers]
