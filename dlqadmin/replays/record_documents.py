"""Records and their bytes as API documents."""

from __future__ import annotations

import base64
from typing import Any

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import Reader, release
from dlqadmin.replays.items.messages import Outgoing

MAX_SHOWN_BYTES = 1024 * 1024


def letter_document(row: DeadLetter, reader: Reader) -> dict[str, Any]:
    """Return the coordinates and the key of a dead letter."""
    return {**place_document(row), "key_text": release(row.key_text, reader), "withheld": not reader.may_read}


def place_document(row: DeadLetter) -> dict[str, Any]:
    """Return the id and coordinates of a dead letter."""
    return {"id": row.pk, "topic": row.topic, "partition": row.partition, "offset": row.offset}


def message_document(message: Outgoing, reader: Reader) -> dict[str, Any]:
    """Return a message in exact bytes. Of a value above 1 MiB only the size is included."""
    large = message.value is not None and len(message.value) > MAX_SHOWN_BYTES
    return {
        "key": bytes_document(message.key, reader),
        "value": {"base64": None, "size": len(message.value or b"")}
        if large
        else bytes_document(message.value, reader),
        "headers": [{"name": name, "value": bytes_document(value, reader)} for name, value in message.headers],
    }


def bytes_document(data: bytes | None, reader: Reader) -> dict[str, Any]:
    """Return bytes as base64 with their size. Null is not empty."""
    if data is None:
        return {"base64": None, "size": None}
    seen = release(data, reader)
    return {"base64": None if seen is None else base64.b64encode(seen).decode(), "size": len(data)}
