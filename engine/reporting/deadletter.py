"""Errors as dead letters: an error context on a Kafka topic, durable before its record's offset is committed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from engine.errors import ProduceFailed
from engine.policy.classify import classify
from engine.policy.retry import RetryPolicy, backoff_ms
from engine.ports import Clock, Producer
from engine.record.codec import encode
from engine.record.context import ErrorContext
from engine.record.record import Headers, Origin, RawRecord
from engine.record.stage import StageType
from engine.reporting.metrics import Metric, Metrics

HEADER_PREFIX = "__connect.errors."
ENVELOPE_BYTES = 512  # what a batch adds to one record
LEAST_CONTEXT_BYTES = 4096


class DeadLetter(msgspec.Struct, frozen=True):
    """A record of the dead letter topic. `timestamp` is the time of the error (ms)."""

    key: bytes | None
    value: bytes
    headers: Headers
    timestamp: int


class Unwritten(msgspec.Struct, frozen=True):
    """Letters wait for another attempt. `wake_at` (ms) is when to make it; None after a stop request."""

    wake_at: int | None


class DeadLetterReporter:
    """Produces dead letters; `flush` repeats those that were not written, as stage KAFKA_PRODUCE is retried.

    `failures` in a row since `first_ms` may have begun in an earlier lease. While brokers are away, it goes on for
    `least_ms` even if fewer retries are allowed, as a producer does by itself. `patience_ms(now)`: see the guard's.
    """

    def __init__(
        self,
        *,
        producer: Producer,
        topic: str,
        include_configs: bool,
        include_messages: bool,
        context_headers: bool,
        max_bytes: int,
        metrics: Metrics,
        retry: RetryPolicy,
        clock: Clock,
        jitter: Callable[[], float],
        patience_ms: Callable[[int], int],
        least_ms: int = 0,
        failures: int = 0,
        first_ms: int = 0,
    ) -> None:
        self.producer = producer
        self.topic = topic
        self.include_configs = include_configs
        self.include_messages = include_messages
        self.context_headers = context_headers
        self.max_bytes = max_bytes
        self.metrics = metrics
        self.retry = retry
        self.clock = clock
        self.jitter = jitter
        self.patience_ms = patience_ms
        self.least_ms = least_ms
        self.failures = failures
        self.first_ms = first_ms
        self._waiting: list[DeadLetter] = []

    def report(self, context: ErrorContext, origin: Origin) -> None:
        letter = self._letter(context, origin)
        self._waiting.append(letter)
        self._produce(letter)

    def flush(self) -> Unwritten | None:
        """None when all are durable; Unwritten when the wait for another attempt would be too long, or was ended.

        Raises ProduceFailed when the retries are exhausted, or can't help: the task fails, nothing is lost.
        """
        while self._waiting:
            try:
                self.producer.flush()
            except ProduceFailed as error:
                now = self.clock.now_ms()
                delay = self._failed(error, now)
                if delay is None:
                    self.metrics[Metric.TOTAL_RETRIES] += self.failures - 1
                    raise
                if delay > self.patience_ms(now):
                    return Unwritten(now + delay)
                if self.clock.wait(delay):
                    return Unwritten(None)
                for letter in self._waiting:
                    self._produce(letter)
            else:
                self.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] += len(self._waiting)
                self._waiting = []
        self.metrics[Metric.TOTAL_RETRIES] += self.failures  # each was tried again, here or in an earlier lease
        self.failures, self.first_ms = 0, 0
        return None

    def keep_last(self, count: int) -> None:
        """Forget all letters that are not durable but the last ones, which are produced again."""
        self._waiting = self._waiting[len(self._waiting) - count :] if count else []
        for letter in self._waiting:
            self._produce(letter)

    def _failed(self, error: ProduceFailed, now: int) -> int | None:
        """Count it; how long to wait for the next attempt (ms), None if there is none."""
        self.failures, self.first_ms = self.failures + 1, self.first_ms or now
        self.metrics[Metric.DEADLETTERQUEUE_PRODUCE_FAILURES] += len(error.failures)
        self.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] += len(self._waiting) - len(error.ordinals)
        self._waiting = [self._waiting[ordinal] for ordinal in error.ordinals]
        if not classify(StageType.KAFKA_PRODUCE, error).retry:
            return None
        elapsed, jitter = now - self.first_ms, self.jitter()
        delay = self.retry.decide(self.failures, elapsed, jitter)
        if delay is None and elapsed < self.least_ms:
            return backoff_ms(self.failures, self.retry.delay_max_ms, jitter)
        return delay

    def _produce(self, letter: DeadLetter) -> None:
        self.producer.produce(self.topic, letter.key, letter.value, letter.headers, letter.timestamp)

    def _letter(self, context: ErrorContext, origin: Origin) -> DeadLetter:
        key: bytes | None = None
        headers: Headers = ()
        if isinstance(origin, RawRecord):
            key, headers = origin.key if self.include_messages else None, origin.headers
        more = connect_headers(context, origin) if self.context_headers else ()
        room = self.max_bytes - ENVELOPE_BYTES
        # Size never fails a task: what other tools read goes first, then what the record brought along.
        if _size(key, (*headers, *more)) <= room - LEAST_CONTEXT_BYTES:
            headers = (*headers, *more)
        elif _size(key, headers) > room - LEAST_CONTEXT_BYTES:
            key, headers = None, ()
        value = encode(
            context,
            include_configs=self.include_configs,
            include_messages=self.include_messages,
            max_bytes=room - _size(key, headers),
        )
        return DeadLetter(key, value, headers, context.time_of_error)


def connect_headers(context: ErrorContext, origin: Origin) -> Headers:
    """Kafka Connect's own headers of a dead letter, for other tools; coordinates only of what was consumed."""
    stage = context.stage
    rows = {}
    if isinstance(origin, RawRecord):
        rows = {"topic": origin.topic, "partition": str(origin.partition), "offset": str(origin.offset)}
    rows |= {
        "connector.name": context.connector,
        "task.id": context.task_id.rpartition("-")[2],
        "stage": str(stage.type),
        "class.name": stage.class_name,
        "exception.class.name": context.exception_class,
        "exception.message": context.message,
        "exception.stacktrace": context.exception,
    }
    # A header of an exception without a message is there, and null, as other tools know it.
    return tuple((HEADER_PREFIX + name, _utf8(text) if text else None) for name, text in rows.items())


def _size(key: bytes | None, headers: Headers) -> int:
    return len(key or b"") + sum(len(_utf8(name)) + len(value or b"") + 10 for name, value in headers)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a lone surrogate, as a message may hold, has no bytes of its own
