"""The Producer port over confluent_kafka: queue, then flush until everything is durable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count, repeat
from types import MethodType

import confluent_kafka as ck

from engine.errors import FailureType, ProduceFailed, RetriableError
from engine.kafka.errors import REJECTED, describe, error_class, translate, translated
from engine.ports import Producer, Row

FLUSH_SLICE_S = 0.5
ANY_PARTITION = -1
_TOO_LARGE = "the record is larger than queue.buffering.max.kbytes"
REFUSED = (BufferError, ck.KafkaException, TypeError, ValueError, OverflowError)
Failure = tuple[int, str, ck.KafkaError]  # which record of the flush, its topic, and why
Report = Callable[[ck.KafkaError | None, ck.Message], None]


def failure_reports(failures: list[Failure], begin: int) -> Iterable[Report]:
    """What the client is to call once it knows what became of a record, one a record. They tell of failures only.

    Each is one function bound to an ordinal: that is made in half the time of a closure.
    """

    def report(ordinal: int, error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is not None:
            failures.append((ordinal, message.topic() or "", error))

    return map(MethodType, repeat(report), count(begin))


class KafkaProducer(Producer):
    """Writes records, and remembers which of them failed since the last flush."""

    only_errors = True  # are the client's reports about records that were delivered done without?

    def __init__(self, settings: Mapping[str, str]) -> None:
        with translated():
            self._client = ck.Producer({**settings, "delivery.report.only.error": self.only_errors})
        self._queued = 0
        self._refused: list[Failure] = []  # they never left the client
        self._lost: list[Failure] = []

    def produce_all(self, rows: Sequence[Row]) -> None:
        # One by one: the client's `produce_batch` takes neither timestamps nor headers, and costs more.
        produce = self._client.produce
        for ordinal, row, report in zip(count(self._queued), rows, self._reports(rows), strict=False):
            topic, key, value, headers, timestamp, partition = row
            where = ANY_PARTITION if partition is None else partition
            try:  # by position: keywords would double the cost of the hottest line
                produce(topic, value, key, where, report, None, timestamp or 0, list(headers) if headers else None)
            except REFUSED:
                self._insist(row, ordinal, report)
        self._queued += len(rows)
        self._serve(0)  # what is delivered makes room

    def flush(self) -> None:
        # Each record ends as delivered or failed by delivery.timeout.ms, so this ends too.
        with translated():
            while self._client.flush(FLUSH_SLICE_S):
                pass
        failures = self._take()
        for _, _, error in failures:
            if error_class(error) is not RetriableError and error.code() not in REJECTED:
                raise translate(error)  # of no record: the client, or its right to write, is gone
        if failures:
            rows = tuple((topic, describe(error)) for _, topic, error in failures)
            retriable = all(error_class(error) is RetriableError for _, _, error in failures)
            kind = FailureType.DELIVERY_FAILED if retriable else FailureType.MESSAGE_REJECTED
            raise ProduceFailed(rows, tuple(ordinal for ordinal, _, _ in failures), kind)

    def forget(self) -> int:
        """How many records are known to have failed since the last flush; nothing more is heard of any before."""
        return len(self._take())

    def close(self) -> None:
        """Let go of it; what was not flushed may be lost."""
        self._client.purge()
        with suppress(ck.KafkaException, SystemError):  # what was fatal is raised by each call, once more by this one
            self._client.flush(FLUSH_SLICE_S)

    def _reports(self, rows: Sequence[Row]) -> Iterable[Report]:  # noqa: ARG002, others look at them
        """A report for each of them."""
        return failure_reports(self._lost, self._queued)

    def _insist(self, row: Row, ordinal: int, report: Report) -> None:
        """Queue a record as soon as there is room; one that the client refuses, or never has room for, is noted."""
        topic, key, value, headers, timestamp, partition = row
        while True:
            is_empty = not len(self._client)
            try:
                self._client.produce(
                    topic,
                    value,
                    key,
                    on_delivery=report,
                    partition=ANY_PARTITION if partition is None else partition,
                    timestamp=timestamp or 0,
                    headers=list(headers),
                )
            except BufferError:
                if is_empty:
                    too_large = ck.KafkaError(ck.KafkaError.MSG_SIZE_TOO_LARGE, _TOO_LARGE)
                    self._refused.append((ordinal, topic, too_large))
                    return
                self._serve(FLUSH_SLICE_S)
            except ck.KafkaException as error:
                self._refused.append((ordinal, topic, error.args[0]))
                return
            except (TypeError, ValueError, OverflowError) as error:  # a topic or a header of a wrong type
                wrong = ck.KafkaError(ck.KafkaError._INVALID_ARG, str(error))
                self._refused.append((ordinal, str(topic), wrong))
                return
            else:
                return

    def _serve(self, timeout_s: float) -> None:
        """Hear what became of records. Raises what is fatal by now."""
        with suppress(SystemError), translated():  # an error that the client loses itself is said again by `flush`
            self._client.poll(timeout_s)

    def _take(self) -> list[Failure]:
        """The failures of this flush; the next one begins. Who is still to report of this one is not heard any more."""
        failures = sorted([*self._refused, *self._lost], key=lambda row: row[0])
        self._refused, self._lost, self._queued = [], [], 0
        return failures
