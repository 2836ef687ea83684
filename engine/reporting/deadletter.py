"""Dead letters for errors: an error context on a Kafka topic, durable before the offset is committed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec

from engine.errors import ProduceFailed
from engine.policy.classification import classify
from engine.policy.retry import RetryPolicy, backoff_ms
from engine.ports import Clock, Producer, Row
from engine.record.context import ErrorContext
from engine.record.error_context_json import ErrorContextEncoder
from engine.record.record import Headers, Origin, RawRecord
from engine.record.replay import OF_REPLAYS
from engine.record.stage import StageType
from engine.reporting.metrics import Metric, Metrics

HEADER_PREFIX = "__connect.errors."
ENVELOPE_BYTES = 512  # bytes that a batch adds to one record
LEAST_CONTEXT_BYTES = 4096
BATCH_LETTERS = 100  # letters given to the producer at a time


class PendingLetters(msgspec.Struct, frozen=True):
    """Letters that wait for another attempt at `wake_at` (ms). It is None after a stop request."""

    wake_at: int | None


class DeadLetterReporter:
    """A producer of dead letters. `flush` retries unwritten letters as stage KAFKA_PRODUCE is retried.

    The `failures` in a row since `first_ms` may have begun in an earlier lease. While brokers are away, it goes on for
    `least_ms` even if fewer retries are allowed, as a producer does by itself. For `patience_ms(now)` see the guard.
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
        self.include_messages = include_messages
        self.encoder = ErrorContextEncoder(include_configs=include_configs, include_messages=include_messages)
        self.context_headers = context_headers
        self.room = max_bytes - ENVELOPE_BYTES
        self.metrics = metrics
        self.retry = retry
        self.clock = clock
        self.jitter = jitter
        self.patience_ms = patience_ms
        self.least_ms = least_ms
        self.failures = failures
        self.first_ms = first_ms
        self._waiting: list[Row] = []  # not durable yet
        self._produced = 0  # how many of them the producer has

    def report(self, context: ErrorContext, origin: Origin) -> None:
        self._waiting.append(self._letter(context, origin))
        if len(self._waiting) - self._produced >= BATCH_LETTERS:
            self._produce()

    def flush(self) -> PendingLetters | None:
        """Return None when all letters are durable.

        Return PendingLetters when the wait for the next attempt would be too long, or was ended. Raises ProduceFailed
        when the retries are exhausted or can't help. The task then fails, and nothing is lost.
        """
        while self._waiting:
            self._produce()
            try:
                self.producer.flush()
            except ProduceFailed as error:
                now = self.clock.now_ms()
                delay = self._failed(error, now)
                if delay is None:
                    # Only now: the metric counts records that could not be written, not attempts (KIP-298, "Metrics").
                    self.metrics[Metric.DEADLETTERQUEUE_PRODUCE_FAILURES] += len(self._waiting)
                    # The last failure is not retried.
                    self.metrics[Metric.TOTAL_RETRIES] += self.failures - 1
                    raise
                if delay > self.patience_ms(now):
                    return PendingLetters(now + delay)
                if self.clock.wait(delay):
                    return PendingLetters(None)
            else:
                self.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] += len(self._waiting)
                self._waiting, self._produced = [], 0
        self.metrics[Metric.TOTAL_RETRIES] += self.failures  # each was retried, here or in an earlier lease
        self.failures, self.first_ms = 0, 0
        return None

    def keep_last(self, count: int) -> None:
        """Drop all letters that are not durable, except the last `count`. Those are produced again."""
        self._waiting, self._produced = self._waiting[len(self._waiting) - count :] if count else [], 0

    def _failed(self, error: ProduceFailed, now: int) -> int | None:
        """Count the failure. Return the wait for the next attempt (ms), or None to give up."""
        self.failures, self.first_ms = self.failures + 1, self.first_ms or now
        self.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] += len(self._waiting) - len(error.ordinals)
        self._waiting, self._produced = [self._waiting[ordinal] for ordinal in error.ordinals], 0
        if not classify(StageType.KAFKA_PRODUCE, error).retry:
            return None
        elapsed, jitter = now - self.first_ms, self.jitter()
        delay = self.retry.decide(self.failures, elapsed, jitter)
        if delay is None and elapsed < self.least_ms:
            return backoff_ms(self.failures, self.retry.delay_max_ms, jitter)
        return delay

    def _produce(self) -> None:
        """Give the producer the letters that it does not have."""
        self.producer.produce_all(self._waiting[self._produced :])
        self._produced = len(self._waiting)

    def _letter(self, context: ErrorContext, origin: Origin) -> Row:
        """Return the dead letter topic's record. Its timestamp is the time of the error.

        Without messages it has no key and none of the record's headers, except those that describe its replay.
        """
        context = context.with_content(self.include_messages)
        key: bytes | None = None
        headers: Headers = ()
        if isinstance(origin, RawRecord):
            if self.include_messages:
                key, headers = origin.key, origin.headers
            elif origin.headers:
                headers = tuple([header for header in origin.headers if header[0] in OF_REPLAYS])
        size = _size(key, headers) if key or headers else 0
        # Size must never fail a task. Headers for other tools are dropped first, then the record's own key and headers.
        most = self.room - LEAST_CONTEXT_BYTES
        more = connect_headers(context, origin) if self.context_headers else ()
        if more and (whole := size + _size(None, more)) <= most:
            headers, size = (*headers, *more), whole
        elif size > most:
            key, headers, size = None, (), 0
        value = self.encoder.encode(context, self.room - size)
        return self.topic, key, value, headers, context.time_of_error, None


def connect_headers(context: ErrorContext, origin: Origin) -> Headers:
    """Return Kafka Connect's headers of a dead letter, for other tools. Only consumed records have coordinates."""
    rows: Headers = ()
    if isinstance(origin, RawRecord):
        rows = (
            _header("topic", origin.topic),
            _header("partition", str(origin.partition)),
            _header("offset", str(origin.offset)),
        )
    stage = context.stage
    return (
        *rows,
        *_stage_headers(context.connector, context.task_id, stage.type, stage.class_name),
        _header("exception.class.name", context.exception_class),
        _header("exception.message", context.message),
        _header("exception.stacktrace", context.exception),
    )


@lru_cache(256)
def _stage_headers(connector: str, task_id: str, kind: StageType, class_name: str) -> Headers:
    """Return the headers that are the same for each error of a stage."""
    return (
        _header("connector.name", connector),
        _header("task.id", task_id.rpartition("-")[2]),
        _header("stage", str(kind)),
        _header("class.name", class_name),
    )


def _header(name: str, text: str) -> tuple[str, bytes | None]:
    """Return a header. Without a message its value is null, as other tools expect."""
    return HEADER_PREFIX + name, _utf8(text) if text else None


def _size(key: bytes | None, headers: Headers) -> int:
    size = len(key or b"")
    for name, value in headers:
        size += len(_utf8(name)) + len(value or b"") + 10
    return size


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a message may hold a lone surrogate, which can't be encoded
