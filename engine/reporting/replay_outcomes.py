"""Outcomes of replayed records on the outcome topic, durable before offsets are committed."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import orjson

from engine.errors import ProduceFailed, RetriableError
from engine.policy.retry import RetryPolicy
from engine.ports import Clock, Producer
from engine.record.record import Headers, RawRecord
from engine.record.replay import ATTEMPT, ID, ITEM

OUTCOME_TOPIC_CONFIG = {"cleanup.policy": "delete", "retention.ms": "604800000"}
MAX_CHARS = 200  # characters kept of a header, because writers to the origin topic may write anything
MAX_DIGITS = 9
# Whatever the connector's options are: a report is no operation on a record. After the deadline the task is parked.
RETRY = RetryPolicy(limit=-1, delay_max_ms=2_000, timeout_ms=15_000)


class Outcome(StrEnum):
    """The bucket that a replayed record ended in."""

    DELIVERED = "delivered"
    FILTERED = "filtered"
    SKIPPED = "skipped"
    DEAD_LETTERED = "dead_lettered"


class ReplayReporter:
    """The outcome reports of one task.

    Nothing is written before `flush`. `open_producer` is not called before a report waits.
    """

    def __init__(
        self,
        *,
        open_producer: Callable[[], Producer],
        topic: str,
        connector: str,
        task: int,
        clock: Clock,
        jitter: Callable[[], float],
    ) -> None:
        self.topic = topic
        self.connector = connector
        self.task = task
        self.clock = clock
        self.jitter = jitter
        self._open_producer = open_producer
        self._producer: Producer | None = None
        self._waiting: list[tuple[bytes, bytes]] = []

    def report(self, raw: RawRecord, outcome: Outcome) -> None:
        """Keep the outcome of a record for the next flush, if the record was replayed."""
        item = _last(raw.headers, ITEM)
        if item is None:
            return
        line = {
            "item": _text(item),
            "attempt": _number(_last(raw.headers, ATTEMPT)),
            "replay": _text(_last(raw.headers, ID)),
            "connector": self.connector,
            "task": self.task,
            "topic": raw.topic,
            "partition": raw.partition,
            "offset": raw.offset,
            "outcome": outcome,
            "time": self.clock.now_ms(),
        }
        self._waiting.append((item[:MAX_CHARS], orjson.dumps(line)))

    def flush(self) -> bool:
        """Write all waiting reports. Return True when they are durable.

        False means that a stop request ended the wait for another attempt. Raises RetriableError when the brokers stay
        away, and ProduceFailed when retries can't help.
        """
        failures, first_ms = 0, 0
        while self._waiting:
            try:
                self._write()
            except ProduceFailed as error:
                if not error.retriable:
                    raise
                now = self.clock.now_ms()
                failures, first_ms = failures + 1, first_ms or now
                delay = RETRY.decide(failures, now - first_ms, self.jitter())
                if delay is None:
                    raise RetriableError(f"outcomes of replayed records were not written: {error}") from error
                self._waiting = [self._waiting[ordinal] for ordinal in error.ordinals]
                if self.clock.wait(delay):
                    return False
            else:
                self._waiting = []
        return True

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close()

    def _write(self) -> None:
        if self._producer is None:
            self._producer = self._open_producer()
        for key, value in self._waiting:
            self._producer.produce(self.topic, key, value)
        self._producer.flush()


def _last(headers: Headers, name: str) -> bytes | None:
    """Return the value of the last header of that name, or None."""
    last = None
    for key, value in headers:  # a plain loop, because every record with headers passes here
        if key == name:
            last = value
    return last


def _text(value: bytes | None) -> str:
    return (value or b"")[: MAX_CHARS * 4].decode("utf-8", "replace")[:MAX_CHARS]


def _number(value: bytes | None) -> int:
    return int(value) if value is not None and value.isdigit() and len(value) <= MAX_DIGITS else 0
