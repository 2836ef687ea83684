"""Error contexts in the engine's format, for the made-up failures of `failures`."""

from __future__ import annotations

import random
from bisect import bisect
from datetime import timedelta
from itertools import accumulate

from benchmarks.failures import FailureKind, kinds, now
from engine.record.context import ErrorContext
from engine.record.error_context_json import ErrorContextEncoder
from engine.record.record import RawRecord, Record
from engine.record.schema import Schema
from engine.record.stage import Stage, StageType

FRAMES = 18
VALUE = '{{"id": {n}, "team": "{team}", "gap": {gap}, "place": "{n} km W of {team}", "note": "{note}"}}'
NOTE = "late partial retry of an urgent order that was paid, returned, and paid again; " * 6


def contexts(count: int, seed: int = 7) -> list[bytes]:
    """Return `count` different contexts of about 3 kB each.

    Frequent kinds of failures occur more often, and each context has its own numbers.
    """
    rng, known = random.Random(seed), kinds()
    weights = list(accumulate(1 / (place + 1) ** 1.1 for place in range(len(known))))
    encoder = ErrorContextEncoder(include_configs=True, include_messages=True)
    made = []
    for number in range(count):
        kind = known[min(bisect(weights, rng.random() * weights[-1]), len(known) - 1)]
        made.append(encoder.encode(_context(kind, number, rng)))
    return made


def _context(kind: FailureKind, number: int, rng: random.Random) -> ErrorContext:
    value = VALUE.format(
        n=number, team=kind.connector, gap=rng.randrange(360), note=NOTE[: 300 + number % 200]
    ).encode()
    key, message = b"%s-%d" % (kind.connector.encode(), number), f"{kind.message} ({number})"
    at = int((now() - timedelta(seconds=rng.randrange(7 * 86_400))).timestamp() * 1000)
    raw = RawRecord(kind.origin_topic, number % 6, number, at - 500, "CREATE_TIME", key, value)
    types = (StageType.KEY_CONVERTER, StageType.VALUE_CONVERTER, StageType.TRANSFORMATION, StageType.TASK_PUT)
    stages = tuple(Stage(one, f"com.example.{one.title()}", {"name": kind.connector}) for one in types)
    record = Record(
        kind.origin_topic, number % 6, at - 500, key, value, Schema("BYTES"), Schema("BYTES"), (), number, raw=raw
    )
    frames = [f"  at com/example/{kind.connector}/part{place}.py:step{place}:{place * 7}" for place in range(FRAMES)]
    return ErrorContext(
        record=record,
        original=raw,
        stages=stages,
        index=3,
        exception="\n".join([f"{kind.exception_class}: {message}", *frames]),
        exception_class=kind.exception_class,
        message=message,
        root_class=kind.exception_class,
        root_message=message,
        attempt=2,
        task_id=f"{kind.connector}-{number % 4}",
        connector=kind.connector,
        time_of_error=at,
        first_failure_time=at - 300,
        elapsed_ms=300,
    )
