"""The TransactionalProducer port over confluent_kafka. `engine.exactly_once` handles its errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import confluent_kafka as ck

from engine.errors import AbortableError, CommitFailed, FailureType, ProduceFailed, RetriableError
from engine.kafka.consumer import retry_while_retriable
from engine.kafka.errors import (
    CONSEQUENCES,
    NeededRights,
    describe,
    failure_type,
    transactional_class,
    translate,
    translated_transactional,
)
from engine.kafka.group_rights import CONNECTION
from engine.kafka.producer import FLUSH_SLICE_S, Failure, KafkaProducer, writing
from engine.ports import Committed
from engine.record.record import TopicPartition

CALL_TIMEOUT_S = 15.0
GRACE_S = 5.0  # beyond a call's own time-out
COORDINATORS = "__transaction_state"


class KafkaTransactional(KafkaProducer):
    """A producer with a transactional id from `settings`. A call takes at most `timeout_s` before it is repeated."""

    def __init__(self, settings: Mapping[str, str], timeout_s: float = CALL_TIMEOUT_S) -> None:
        super().__init__(settings)
        self._timeout_s = timeout_s
        self._needs = NeededRights(transactional_id=f"Write on transactional id {settings['transactional.id']}")
        self._connection = {name: value for name, value in settings.items() if name.startswith(CONNECTION)}
        self._members: dict[str, Any] = {}  # the client's group metadata by group

    def init(self) -> None:
        retry_while_retriable(self._init)

    def begin(self) -> None:
        # Late delivery reports of the previous transaction must not count as failures of this one.
        self._take_failures()
        with translated_transactional():
            self._client.begin_transaction()

    def flush(self) -> None:
        with translated_transactional():
            self._deliver()
        lost, failures = bool(self._lost), self._take_failures()
        if not failures:
            return
        if lost and all(error.code() in CONSEQUENCES for _, _, error in failures):
            self._raise_refusal(sorted({topic for _, topic, _ in failures}))
        failed = _failed(failures)
        if not lost and not any(error.code() in CONSEQUENCES for _, _, error in failures):
            raise failed  # the records never left the client, so the transaction is not affected
        raise AbortableError(str(failed)) from failed

    def send_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        member = self._member(group)
        rows = [
            ck.TopicPartition(topic, partition, committed.offset, committed.metadata)
            for (topic, partition), committed in offsets.items()
        ]

        topics = ", ".join(sorted({partition.topic for partition in offsets}))
        needs = replace(self._needs, topic=f"Read on topic {topics}", group=f"Read on group {group}")

        def send() -> None:
            with translated_transactional(needs):
                self._call_in_thread(lambda: self._client.send_offsets_to_transaction(rows, member, self._timeout_s))

        retry_while_retriable(send)

    def commit(self) -> None:
        if self._refused and not self._lost:  # refused records never left the client, which would commit without them
            raise CommitFailed(str(_failed(self._refused)))
        try:
            with translated_transactional():
                self._client.commit_transaction(self._timeout_s)
        except AbortableError as error:
            raise CommitFailed(str(error)) from error

    def abort(self) -> None:
        with translated_transactional():
            self._client.abort_transaction(self._timeout_s)
        self._take_failures()

    def _init(self) -> None:
        with translated_transactional(self._needs):
            # The second answer finds the client connected; else it looks for its coordinator half a second later.
            for _ in range(2):
                self._client.list_topics(COORDINATORS, self._timeout_s)
            self._client.init_transactions(self._timeout_s)

    def _raise_refusal(self, topics: Sequence[str]) -> None:
        """Raise FatalError if the brokers refused to add these topics: delivery reports tell only the consequence."""
        try:
            self._client.begin_transaction()  # not allowed inside a transaction, so it raises the transaction's error
        except ck.KafkaException as error:
            needs = writing(*topics)
            if needs.missing(error.args[0]):
                raise translate(error.args[0], transactional_class, needs) from error

    def _deliver(self) -> None:
        """Return when all records are acknowledged or one is lost, because then waiting is useless."""
        try:
            while self._client.flush(FLUSH_SLICE_S) and not self._lost:
                pass
        except SystemError as error:
            if error.__cause__ is None:  # the client lost its exception; any other transactional call raises it again
                self._client.begin_transaction()
            raise

    def _call_in_thread(self, call: Callable[[], object]) -> None:
        """Run the call in its own thread, and leave it behind if it does not return in time.

        After a broker restart, `send_offsets_to_transaction` may block for minutes, whatever time-out it has. A thread
        left behind is released with the client, and the next producer with this id fences it.
        """
        raised: list[BaseException] = []

        def run() -> None:
            try:
                call()
            except BaseException as error:  # noqa: BLE001, raised again in the calling thread
                raised.append(error)

        # A daemon, so that a thread left behind does not keep the worker process alive.
        thread = threading.Thread(target=run, name="send-offsets", daemon=True)
        thread.start()
        thread.join(self._timeout_s + GRACE_S)
        if thread.is_alive():
            raise RetriableError("the group coordinator did not respond in time")
        if raised:
            raise raised[0]

    def _member(self, group: str) -> Any:
        """Return group metadata, cached because making a consumer is slow. The consumer never joins the group."""
        if group not in self._members:
            with translated_transactional():
                consumer = ck.Consumer({**self._connection, "group.id": group, "enable.auto.commit": "false"})
                try:
                    self._members[group] = consumer.consumer_group_metadata()
                finally:
                    consumer.close()
        return self._members[group]


def _failed(failures: Sequence[Failure]) -> ProduceFailed:
    """Combine failures by their causes. Raises GenerationFenced or FatalError if a cause is one."""
    causes = [row for row in failures if row[2].code() not in CONSEQUENCES] or failures
    kinds = [failure_type(error) for _, _, error in causes]
    for kind, (_, topic, error) in zip(kinds, causes, strict=True):
        if kind is None:
            raise translate(error, transactional_class, writing(topic))
    rows = tuple((topic, describe(error, writing(topic))) for _, topic, error in causes)
    worst = next(kind for kind in FailureType if kind in kinds)
    return ProduceFailed(rows, tuple(ordinal for ordinal, _, _ in causes), worst)
