"""The Producer port over confluent_kafka: queue, then flush until everything is durable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count, repeat
from types import MethodType

import confluent_kafka as ck

from engine.config.errors_policy import topic_name
from engine.errors import FailureType, ProduceFailed, RetriableError
from engine.kafka.errors import REJECTED, NeededRights, describe, error_class, translate, translated
from engine.ports import Producer, Row

FLUSH_SLICE_S = 0.5
ANY_PARTITION = -1
_TOO_LARGE = "the record is larger than queue.buffering.max.kbytes"
# BufferError: the client's queue is full. The others: the client refuses the record or one of its fields.
REFUSED = (BufferError, ck.KafkaException, TypeError, ValueError, OverflowError)
Failure = tuple[int, str, ck.KafkaError]  # ordinal of the record in the flush, its topic, and the error
Report = Callable[[ck.KafkaError | None, ck.Message], None]


def failure_reports(failures: list[Failure], begin: int) -> Iterable[Report]:
    """Return one delivery callback for each record; the callbacks note failures only.

    Each is one function bound to an ordinal, which costs half the time of a closure.
    """

    def report(ordinal: int, error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is not None:
            failures.append((ordinal, message.topic() or "", error))

    return map(MethodType, repeat(report), count(begin))


class KafkaProducer(Producer):
    """A producer that notes which records failed since the last flush."""

    only_errors = True  # the client skips delivery reports of successful records

    def __init__(self, settings: Mapping[str, str]) -> None:
        with translated():
            self._client = ck.Producer({**settings, "delivery.report.only.error": self.only_errors})
        self._queued = 0
        self._refused: list[Failure] = []  # records that never left the client
        self._lost: list[Failure] = []

    def produce_all(self, rows: Sequence[Row]) -> None:
        # One by one: the client's `produce_batch` takes neither timestamps nor headers, and is slower.
        produce = self._client.produce
        for ordinal, row, report in zip(count(self._queued), rows, self._reports(rows), strict=False):
            topic, key, value, headers, timestamp, partition = row
            where = ANY_PARTITION if partition is None else partition
            # A timestamp of 0 lets the client take the current time.
            try:  # by position: keyword arguments would double the cost of this line, which runs most often
                produce(topic, value, key, where, report, None, timestamp or 0, list(headers) if headers else None)
            except REFUSED:
                self._queue_record(row, ordinal, report)
        self._queued += len(rows)
        self._serve(0)  # delivered records make room in the queue

    def flush(self) -> None:
        # delivery.timeout.ms ends each record as delivered or failed, so this loop ends.
        with translated():
            while self._client.flush(FLUSH_SLICE_S):
                pass
        failures = self._take_failures()
        for _, topic, error in failures:
            if error_class(error) is not RetriableError and error.code() not in REJECTED:
                # About no record: the client, or its right to write, is gone.
                raise translate(error, needs=writing(topic))
        if failures:
            rows = tuple((topic, describe(error)) for _, topic, error in failures)
            retriable = all(error_class(error) is RetriableError for _, _, error in failures)
            kind = FailureType.DELIVERY_FAILED if retriable else FailureType.MESSAGE_REJECTED
            raise ProduceFailed(rows, tuple(ordinal for ordinal, _, _ in failures), kind)

    def forget(self) -> int:
        """Return the number of failures since the last flush; ignore later reports of its records."""
        return len(self._take_failures())

    def close(self) -> None:
        """Close the client; records that were not flushed may be lost."""
        # Otherwise `flush` would go on sending records that no commit will ever cover.
        self._client.purge()
        with suppress(ck.KafkaException, SystemError):  # after a fatal error every call raises it again, this one too
            self._client.flush(FLUSH_SLICE_S)

    def _reports(self, rows: Sequence[Row]) -> Iterable[Report]:  # noqa: ARG002, subclasses use the rows
        """Return a delivery callback for each row."""
        return failure_reports(self._lost, self._queued)

    def _queue_record(self, row: Row, ordinal: int, report: Report) -> None:
        """Queue a record when there is room. Notes a record that the client refuses or never has room for."""
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
                self._refused.append((ordinal, topic, _reason(error.args[0], topic)))
                return
            except (TypeError, ValueError, OverflowError) as error:  # a topic or a header of a wrong type
                wrong = ck.KafkaError(ck.KafkaError._INVALID_ARG, _why(error))
                self._refused.append((ordinal, str(topic), wrong))
                return
            else:
                return

    def _serve(self, timeout_s: float) -> None:
        """Run delivery callbacks. Raises fatal errors."""
        with suppress(SystemError), translated():  # `flush` repeats an error that the client loses here
            self._client.poll(timeout_s)

    def _take_failures(self) -> list[Failure]:
        """Return the failures of this flush and begin the next one. Later reports of old records are ignored."""
        failures = sorted([*self._refused, *self._lost], key=lambda row: row[0])
        self._refused, self._lost, self._queued = [], [], 0
        return failures


def writing(*topics: str) -> NeededRights:
    """Return the right to write to these topics."""
    return NeededRights(topic=f"Write on topic {', '.join(topics)}", cluster="IdempotentWrite on the cluster")


def _reason(error: ck.KafkaError, topic: str) -> ck.KafkaError:
    """Return why the client refuses a record. A topic that can't exist is "unknown" to a client that asked before."""
    if error.code() == ck.KafkaError._UNKNOWN_TOPIC and (problem := topic_name(topic)):
        return ck.KafkaError(ck.KafkaError.TOPIC_EXCEPTION, f"the name {problem}")
    return error


def _why(error: Exception) -> str:
    """Return why the client refuses a record, without content: a UnicodeEncodeError's text quotes a character."""
    return error.reason if isinstance(error, UnicodeEncodeError) else str(error)
