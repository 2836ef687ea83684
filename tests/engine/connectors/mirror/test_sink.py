from __future__ import annotations

import pytest

from engine.connectors.mirror.sink import MirrorSink, OffsetRanges
from engine.errors import Aborted, ConversionError, RecordError, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.record.record import RawRecord, Record, TopicPartition
from tests.fakes import BatchingProducer, Clock, Producer
from tests.support.fake_kafka import FakeKafka, Fault


def record(offset: int, value: object = None, partition: int | None = 0) -> Record:
    data = b"%d" % offset if value is None else value
    raw = RawRecord("t", 0, offset, 5, "CREATE_TIME", None, None)
    return Record("A.t", partition, 5, None, data, raw=raw, offset=offset)


def put_of(producer: Producer | BatchingProducer, *, flushes: bool = True) -> MirrorSink:
    return MirrorSink(producer, lambda _: None, None, flushes=flushes)


def rejected(put: MirrorSink, records: list[Record]) -> dict[int, BaseException]:
    with pytest.raises(ExceptionGroup) as raised:
        put.put(records)
    errors = [error for error in raised.value.exceptions if isinstance(error, RecordError)]
    return {error.index: error.cause for error in errors}


def test_a_put_that_is_repeated_writes_nothing_twice() -> None:
    producer = BatchingProducer(2, lambda _: False, away=[1])
    put = put_of(producer)
    records = [record(at) for at in range(6)]
    with pytest.raises(RetriableError):
        put.put(records)
    put.put(records)
    (log,) = producer.log.values()
    assert sorted(filter(None, log)) == sorted(b"%d" % at for at in range(6))


@pytest.mark.parametrize(("away", "told"), [([], 1), ([1], 0)])
def test_where_a_put_had_to_be_repeated_nothing_is_told_of_where_records_came(away: list[int], told: int) -> None:
    spans = OffsetRanges()
    put = MirrorSink(BatchingProducer(2, lambda _: False, away=away), lambda _: None, spans, flushes=True)
    records = [record(at) for at in range(6)]
    if away:
        with pytest.raises(RetriableError):
            put.put(records)
    put.put(records)
    first, last = spans.syncs({TopicPartition("A.t", 0): (10, 15)}, lambda topic: f"A.{topic}")
    assert (len(first), len(last)) == (told, told)


@pytest.mark.parametrize("flushes", [True, False])
@pytest.mark.parametrize("value", ["text", 1, {"a": 1}])
def test_what_is_no_bytes_is_an_error_of_its_record_alone(value: object, flushes: bool) -> None:
    producer = Producer()
    put = put_of(producer, flushes=flushes)
    records = [record(0), record(1, value), record(2)]
    assert isinstance(rejected(put, records)[1], ConversionError)
    put.put([records[0], records[2]])
    put.flush()
    assert [row[2] for row in producer.records] == [b"0", b"2"]


def test_in_large_steps_a_failure_sends_the_task_back_to_its_last_commit() -> None:
    producer = Producer()
    producer.fail_next = [{0}]
    put = put_of(producer, flushes=False)
    put.put([record(0), record(1)])
    with pytest.raises(Aborted):
        put.flush()


@pytest.mark.parametrize("error", [RetriableError, Aborted])
def test_a_target_that_does_not_say_which_topics_it_has_aborts_a_transaction(error: type[RetriableError]) -> None:
    def ensure(_: Record) -> None:
        raise RetriableError("no answer")

    kafka = FakeKafka()
    transaction = Transaction(lambda: kafka.transactional("id"), lambda: None, Clock())
    put = MirrorSink(transaction if error is Aborted else Producer(), ensure, None, flushes=True)
    with pytest.raises(RetriableError) as raised:
        put.put([record(0)])
    assert raised.type is error


def test_a_transactional_put_that_finds_no_broker_is_aborted() -> None:
    kafka = FakeKafka()
    kafka.create("A.t")
    transaction = Transaction(lambda: kafka.transactional("id"), lambda: None, Clock())
    transaction.open()
    kafka.faults = lambda call: Fault.BEFORE if call == "produce" else None
    put = MirrorSink(transaction, lambda _: None, None, flushes=True)
    with pytest.raises(Aborted):
        put.put([record(0), record(1)])
