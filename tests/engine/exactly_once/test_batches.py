"""A topic limits what comes together, not only a single record; and what a zombie may have done without a record."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.errors import AbortableError, Aborted, GenerationFenced, ProduceFailed
from engine.exactly_once.transaction import Transaction
from engine.pipeline.commit import TransactionalStore
from engine.ports import Committed, Row
from engine.record.record import TopicPartition
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka, FakeTransactional

T0 = TopicPartition("t", 0)


class Batching(FakeTransactional):
    """Sends what is produced between two flushes as one batch, of which the topic takes `limit` records."""

    limit = 3

    def begin(self) -> None:
        self.batch = 0
        super().begin()

    def produce_all(self, rows: Sequence[Row]) -> None:
        self.batch += len(rows)
        super().produce_all(rows)

    def flush(self) -> None:
        count, self.batch = self.batch, 0
        if count > self.limit:
            cause = ProduceFailed((("t", "the batch is too large"),))
            raise AbortableError(str(cause)) from cause
        super().flush()


def made() -> tuple[FakeKafka, Transaction]:
    kafka = FakeKafka(Clock())
    kafka.create("t")
    transaction = Transaction(lambda: Batching(kafka, "id"), lambda: None, kafka.clock)
    transaction.open()
    return kafka, transaction


def write(transaction: Transaction, *values: bytes) -> None:
    for value in values:
        transaction.produce("t", None, value)
    transaction.flush()


def test_what_was_acknowledged_in_pieces_is_written_again_in_those() -> None:
    kafka, transaction = made()
    write(transaction, b"1", b"2", b"3")
    write(transaction, b"4", b"5")
    with pytest.raises(ProduceFailed):
        write(transaction, b"6", b"7", b"8", b"9")
    write(transaction, b"6", b"7")
    write(transaction, b"8", b"9")
    transaction.commit({T0: Committed(1)}, "g")
    assert [one.value for one in kafka.read("t")] == [b"%d" % at for at in range(1, 10)]


def test_what_is_refused_though_it_was_acknowledged_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka, transaction = made()
    write(transaction, b"1", b"2", b"3")
    monkeypatch.setattr(Batching, "limit", 2)  # somebody has lowered it
    with pytest.raises(ProduceFailed):
        write(transaction, b"4", b"5", b"6")
    with pytest.raises(Aborted):
        write(transaction, b"4")
    with pytest.raises(Aborted):
        transaction.commit({T0: Committed(1)}, "g")
    assert kafka.read("t") == []


def test_a_commit_without_a_record_is_somebody_elses_work_too() -> None:
    """A dead letter of a record that stops the task is committed with its mark, and no position moves."""
    kafka = FakeKafka(Clock())
    kafka.create("t")
    consumer = kafka.consumer("g")

    def check() -> None:
        store.check()

    transaction = Transaction(lambda: Batching(kafka, "id"), check, kafka.clock)
    transaction.open()
    store = TransactionalStore(consumer, transaction, "g")
    store.committed([T0])
    store.remember({T0: Committed(0, "as it began")})
    with pytest.raises(ProduceFailed):
        write(transaction, b"1", b"2", b"3", b"4")
    successor = Transaction(lambda: Batching(kafka, "id"), lambda: None, kafka.clock)
    successor.open()
    successor.commit({T0: Committed(0, "its letter is written")}, "g")
    with pytest.raises(GenerationFenced):
        write(transaction, b"letter")
