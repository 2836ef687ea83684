"""KafkaSink: writes records, already converted to bytes, to topics of the worker's own cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.errors import AbortableError, Aborted, DataError, Message, ProduceFailed, RecordError, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.ports import Producer, Row
from engine.record.record import Headers, Record

Place = tuple[str, int, int]


class KafkaSink:
    """Writes records to `topic`, or to each record's own topic if `topic` is empty.

    `refusal(topic)` returns why a topic must not be written. Without `keeps_partition`, the key decides the partition.

    With `flushes`, each put is flushed before it returns. A failed put leaves nothing in a transaction, so that ever
    smaller puts find the guilty record. Without `flushes`, a failure is raised at the commit.

    A put that fails for a retriable reason raises RetriableError. In a transaction it raises Aborted: no record is to
    blame, and the earlier records of the transaction must be written again, too.
    """

    put_is_idempotent = True

    def __init__(
        self,
        producer: Producer,
        topic: str,
        refusal: Callable[[str], str | None],
        *,
        keeps_partition: bool,
        flushes: bool,
    ) -> None:
        self._producer = producer
        self._transaction = producer if isinstance(producer, Transaction) else None
        self._topic = topic
        self._refusal = refusal
        self._keeps_partition = keeps_partition
        self._flushes = flushes
        self._refused: dict[str, str | None] = {topic: None}
        self._done: set[Place] = set()  # written by a failed put outside of a transaction; they are not written again

    def start(self, config: Mapping[str, str]) -> None:
        """Do nothing: the producer is open already."""

    def put(self, records: Sequence[Record]) -> None:
        try:
            self._write(records)
        except (RetriableError, AbortableError) as error:
            if self._transaction is None or isinstance(error, Aborted):
                raise
            raise Aborted(str(error)) from error

    def flush(self) -> None:
        """Make everything durable. Raises ProduceFailed."""
        self._producer.flush()
        self._done.clear()

    def stop(self) -> None:
        """Do nothing: the opener closes the producer."""

    def _write(self, records: Sequence[Record]) -> None:
        self._check_topics(records)
        todo = [record for record in records if _record_position(record) not in self._done] if self._done else records
        self._producer.produce_all(self._rows(todo))
        if not self._flushes:
            return
        before = 0 if self._transaction is None else self._transaction.flushed
        try:
            self._producer.flush()
        except ProduceFailed as failed:
            self._take_back(todo, failed, before)
            if failed.retriable:
                raise RetriableError(f"records could not be written: {failed}") from failed
            if len(records) == 1:
                raise RecordError(0, failed) from failed
            if self._transaction is not None and len(failed.ordinals) < len(records):
                raise _errors_by_record(failed) from failed
            raise

    def _rows(self, records: Sequence[Record]) -> list[Row]:
        topic, keeps = self._topic, self._keeps_partition
        return [
            (
                topic or record.topic,
                record.key,
                record.value,
                _headers(record) if record.headers else (),
                # −1 marks a record of a topic without timestamps. Its copy gets the time of its writing.
                stamp if (stamp := record.timestamp) and stamp > 0 else None,
                record.partition if keeps else None,
            )
            for record in records
        ]

    def _take_back(self, todo: Sequence[Record], failed: ProduceFailed, before: int) -> None:
        """Undo a failed put: remove its records from the transaction, or note the written ones outside of one."""
        lost = set(failed.ordinals)
        if len(lost) == len(todo):
            return
        if self._transaction is not None:
            # A part of this put must not be committed with the next one. The task puts its halves again.
            self._transaction.replace_after(before, ())
        else:
            self._done.update(_record_position(record) for ordinal, record in enumerate(todo) if ordinal not in lost)

    def _check_topics(self, records: Sequence[Record]) -> None:
        if self._topic or not any(self._cached_refusal(topic) for topic in {record.topic for record in records}):
            return
        rows = ((index, self._cached_refusal(record.topic)) for index, record in enumerate(records))
        errors = [RecordError(index, DataError(Message(reason))) for index, reason in rows if reason]
        raise ExceptionGroup("records for topics that the sink must not write to", errors)

    def _cached_refusal(self, topic: str) -> str | None:
        if topic not in self._refused:
            self._refused[topic] = self._refusal(topic)
        return self._refused[topic]


def _errors_by_record(failed: ProduceFailed) -> ExceptionGroup[RecordError]:
    """Return the failures per record. In a transaction that is not aborted, each was refused individually."""
    rows = zip(failed.ordinals, failed.failures, strict=True)
    errors = [(at, ProduceFailed((row,)).with_traceback(failed.__traceback__)) for at, row in rows]
    return ExceptionGroup("records that the brokers rejected", [RecordError(at, error) for at, error in errors])


def _headers(record: Record) -> Headers:
    return tuple((name, data) for name, _, data in record.headers)


def _record_position(record: Record) -> Place:
    raw = record.raw
    assert raw is not None
    return raw.topic, raw.partition, raw.offset
