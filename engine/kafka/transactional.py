"""The TransactionalProducer port over confluent_kafka. What is made of its errors is up to engine.exactly_once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import confluent_kafka as ck

from engine.errors import (
    AbortableError,
    CommitFailed,
    EngineError,
    FailureType,
    FatalError,
    Fenced,
    ProduceFailed,
    RetriableError,
)
from engine.kafka.consumer import patiently
from engine.kafka.errors import describe, error_class, translate
from engine.kafka.producer import FLUSH_SLICE_S, UNFIT, Delivered, KafkaProducer
from engine.ports import Committed
from engine.record.record import TopicPartition

CALL_TIMEOUT_S = 15.0
# What happens to the others of a transaction once one of its records is lost.
_CONSEQUENCES = {ck.KafkaError._PURGE_QUEUE, ck.KafkaError._PURGE_INFLIGHT, ck.KafkaError._STATE}
CONNECTION = ("bootstrap.servers", "security.protocol", "sasl.", "ssl.", "log_level", "socket.keepalive.enable")


class KafkaTransactional(KafkaProducer):
    """A client with a transactional id; `settings` hold it."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self._connection = {name: value for name, value in settings.items() if name.startswith(CONNECTION)}
        self._lost = False  # has a record of the open transaction come to nothing?
        self._members: dict[str, Any] = {}  # group → the client's word for a member of it

    def init(self) -> None:
        patiently(self._init)

    def begin(self) -> None:
        self._forget()
        with translated():
            self._client.begin_transaction()

    def flush(self) -> None:
        with translated():
            while self._client.flush(FLUSH_SLICE_S) and not self._lost:
                pass  # once a record is lost there is nothing to wait for
        failures, lost = sorted(self._failures, key=lambda row: row[0]), self._lost
        self._forget()
        if not failures:
            return
        failed = _failed(failures)
        if not lost and not any(error.code() in _CONSEQUENCES for _, _, error in failures):
            raise failed  # they never left the client: the transaction knows nothing of them
        raise AbortableError(str(failed)) from failed

    def send_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        member = self._member(group)
        rows = [
            ck.TopicPartition(topic, partition, committed.offset, committed.metadata)
            for (topic, partition), committed in offsets.items()
        ]

        def send() -> None:
            with translated():
                self._client.send_offsets_to_transaction(rows, member, CALL_TIMEOUT_S)

        patiently(send)

    def commit(self) -> None:
        try:
            with translated():
                self._client.commit_transaction(CALL_TIMEOUT_S)
        except AbortableError as error:
            raise CommitFailed(str(error)) from error

    def abort(self) -> None:
        with translated():
            self._client.abort_transaction(CALL_TIMEOUT_S)
        self._forget()

    def _init(self) -> None:
        with translated():
            self._client.init_transactions(CALL_TIMEOUT_S)

    def _forget(self) -> None:
        self._failures, self._queued, self._lost = [], 0, False

    def _listener(self, ordinal: int, topic: str) -> Delivered:
        note = super()._listener(ordinal, topic)

        def on_delivery(error: ck.KafkaError | None, message: ck.Message) -> None:
            self._lost = self._lost or error is not None
            note(error, message)

        return on_delivery

    def _member(self, group: str) -> Any:
        """Asked for once: making a consumer takes its time. It never joins the group."""
        if group not in self._members:
            with translated():
                consumer = ck.Consumer({**self._connection, "group.id": group, "enable.auto.commit": "false"})
                try:
                    self._members[group] = consumer.consumer_group_metadata()
                finally:
                    consumer.close()
        return self._members[group]


def _failed(failures: Sequence[tuple[int, str, ck.KafkaError]]) -> ProduceFailed:
    """Their failures, by the causes among them. Raises Fenced or FatalError where that is one."""
    causes = [row for row in failures if row[2].code() not in _CONSEQUENCES] or failures
    kind = FailureType.DELIVERY_FAILED
    for _, _, error in causes:
        found = error_class(error)
        if found is ProduceFailed or error.code() in UNFIT:
            kind = FailureType.MESSAGE_REJECTED
        elif found in {Fenced, FatalError} and error.code() not in _CONSEQUENCES:
            raise translate(error)
    rows = tuple((topic, describe(error)) for _, topic, error in causes)
    return ProduceFailed(rows, tuple(ordinal for ordinal, _, _ in causes), kind)


@contextmanager
def translated() -> Iterator[None]:
    """What a transactional call raises inside comes out as ours (KIP-691's table; the client's own flags first)."""
    try:
        yield
    except ck.KafkaException as error:
        raise _translate(error.args[0]) from error
    except SystemError as error:  # a fatal error that the client raised in the middle of a delivery report
        if not isinstance(error.__cause__, ck.KafkaException):
            raise
        raise _translate(error.__cause__.args[0]) from error


def _translate(error: ck.KafkaError) -> EngineError:
    if not error.fatal() and error_class(error) is not Fenced:
        if error.txn_requires_abort():
            return AbortableError(describe(error))
        if error.retriable():
            return RetriableError(describe(error))
    return translate(error)
