"""Dead letters of applications with headers of their own, such as `original_topic` and `x-error-message`.

Examples are Parallel Consumer, kafkajs, Python and Go clients, which have no dead letters of their own. Every fact is a
guess by the name of its header.
"""

from __future__ import annotations

from engine.dialects.common_names import by_fact, is_dead_letter
from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.header_facts import MAX_PARTITION, HeaderFacts, milliseconds
from engine.record.record import Headers, RawRecord

NAME = "common-headers"
MAX_ATTEMPTS = 1_000_000
HEADER_FACTS = frozenset({"topic", "partition", "offset", "timestamp", "exception", "message", "trace"}) | frozenset(
    {"attempts", "retries", "time", "first time", "group", "stage"}
)


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in headers of well-known names, or None without an origin topic and an error.

    Numbers may be decimal text, or big-endian as Java's ByteBuffer writes them. Times may be epoch milliseconds or
    ISO 8601.
    """
    found = _found(message.headers)
    if not is_dead_letter(found):
        return None
    facts = HeaderFacts(message.headers, guessed=True)
    topic = facts.text("origin topic", found["topic"], "first")
    partition = facts.binary("origin partition", found.get("partition", ""), (4,), "first", MAX_PARTITION)
    offset = facts.binary("origin offset", found.get("offset", ""), (8,), "first")
    produced = _time(facts, "produced at", found.get("timestamp", ""))
    failure = facts.failure(found.get("exception", ""), found.get("message", ""), trace=found.get("trace", ""))
    return DeadLetterFacts(
        dialect=NAME,
        stage=facts.text("stage", found.get("stage", "")) or "CONSUMER",
        root_class=failure.root_class,
        root_message=failure.root_message,
        origin=Origin(topic, partition, offset, produced) if topic else None,
        group=facts.text("consumer group", found.get("group", "")),
        trace=failure.trace,
        attempt=_retries(facts, found),
        failed_at=_time(facts, "failed at", found.get("time", "")),
        first_failure_at=_time(facts, "first failure", found.get("first time", "")),
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        notes=facts.notes,
        problems=facts.problems,
    )


def error_headers(headers: Headers) -> frozenset[str]:
    """Return the names of the headers that tell the failure."""
    return frozenset(_found(headers).values())


def _found(headers: Headers) -> dict[str, str]:
    found = by_fact(name for name, _ in headers)
    return {fact: name for fact, name in found.items() if fact in HEADER_FACTS}


def _retries(facts: HeaderFacts, found: dict[str, str]) -> int | None:
    if "retries" in found:
        return facts.binary("retries", found["retries"], (4,), most=MAX_ATTEMPTS)
    attempts = facts.binary("attempts", found.get("attempts", ""), (4,), most=MAX_ATTEMPTS)
    return max(attempts - 1, 0) if attempts is not None else None


def _time(facts: HeaderFacts, field: str, name: str) -> int | None:
    """Return a time as epoch milliseconds."""
    data = facts.bytes_of(name)
    if data is None:
        return None
    if data.isdigit() or len(data) == 8:
        return facts.binary(field, name, (8,))
    at = milliseconds(data.decode("utf-8", "replace"))
    if at is None:
        facts.problem(f"header {name}: no time, so it is unknown when the record {_EVENTS.get(field, 'failed')}")
        return None
    facts.text(field, name)
    return at


_EVENTS = {"produced at": "was produced"}
