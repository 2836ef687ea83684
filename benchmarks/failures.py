"""Made-up failures like those of a real index.

There are hundreds of kinds with a few frequent ones, quiet nights and bursts.
"""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate

EXCEPTIONS = (
    ("org.apache.kafka.connect.errors.DataException", "VALUE_CONVERTER", "field '{word}' is not of type INT64: {n}"),
    ("com.fasterxml.jackson.core.JsonParseException", "VALUE_CONVERTER", "Unexpected character ('{word}') at {n}"),
    ("java.lang.NumberFormatException", "TRANSFORMATION", 'Could not cast {word}: "{n}x" is no number'),
    ("java.sql.SQLIntegrityConstraintViolationException", "TASK_PUT", 'null value in column "{word}" of relation'),
    ("org.postgresql.util.PSQLException", "TASK_PUT", "value too long for type character varying({n}) in {word}"),
    ("java.net.SocketTimeoutException", "TASK_PUT", "{word} did not answer within {n} ms"),
    ("org.apache.kafka.common.errors.RecordTooLargeException", "TASK_PUT", "record of {n} bytes for {word}"),
    ("org.apache.avro.AvroTypeException", "KEY_CONVERTER", "Expected {word}, got {n}"),
)
TEAMS = ("orders", "payments", "shipping", "users", "clicks", "stock", "prices", "returns", "mail", "search")
WORDS = ("gap", "amount", "currency", "address", "email", "country", "sku", "status", "weight", "created_at")
KINDS = 300
PARTITIONS, TASKS, KEYS = 6, 4, 400_000
DAYS, BURSTS = 30, 24
BURST_SHARE = 0.4  # of all failures
MINUTES = DAYS * 24 * 60


@dataclass(frozen=True, slots=True)
class FailureKind:
    """The common properties of the failures of one group."""

    exception_class: str
    stage: str
    message: str
    frame: str
    connector: str
    origin_topic: str
    topic: str


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure. `kind` is its index in `kinds()`."""

    kind: int
    at: datetime
    partition: int
    task: int
    key: int | None


def kinds() -> Sequence[FailureKind]:
    """Return all kinds, the same each time. The first ones are the most frequent."""
    found = []
    for number in range(KINDS):
        team, word = TEAMS[number % len(TEAMS)], WORDS[number // len(TEAMS) % len(WORDS)]
        exception, stage, message = EXCEPTIONS[number // 7 % len(EXCEPTIONS)]
        topic = f"{team}.{'events' if number % 3 else 'changes'}"
        text = message.format(word=f"{word}_{chr(97 + number // 100)}", n=number)
        place = f"{team.title()}Sink.java:put{number % 5}"
        found.append(FailureKind(exception, stage, text, place, f"{team}-to-sql", topic, f"{topic}.dlq"))
    return found


def failures(rows: int, until: datetime, seed: int = 7) -> Iterator[Failure]:
    """Yield `rows` failures of the 30 days before `until`, the oldest first."""
    rng = random.Random(seed)
    weights = list(accumulate(1 / (place + 1) ** 1.1 for place in range(KINDS)))
    bursts = _bursts(rng)
    start = until - timedelta(days=DAYS)
    for minute, count in enumerate(_by_minute(rows, bursts)):
        at, own = start + timedelta(minutes=minute), [kind for first, last, kind in bursts if first <= minute < last]
        step = timedelta(minutes=1) / max(1, count)
        for number in range(count):
            is_burst = own and rng.random() < 0.9
            kind = rng.choice(own) if is_burst else bisect(weights, rng.random() * weights[-1])
            key = None if rng.random() < 0.03 else int(KEYS * rng.random() ** 2)
            yield Failure(
                min(kind, KINDS - 1), at + number * step, rng.randrange(PARTITIONS), rng.randrange(TASKS), key
            )


def now() -> datetime:
    """Return the start of the current hour, so that the last hour is complete in every run."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _bursts(rng: random.Random) -> list[tuple[int, int, int]]:
    """Return (first minute, last minute, kind) of each burst. One burst lasts until the end."""
    found = [(MINUTES - 40, MINUTES, 3)]
    while len(found) < BURSTS:
        first = rng.randrange(MINUTES - 100)
        found.append((first, first + rng.randrange(8, 60), rng.randrange(KINDS)))
    return found


def _by_minute(rows: int, bursts: Sequence[tuple[int, int, int]]) -> Iterator[int]:
    """Yield the number of failures in each minute; the sum is `rows`."""
    quiet = [1.2 - math.cos(2 * math.pi * (minute % 1440) / 1440) for minute in range(MINUTES)]
    busy = [0.0] * MINUTES
    for first, last, _ in bursts:
        for minute in range(first, last):
            busy[minute] += 1
    whole, most = sum(quiet), sum(busy)
    before, share = 0, 0.0
    for calm, burst in zip(quiet, busy, strict=True):
        share += (1 - BURST_SHARE) * calm / whole + BURST_SHARE * burst / most
        upto = min(rows, round(rows * share))
        yield upto - before
        before = upto
