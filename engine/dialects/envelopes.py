"""Dead letters of applications that wrap the failed record in JSON, such as jobs of Flink, Faust and Python clients.

Every fact is a guess by the name of its member. A mapping reads what these names do not tell.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from engine.dialects.common_names import by_fact, is_dead_letter, is_original
from engine.dialects.facts import DeadLetterFacts, FactNote, Origin
from engine.dialects.header_facts import MAX_OFFSET, MAX_PARTITION, UNKNOWN_EXCEPTION, milliseconds, short
from engine.dialects.stack_traces import parse
from engine.record.record import RawRecord

NAME, TITLE = "json-envelope", "JSON envelope of an application"
# Members whose own members count as those of the envelope, with the prefix of their names.
CONTAINERS = {
    "error": "error_",
    "exception": "exception_",
    "failure": "failure_",
    "source": "source_",
    "src": "source_",
    "origin": "source_",
    "original": "original_",
    "metadata": "",
    "meta": "",
}
MAX_MEMBERS = 200
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the members of the value, or None unless they are unmistakable.

    The envelope must name an error, and an origin topic or the original record. An original record that is a string
    keeps its bytes. One that is an object was written anew, so its bytes are those of the origin, if that is known.
    """
    if not message.value or message.value.lstrip()[:1] != b"{":
        return None
    members = dict(_flattened(message.value))
    found = by_fact(members)
    if not is_dead_letter(found) and not ("message" in found and is_original(found.get("value", ""))):
        return None
    return EnvelopeMembers(message, members, found).facts()


def _flattened(value: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield members by name, those of containers with the container's prefix. At most 200."""
    try:
        top = _members(value)
    except (ValueError, RecursionError):
        return
    for name, member in list(top.items())[:MAX_MEMBERS]:
        inner = bytes(member)
        if inner[:1] != b"{" or name.lower() not in CONTAINERS:
            yield name, inner
            continue
        try:
            nested = _members(inner)
        except (ValueError, RecursionError):
            continue
        for own, part in list(nested.items())[:MAX_MEMBERS]:
            yield CONTAINERS[name.lower()] + own, bytes(part)


class EnvelopeMembers:
    """The facts of one envelope while they are read."""

    def __init__(self, message: RawRecord, members: dict[str, bytes], found: dict[str, str]) -> None:
        self._message = message
        self._members = members
        self._found = found
        self._notes: list[FactNote] = []
        self._problems: list[str] = []

    def facts(self) -> DeadLetterFacts:
        topic = self._text("topic", "origin topic")
        partition = self._number("partition", "origin partition", MAX_PARTITION)
        offset = self._number("offset", "origin offset", MAX_OFFSET)
        produced = self._time("timestamp", "produced at")
        raised, said = self._text("exception", "exception"), self._text("message", "message")
        trace = self._text("trace", "stack trace")
        chain = parse(trace)
        root = chain[-1] if chain and chain[-1].class_name else None
        key, value, complete = self._original(has_place=bool(topic) and None not in (partition, offset))
        attempts = self._number("attempts", "attempts", 1_000_000)
        retries = self._number("retries", "retries", 1_000_000)
        return DeadLetterFacts(
            dialect=NAME,
            stage=self._text("stage", "stage") or "CONSUMER",
            root_class=root.class_name if root else raised or UNKNOWN_EXCEPTION,
            root_message=(root.message if root else "") or said,
            origin=Origin(topic, partition, offset, produced) if topic else None,
            group=self._text("group", "consumer group"),
            trace=trace,
            attempt=retries if retries is not None else max(attempts - 1, 0) if attempts is not None else None,
            failed_at=self._time("time", "failed at"),
            first_failure_at=self._time("first time", "first failure"),
            key=key,
            value=value,
            complete=complete,
            notes=tuple(self._notes),
            problems=tuple(self._problems),
        )

    def _original(self, has_place: bool) -> tuple[bytes | None, bytes | None, bool]:
        """Return key and value of the failed record, and whether they are its own bytes."""
        key, key_kept = self._payload("key")
        if "key" not in self._found:
            key, key_kept = self._message.key, True
        value, value_kept = self._payload("value")
        known = "value" in self._found
        return key, value, known and ((key_kept and value_kept) or not has_place)

    def _payload(self, fact: str) -> tuple[bytes | None, bool]:
        """Return the bytes of the original key or value, and whether they are certainly its own."""
        name, member = self._found.get(fact, ""), self._value(fact)
        if fact not in self._found or member is None:
            return None, fact in self._found
        if not isinstance(member, str):
            raw = self._members[name]
            self._note(f"original {fact}", name, f"{len(raw)} bytes, written anew")
            return raw, False
        data = member.encode("utf-8", "surrogatepass")
        if "b64" in name.lower() or "base64" in name.lower():
            try:
                data = base64.b64decode(member, validate=True)
            except ValueError:
                self._problems.append(f"member {name}: not base64, so it is shown as text")
        self._note(f"original {fact}", name, f"{len(data)} bytes")
        return data, "\ufffd" not in member

    def _text(self, fact: str, field: str) -> str:
        value = self._value(fact)
        if value is None or isinstance(value, (dict, list, bool)):
            return ""
        text = str(value).replace("\0", "\ufffd")
        self._note(field, self._found[fact], text if fact != "trace" else f"{len(text):,} characters")
        return text

    def _number(self, fact: str, field: str, most: int) -> int | None:
        value = self._value(fact)
        if value is None:
            return None
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 19:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            self._problems.append(f"member {self._found[fact]}: no number, so the {field} is unknown")
            return None
        self._note(field, self._found[fact], value)
        return value

    def _time(self, fact: str, field: str) -> int | None:
        """Return epoch milliseconds from ISO 8601, or from seconds or milliseconds since 1970."""
        value = self._value(fact)
        if value is None:
            return None
        at = milliseconds(value) if isinstance(value, str) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e14:
            at = round(value if value > 1e11 else value * 1000)
        if at is None:
            self._problems.append(f"member {self._found[fact]}: no time, so it is left out")
            return None
        self._note(field, self._found[fact], value)
        return at

    def _value(self, fact: str) -> Any:
        member = self._members.get(self._found.get(fact, ""))
        try:
            return None if member is None else msgspec.json.decode(member)
        except (ValueError, RecursionError):
            return None

    def _note(self, field: str, name: str, value: object) -> None:
        self._notes.append(FactNote(field, f"JSON member {name}", short(value), guessed=True))
