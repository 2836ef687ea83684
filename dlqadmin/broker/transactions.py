"""Write chunks of records in Kafka transactions that also commit the writer's progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import msgspec
from confluent_kafka import KafkaError, Message

from dlqadmin import tracing
from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from engine import errors
from engine.exactly_once.transaction import Transaction
from engine.kafka.clock import WorkerClock
from engine.kafka.producer import Report, failure_reports
from engine.kafka.transactional import KafkaTransactional
from engine.ports import Committed, Row
from engine.record.record import Headers, TopicPartition

TRANSACTION_TIMEOUT_MS = 30_000  # the longest time for which the chunk of a killed writer can block readers
DELIVERY_TIMEOUT_MS = 10_000

# The client's names of errors that waiting cannot resolve.
_HOPELESS = {
    "TOPIC_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "UNKNOWN_TOPIC_OR_PART",
    "_UNKNOWN_TOPIC",
}
_NO_PARTITION = "_UNKNOWN_PARTITION"  # partitions can be added to a topic, but not because a record names one


class ProducerFenced(Exception):
    """Another writer took over the transactional id, or the transaction timed out. Write nothing more."""


class TopicNotWritable(Exception):
    """Waiting does not help: the topic is gone, or the dashboard may not write to it."""


class RecordsRejected(Exception):
    """The chunk was aborted, because every attempt refuses these records.

    `records` maps the position in the chunk to the reason.
    """

    def __init__(self, records: dict[int, str]) -> None:
        super().__init__(records)
        self.records = records


class OutboundRecord(msgspec.Struct, frozen=True):
    """A record to write. Without a partition, its key chooses one, as in the Java client."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None = None  # None: now


class WrittenRecord(msgspec.Struct, frozen=True):
    """The coordinates of a record in a committed chunk."""

    partition: int
    offset: int


class ProgressCommit(msgspec.Struct, frozen=True):
    """The progress to commit with a chunk: `offset` of partition 0 of `topic`, for `group`."""

    group: str
    topic: str
    offset: int
    metadata: str = ""


