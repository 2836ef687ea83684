"""Dead letters of Spring Kafka: `DeadLetterPublishingRecoverer` (`kafka_dlt-*`) and `@RetryableTopic`.

With retry topics the headers are `kafka_original-*` and `kafka_exception-*`, but the consumer group is in
`kafka_dlt-original-consumer-group` in both cases (`KafkaHeaders.ORIGINAL_CONSUMER_GROUP`).
"""

from __future__ import annotations

import re

from engine.dialects.facts import Attempt, DeadLetterFacts, Origin
from engine.dialects.header_facts import (
    MAX_PARTITION,
    HeaderDialect,
    HeaderFacts,
    RootCause,
    milliseconds,
)
from engine.record.record import RawRecord

DLT, RETRY = "kafka_dlt-", "kafka_"
GROUP_HEADER = "kafka_dlt-original-consumer-group"
ATTEMPTS, DUE = "retry_topic-attempts", "retry_topic-backoff-timestamp"
MAX_LISTED = 50  # attempts of a chain
# Of ErrorHandlingDeserializer: serialised Java objects, kept only if the application asks for it.
DESERIALIZER_HEADERS = ("springDeserializerExceptionKey", "springDeserializerExceptionValue")
DESERIALIZATION = "org.springframework.kafka.support.serializer.DeserializationException"
MAX_ATTEMPTS = 10_000
MAX_TIME_MS = 253_402_300_799_999  # the end of the year 9999
WRAPPER = re.compile(r"^Listener (?:failed|method '.*?' threw exception); ", re.DOTALL)
THROWN_AT = re.compile(r"TimestampedException: Exception thrown at (\S+)")


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts in the headers, or None without a topic and an exception class.

    Partition, offset and timestamp are big-endian numbers. Headers may repeat: by default the recoverer appends the
    origin's at each hop. So the first ones tell the true origin, and the group that read it there.
    """
    facts = HeaderFacts(message.headers)
    prefix = DLT if _has_prefix(facts, DLT) else RETRY
    if not _has_prefix(facts, prefix):
        return None
    topic = facts.text("origin topic", prefix + "original-topic", "first")
    partition = facts.binary("origin partition", prefix + "original-partition", (4,), "first", MAX_PARTITION)
    offset = facts.binary("origin offset", prefix + "original-offset", (8,), "first")
    produced = facts.binary("produced at", prefix + "original-timestamp", (8,), "first")
    group = facts.text("consumer group", GROUP_HEADER, "first")
    stage, failure = _failure(facts, prefix)
    origin = Origin(topic, partition, offset, produced) if topic else None
    retries, thrown_at = _retries(facts), _thrown_at(facts, prefix, failure.trace)
    return DeadLetterFacts(
        dialect=DIALECT.name,
        version="retry topics" if prefix == RETRY else "",
        stage=stage,
        root_class=failure.root_class,
        root_message=failure.root_message,
        origin=origin,
        group=group,
        trace=failure.trace,
        attempt=retries,
        attempts=_attempts(facts, prefix, origin, retries, thrown_at),
        failed_at=thrown_at,
        key=message.key,
        value=message.value,
        complete=True,
        own_value=True,
        notes=facts.notes,
        problems=facts.problems,
    )


def _has_prefix(facts: HeaderFacts, prefix: str) -> bool:
    return any(facts.has(prefix + name) for name in ("original-topic", "exception-fqcn", "key-exception-fqcn"))


def _failure(facts: HeaderFacts, prefix: str) -> tuple[str, RootCause]:
    """Return the stage and the failure.

    The recoverer writes `key-exception-*` if the key could not be deserialized, `exception-*` for all other failures.
    """
    part = "key-exception-" if facts.has(prefix + "key-exception-fqcn") else "exception-"
    raised, cause = prefix + part + "fqcn", prefix + "exception-cause-fqcn"
    failure = facts.failure(raised, prefix + part + "message", cause, prefix + part + "stacktrace")
    if part == "key-exception-":
        return "KEY_DESERIALIZER", failure
    classes = {(facts.bytes_of(name) or b"").decode("utf-8", "replace") for name in (raised, cause)}
    if not failure.trace and (told := WRAPPER.sub("", failure.root_message)) != failure.root_message:
        facts.guess("root message", f"header {prefix}{part}message without the text of Spring's wrapper", told)
        failure = RootCause(failure.root_class, told)
    return ("VALUE_DESERIALIZER" if DESERIALIZATION in classes else "LISTENER"), failure


def _retries(facts: HeaderFacts) -> int | None:
    """Return the number of retries, None if the message does not tell it.

    The header counts the attempts including the next one, which a dead letter does not get. Old versions wrote one
    byte.
    """
    attempts = facts.binary("attempts", ATTEMPTS, (4, 1), most=MAX_ATTEMPTS)
    if attempts is None:
        return None
    if attempts < 2:
        facts.problem(f"header {ATTEMPTS}: {attempts} is less than 2, so the number of retries is unknown")
        return None
    facts.note("retries", ATTEMPTS, attempts - 2, "without the first attempt and the one that was not made")
    return attempts - 2


def _attempts(
    facts: HeaderFacts, prefix: str, origin: Origin | None, retries: int | None, failed_at: int | None
) -> tuple[Attempt, ...]:
    """Return the attempts of which something is known: the first one, those with a due time, and the last one.

    Spring repeats its headers at each hop. Those of retry topics tell the count and the due time of the next attempt,
    but no name of a retry topic. Those of the origin stay the first ones, unless the application asked for all.
    """
    places = _places(facts, prefix, origin)
    made = len(places) if retries is None else retries + 1
    if made < 2:
        return ()
    due = _due_times(facts)
    by_number = dict(enumerate(places if len(places) == made else places[:1], 1))
    known = sorted({1, made, *by_number, *due} & set(range(1, made + 1)))
    listed = known if len(known) <= MAX_LISTED else [known[0], *known[1 - MAX_LISTED :]]
    for number in listed:
        if number in due:
            facts.note(f"attempt {number} due", DUE, due[number])
    nowhere = Origin("")
    return tuple(
        Attempt(
            number=number,
            topic=(place := by_number.get(number, nowhere)).topic,
            partition=place.partition,
            offset=place.offset,
            due_at=due.get(number),
            failed_at=failed_at if number == made else None,
        )
        for number in listed
    )


def _places(facts: HeaderFacts, prefix: str, origin: Origin | None) -> list[Origin]:
    """Return where the record was consumed at each hop, as far as the headers tell it."""
    if origin is None:
        return []
    topics = facts.all_texts(prefix + "original-topic")
    partitions = facts.all_numbers(prefix + "original-partition", (4,), MAX_PARTITION)
    offsets = facts.all_numbers(prefix + "original-offset", (8,))
    if not len(topics) == len(partitions) == len(offsets):
        return [origin]
    later = zip(topics[1:], partitions[1:], offsets[1:], strict=True)
    return [origin, *(Origin(topic, partition, offset) for topic, partition, offset in later)]


def _due_times(facts: HeaderFacts) -> dict[int, int]:
    """Return when each attempt was due, by its number. Spring writes Java's `BigInteger`: 1 to 8 bytes."""
    numbers = facts.all_numbers(ATTEMPTS, (4, 1), MAX_ATTEMPTS)
    times = facts.all_numbers(DUE, range(1, 9), MAX_TIME_MS)
    if None in times:
        facts.problem(f"header {DUE}: no time of 1 to 8 bytes, so it is unknown when an attempt was due")
    if len(numbers) != len(times):
        return {}
    found = zip(numbers, times, strict=True)
    return {number: time for number, time in found if number is not None and time is not None}


def _thrown_at(facts: HeaderFacts, prefix: str, trace: str) -> int | None:
    """Return the time that Spring prints in the stack trace of a listener with retry topics."""
    found = THROWN_AT.search(trace)
    at = milliseconds(found[1]) if found else None
    if found and at is not None:
        facts.note("failed at", f"{prefix}exception-stacktrace", found[1], "TimestampedException")
    return at


DIALECT = HeaderDialect(
    name="spring-kafka",
    title="Spring Kafka",
    read=read,
    markers=frozenset(
        prefix + name for prefix in (DLT, RETRY) for name in ("original-topic", "exception-fqcn", "key-exception-fqcn")
    ),
    prefixes=(DLT, "kafka_original-", "kafka_exception-", "kafka_key-exception-", "retry_topic-"),
    names=frozenset(DESERIALIZER_HEADERS),
)
