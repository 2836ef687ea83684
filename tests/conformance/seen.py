"""What a side made of a case, read back from the broker."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.support.topics import Record

CONTEXT = "__connect.errors."
RUNNING, FAILED, STUCK, REFUSED = "RUNNING", "FAILED", "STUCK", "REFUSED"
DELIVERED = "delivered"
NAMED = f"{CONTEXT}connector.name"


@dataclass(frozen=True, slots=True)
class End:
    """How a connector ended: RUNNING, FAILED, STUCK or REFUSED, and why."""

    state: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """One case on one side: by offset what its sink was given, and its dead letters (−1: of a source)."""

    end: End
    position: int
    delivered: Mapping[int, list[dict[str, Any]]] = field(default_factory=dict)
    letters: Mapping[int, list[Record]] = field(default_factory=dict)
    output: tuple[Any, ...] = ()  # of a file sink its lines, of a file source its records

    def fate(self, offset: int) -> str:
        """What became of the record there."""
        if offset in self.delivered:
            return DELIVERED
        if offset in self.letters:
            return "dead-lettered" if offset < self.position else "dead-lettered, failed"
        return "left out" if offset < self.position else "not passed"

    def told(self, offset: int) -> str:
        """What became of the record, and the reason of a dead letter or the value that was delivered."""
        if offset in self.delivered:
            return f"{DELIVERED}: {self.delivered[offset][0]['value']!r}"
        if offset in self.letters:
            reason = dict(self.letters[offset][0].headers).get(f"{CONTEXT}exception.message") or b""
            return f"{self.fate(offset)}: {reason.decode()}"
        return self.fate(offset)


def deliveries(recorded: list[Record]) -> dict[str, dict[int, list[dict[str, Any]]]]:
    """By connector and offset what the recording sinks wrote."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for record in recorded:
        line = orjson.loads(record.value or b"null")
        row = {
            "topic": _bytes(line["topic"]),
            "partition": line["partition"],
            "timestamp": (line["timestamp"], line["timestamp_type"]),
            "key": _bytes(line["key"]),
            "value": _bytes(line["value"]),
            "headers": [(_bytes(name), _bytes(value)) for name, value in line["headers"]],
        }
        found[(record.key or b"").decode()][line["offset"]].append(row)
    return found


def letters(records: list[Record]) -> dict[str, dict[int, list[Record]]]:
    """By connector and offset the dead letters."""
    found: dict[str, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        headers = dict(record.headers)
        connector, offset = headers[NAMED] or b"", headers.get(f"{CONTEXT}offset") or b"-1"
        found[connector.decode()][int(offset)].append(record)
    return found


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