class ChunkProducer:
    """A transactional producer. Use it as a context manager.

    Every call raises BrokerUnavailable, ProducerFenced or TopicNotWritable. After BrokerUnavailable, try again later; a
    commit may have succeeded.
    """

    def __init__(self, transactional_id: str) -> None:
        self._transactional_id = transactional_id
        self._written: dict[int, WrittenRecord] = {}  # by position in the chunk
        self._progress: ProgressCommit | None = None  # as last committed
        # Do not wait for a commit that gets no response: the next writer settles it.
        self._transaction = Transaction(self._connect, self._check, WorkerClock(lambda: True))

    def fence(self) -> None:
        """Take over the transactional id: fence older writers and end their open transaction."""
        with _translate_errors():
            self._transaction.open()

    def write(self, records: Sequence[OutboundRecord], progress: ProgressCommit) -> list[WrittenRecord]:
        """Write the chunk in one transaction. Raises RecordsRejected after an abort; then nothing is visible."""
        with tracing.span("kafka transaction", tracing.PRODUCER) as span:
            topic = ",".join(sorted({one.topic for one in records}))
            span.note(messaging__system="kafka", messaging__destination__name=topic)
            span.note(messaging__batch__message_count=len(records))
            return self._write(records, progress)

    def close(self) -> None:
        """Close the producer. The next writer settles a commit without a response."""
        self._transaction.close()

    def _write(self, records: Sequence[OutboundRecord], progress: ProgressCommit) -> list[WrittenRecord]:
        # Read once: `_check` compares it later. Another value there means that another writer committed.
        if self._progress is None:
            self._progress = _committed(progress)
        try:
            with _translate_errors():
                self._deliver(records)
                # The offset commits with the records, so it proves to the next writer which chunks are complete.
                place = TopicPartition(progress.topic, 0)
                self._transaction.commit({place: Committed(progress.offset, progress.metadata)}, progress.group)
        except RecordsRejected:
            self._renew()
            raise
        except (ProducerFenced, TopicNotWritable, BrokerUnavailable):
            self._transaction.abort()
            raise
        self._progress = progress
        return [self._written[place] for place in range(len(records))]

    def _connect(self) -> KafkaTransactional:
        return _CoordinateProducer(self._transactional_id, self._written)

    def _check(self) -> None:
        """Raise ProducerFenced if another writer committed after this one."""
        if self._progress is not None and _committed(self._progress) != self._progress:
            raise errors.GenerationFenced(f"{self._transactional_id} was taken over by another producer")

    def _renew(self) -> None:
        """Take over from ourselves: after a refused record, the client loses the next records.

        Do it now and not before the next chunk, because the caller may lose the job to another worker
        meanwhile.
        """
        with _translate_errors():
            self._transaction.abort()
            self._transaction.open()
            self._check()

    def _deliver(self, records: Sequence[OutboundRecord]) -> None:
        self._written.clear()
        self._transaction.produce_all(
            [(one.topic, one.key, one.value, one.headers, one.timestamp_ms, one.partition) for one in records]
        )
        try:
            self._transaction.flush()
        except errors.ProduceFailed as error:
            raise _most_severe(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _report(fail: Report, ordinal: int, written: dict[int, WrittenRecord]) -> Report:
    """Return a delivery report that also records where a record was written."""

    def report(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            fail(error, message)
        else:
            written[ordinal] = WrittenRecord(message.partition() or 0, message.offset() or 0)

    return report


class _CoordinateProducer(KafkaTransactional):
    """A transactional producer that records the coordinates of written records."""

    only_errors = False

    def __init__(self, transactional_id: str, written: dict[int, WrittenRecord]) -> None:
        settings = topics.client_config(
            {
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "delivery.timeout.ms": DELIVERY_TIMEOUT_MS,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "message.max.bytes": 100_000_000,  # the topic's own limit applies
            }
        )
        super().__init__({name: str(value) for name, value in settings.items()})
        self._written = written

    def _reports(self, rows: Sequence[Row]) -> Iterable[Report]:
        reports, written = failure_reports(self._lost, self._queued), self._written
        return (_report(fail, ordinal, written) for ordinal, fail in enumerate(reports, start=self._queued))


def _committed(progress: ProgressCommit) -> ProgressCommit:
    """Return the group's committed progress; −1 without a committed offset."""
    place = (progress.topic, 0)
    return msgspec.structs.replace(progress, offset=topics.committed(progress.group, [place]).get(place, -1))


def _most_severe(error: errors.ProduceFailed) -> Exception:
    """Convert failed records to an exception. Errors that waiting cannot resolve come first."""
    reasons = {at: reason for at, (_, reason) in zip(error.ordinals, error.failures, strict=True)}
    # In a transaction all other records are lost with the guilty ones, so only the guilty ones tell the cause.
    guilty = {at: reason for at, reason in reasons.items() if at in error.guilty} or reasons
    names = {at: _error_name(reason) for at, reason in guilty.items()}
    if hopeless := [guilty[at] for at, name in names.items() if name in _HOPELESS]:
        return TopicNotWritable(hopeless[0])
    is_rejected = error.type is errors.FailureType.MESSAGE_REJECTED
    refused = {at: guilty[at] for at, name in names.items() if is_rejected or name == _NO_PARTITION}
    return RecordsRejected(refused) if refused else BrokerUnavailable(str(error))


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except errors.GenerationFenced as error:
        raise ProducerFenced(str(error)) from error
    except errors.EngineError as error:
        raise (TopicNotWritable if _error_name(str(error)) in _HOPELESS else BrokerUnavailable)(str(error)) from error


def _error_name(text: str) -> str:
    """Return the client's error name, which is the prefix of the engine's message."""
    return text.partition(":")[0]
