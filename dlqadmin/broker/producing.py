"""Writing chunks of records in Kafka transactions, the progress of the writer in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.topics import client_config, patiently
from engine.record.record import Headers

INIT_TIMEOUT_S = 15.0
CALL_TIMEOUT_S = 10.0
TRANSACTION_TIMEOUT_MS = 30_000  # how long the chunk of a killed writer can hold back readers
DELIVERY_TIMEOUT_MS = 20_000
COMMIT_ATTEMPTS = 3
BY_KEY = -1  # the client's word for a partition that the key chooses

Delivered = Callable[[KafkaError | None, Message], None]

# A record with one of these is refused at every attempt; the others of its chunk are not to blame.
_REFUSED = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_MSG,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError._UNKNOWN_PARTITION,
}
# What happens to the others of a chunk once one of them has failed; _STATE is for those not yet handed over.
_CONSEQUENCES = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._STATE}
_FENCING = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
}
_HOPELESS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
}


class Fenced(Exception):
    """Another writer took over the transactional id, or the broker ended the transaction as too old: touch nothing."""


class Hopeless(Exception):
    """Waiting will not help: the topic is gone, or the dashboard may not write to it."""


class Refused(Exception):
    """The chunk was aborted because these records, by place in the chunk, are refused at every attempt."""

    def __init__(self, records: dict[int, str]) -> None:
        super().__init__(records)
        self.records = records


class Outbound(msgspec.Struct, frozen=True):
    """A record to write; without a partition its key chooses one, as the Java client does."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class Written(msgspec.Struct, frozen=True):
    """Where a record of a committed chunk is."""

    partition: int
    offset: int


class Progress(msgspec.Struct, frozen=True):
    """What the stand-in group `group` shall say once the chunk is committed: `offset` under partition 0 of `topic`."""

    group: str
    topic: str
    offset: int


class ChunkProducer:
    """One transactional producer. Use it as a context manager.

    Every call raises BrokerUnavailable (try again later: whether a commit took place is then unknown),
    Fenced or Hopeless.
    """

    def __init__(self, transactional_id: str) -> None:
        self._transactional_id = transactional_id
        self._producer = _producer(transactional_id)
        self._members: dict[str, Any] = {}  # group → the client's word for a member of it

    def fence(self) -> None:
        """Take over the transactional id: older writers are fenced, and their open transaction is ended."""
        with _translated():
            patiently(lambda: self._producer.init_transactions(INIT_TIMEOUT_S))

    def write(self, records: Sequence[Outbound], progress: Progress) -> list[Written]:
        """Write the chunk in one transaction. Raises Refused after an abort; nothing of it is visible then."""
        member = self._member(progress.group)
        with _translated():
            self._producer.begin_transaction()
        try:
            written = self._deliver(records)
            self._note(progress, member)
        except Refused:
            self._renew()
            raise
        except (Fenced, Hopeless, BrokerUnavailable):
            with suppress(KafkaException):  # the next to take over ends it in any case
                self._producer.abort_transaction(CALL_TIMEOUT_S)
            raise
        with _translated():
            self._commit()
        return written

    def close(self) -> None:
        """Give up; an open transaction ends by its time-out, or by whoever takes over."""
        self._producer.purge()
        self._producer.flush(1)

    def _renew(self) -> None:
        """Take over from itself: after a refused record the client purges what it is given next.

        At once, not before the next chunk: by then the caller may have lost the job to another.
        """
        self.close()
        self._producer = _producer(self._transactional_id)
        self.fence()

    def _deliver(self, records: Sequence[Outbound]) -> list[Written]:
        places: dict[int, Written] = {}
        failed: dict[int, KafkaError] = {}
        with _translated():
            for place, record in enumerate(records):
                try:
                    self._produce(record, partial(_settle, place, places, failed))
                except KafkaException as error:
                    failed[place] = error.args[0]
                    if error.args[0].code() == KafkaError._STATE:
                        break  # one before it has failed; flushing tells which, and why
            left = self._producer.flush(CALL_TIMEOUT_S)
        refused = {place: error.str() for place, error in failed.items() if error.code() in _REFUSED}
        causes = [error for error in failed.values() if error.code() not in _REFUSED | _CONSEQUENCES]
        if causes:
            raise _translate(causes[0])
        if refused:
            raise Refused(refused)
        if failed:
            raise BrokerUnavailable(next(iter(failed.values())).str())
        if left:
            raise BrokerUnavailable(f"{left} of {len(records)} records were not acknowledged in {CALL_TIMEOUT_S:g} s")
        return [places[place] for place in range(len(records))]

    def _produce(self, record: Outbound, delivered: Delivered) -> None:
        self._producer.produce(
            record.topic,
            record.value,
            record.key,
            headers=list(record.headers),
            on_delivery=delivered,
            partition=BY_KEY if record.partition is None else record.partition,
        )

    def _note(self, progress: Progress, member: Any) -> None:
        offsets = [KafkaTopicPartition(progress.topic, 0, progress.offset)]
        with _translated():
            patiently(lambda: self._producer.send_offsets_to_transaction(offsets, member, CALL_TIMEOUT_S))

    def _member(self, group: str) -> Any:
        """Asked for before a transaction is open: making a consumer takes its time."""
        if group not in self._members:
            consumer = Consumer(client_config({"group.id": group, "enable.auto.commit": False}))
            try:
                self._members[group] = consumer.consumer_group_metadata()
            finally:
                consumer.close()
        return self._members[group]

    def _commit(self) -> None:
        """Commit; a call that timed out may be repeated, and must not be followed by an abort."""
        for left in reversed(range(COMMIT_ATTEMPTS)):
            try:
                self._producer.commit_transaction(CALL_TIMEOUT_S)
                break
            except KafkaException as error:
                cause = error.args[0]
                if cause.txn_requires_abort():
                    with suppress(KafkaException):
                        self._producer.abort_transaction(CALL_TIMEOUT_S)
                    raise
                if not left or not cause.retriable():
                    raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _producer(transactional_id: str) -> Producer:
    return Producer(
        client_config(
            {
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "delivery.timeout.ms": DELIVERY_TIMEOUT_MS,
                "partitioner": "murmur2_random",
                "compression.type": "lz4",
                "linger.ms": 5,
                "message.max.bytes": 100_000_000,  # the topic's own limit decides
            }
        )
    )


def _settle(
    place: int, places: dict[int, Written], failed: dict[int, KafkaError], error: KafkaError | None, message: Message
) -> None:
    """A delivery report; `place` is the record's in its chunk."""
    if error is None:
        places[place] = Written(message.partition() or 0, message.offset() or 0)
    else:
        failed[place] = error


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise _translate(error.args[0]) from error
    except SystemError as error:  # a fatal error that the client raised in the middle of a delivery report
        if not isinstance(error.__cause__, KafkaException):
            raise
        raise _translate(error.__cause__.args[0]) from error


def _translate(error: KafkaError) -> Exception:
    if error.code() in _FENCING:
        return Fenced(error.str())
    return Hopeless(error.str()) if error.code() in _HOPELESS else BrokerUnavailable(error.str())
