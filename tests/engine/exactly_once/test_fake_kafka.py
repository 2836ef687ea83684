"""The broker in memory; tests/broker/test_fake_kafka_agrees.py compares it with a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from engine.errors import (
    AbortableError,
    CommitFailed,
    FailureType,
    FatalError,
    GenerationFenced,
    OffsetsMissing,
    ProduceFailed,
    RetriableError,
)
from engine.ports import Admin, Committed, Consumer, Producer, TransactionalProducer
from engine.record.record import TopicPartition
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka, FakeTransactional, Fault

T0 = TopicPartition("t", 0)


def opened(kafka: FakeKafka, *values: bytes, name: str = "id") -> FakeTransactional:
    """A producer with an open transaction of these records, acknowledged."""
    client = kafka.transactional(name)
    client.init()
    client.begin()
    for value in values:
        client.produce("t", None, value)
    client.flush()
    return client


def values(kafka: FakeKafka, *, committed: bool = True) -> list[bytes | None]:
    return [one.value for one in kafka.read("t", committed=committed)]


def once(kafka: FakeKafka, call: str, fault: Fault) -> None:
    """The next such request meets the fault."""
    rows: Iterator[Fault] = iter([fault])
    kafka.faults = lambda name: next(rows, None) if name == call else None


def test_its_clients_are_the_ports() -> None:
    kafka = FakeKafka()
    consumer: Consumer = kafka.consumer()
    producer: Producer = kafka.producer()
    transactional: TransactionalProducer = kafka.transactional("id")
    admin: Admin = kafka.admin()
    assert all((consumer, producer, transactional, admin))


def test_an_open_transaction_holds_readers_back_and_its_marker_takes_an_offset() -> None:
    kafka = FakeKafka()
    client = opened(kafka, b"1")
    plain = kafka.producer()
    plain.produce("t", None, b"2")
    plain.flush()
    assert (values(kafka), values(kafka, committed=False)) == ([], [b"1", b"2"])
    client.commit()
    assert values(kafka) == [b"1", b"2"]
    consumer = kafka.consumer()
    consumer.assign({T0: 0})
    assert [one.offset for one in consumer.poll(10, 0)] == [0, 1]
    assert consumer.positions() == consumer.ends() == kafka.admin().end_offsets([T0]) == {T0: 3}


def test_an_aborted_transaction_is_shown_to_nobody_who_reads_committed() -> None:
    kafka = FakeKafka()
    client = opened(kafka, b"1")
    client.send_offsets({T0: Committed(1)}, "g")
    client.abort()
    assert (values(kafka), values(kafka, committed=False), kafka.offsets("g")) == ([], [b"1"], {})


def test_offsets_are_pending_until_the_transaction_ends() -> None:
    kafka = FakeKafka()
    client = opened(kafka)
    client.send_offsets({T0: Committed(7, "m")}, "g")
    with pytest.raises(RetriableError):
        kafka.consumer("g").committed([T0])
    client.commit()
    assert kafka.consumer("g").committed([T0]) == {T0: Committed(7, "m")}


def test_a_plain_commit_after_pending_offsets_outlives_them() -> None:
    kafka = FakeKafka()
    client = opened(kafka)
    client.send_offsets({T0: Committed(7)}, "g")
    kafka.consumer("g").commit({T0: Committed(3)})
    client.commit()
    assert kafka.offsets("g") == {T0: 3}


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.commit(),
        lambda client: client.abort(),
        lambda client: client.send_offsets({T0: Committed(1)}, "g"),
        lambda client: (client.produce("t", None, b"2"), client.flush()),
    ],
    ids=["commit", "abort", "send_offsets", "produce"],
)
def test_a_zombie_is_fenced_at_its_next_call(call: Callable[[FakeTransactional], object]) -> None:
    kafka = FakeKafka()
    zombie = opened(kafka, b"1")
    opened(kafka, b"2").commit()
    with pytest.raises(GenerationFenced):
        call(zombie)
    with pytest.raises(GenerationFenced):
        zombie.begin()
    assert values(kafka) == [b"2"]


def test_an_empty_transaction_of_a_zombie_commits_without_a_word() -> None:
    kafka = FakeKafka()
    zombie = opened(kafka)
    opened(kafka)
    zombie.commit()


def test_a_transaction_that_lasts_too_long_is_aborted_and_its_producer_fenced() -> None:
    clock = Clock()
    kafka = FakeKafka(clock, transaction_timeout_ms=1_000)
    client = opened(kafka, b"1")
    clock.wait(1_001)
    with pytest.raises(GenerationFenced):
        client.commit()
    assert values(kafka) == []
    opened(kafka, b"2").commit()
    assert values(kafka) == [b"2"]


def test_an_id_that_is_not_used_expires() -> None:
    clock = Clock()
    kafka = FakeKafka(clock, id_expiry_ms=1_000)
    client = opened(kafka, b"1")
    client.commit()
    clock.wait(1_001)
    client.begin()
    client.produce("t", None, b"2")
    with pytest.raises(AbortableError):
        client.flush()
    client.abort()
    client.begin()
    client.produce("t", None, b"3")
    client.commit()
    assert values(kafka) == [b"1", b"3"]


def test_an_expired_id_that_somebody_took_is_not_given_back() -> None:
    clock = Clock()
    kafka = FakeKafka(clock, id_expiry_ms=1_000)
    client = opened(kafka)
    clock.wait(1_001)
    opened(kafka, b"1").commit()
    client.produce("t", None, b"2")
    with pytest.raises(AbortableError):
        client.flush()
    with pytest.raises(GenerationFenced):
        client.abort()


def test_a_groups_offsets_expire() -> None:
    clock = Clock()
    kafka = FakeKafka(clock, offsets_retention_ms=1_000)
    consumer = kafka.consumer("g")
    consumer.commit({T0: Committed(1)})
    clock.wait(1_001)
    assert consumer.committed([T0]) == {T0: None}


def test_a_record_that_is_too_large_takes_its_batch_with_it_and_the_transaction_only_aborts() -> None:
    kafka = FakeKafka(max_message_bytes=5)
    client = opened(kafka, b"1")
    client.produce("t", None, b"2")
    client.produce("t", None, b"too large")
    with pytest.raises(AbortableError) as raised:
        client.flush()
    assert isinstance(raised.value.__cause__, ProduceFailed)
    with pytest.raises(AbortableError):
        client.send_offsets({T0: Committed(1)}, "g")
    with pytest.raises(CommitFailed):
        client.commit()
    client.abort()
    client.begin()
    client.produce("t", None, b"3")
    with pytest.raises(CommitFailed):
        client.commit()
    client.abort()
    opened(kafka, b"4").commit()
    assert values(kafka) == [b"4"]


def test_a_record_that_the_client_refuses_leaves_its_transaction_alone() -> None:
    kafka = FakeKafka()
    client = FakeTransactional(kafka, "id", max_request_bytes=5)
    client.init()
    client.begin()
    client.produce("t", None, b"1")
    client.produce("t", None, b"too large")
    with pytest.raises(ProduceFailed) as raised:
        client.flush()
    assert (raised.value.ordinals, raised.value.type) == ((1,), FailureType.MESSAGE_REJECTED)
    client.commit()
    assert values(kafka) == [b"1"]


def test_a_plain_producer_names_what_was_refused_or_lost() -> None:
    kafka = FakeKafka(max_message_bytes=5)
    kafka.create("t", 2)
    producer = kafka.producer()
    for partition, value in ((0, b"1"), (1, b"too large"), (1, b"2")):
        producer.produce("t", None, value, partition=partition)
    with pytest.raises(ProduceFailed) as raised:
        producer.flush()
    assert (raised.value.ordinals, raised.value.retriable, values(kafka)) == ((1, 2), False, [b"1"])
    once(kafka, "produce", Fault.BEFORE)
    producer.produce("t", None, b"3", partition=0)
    with pytest.raises(ProduceFailed) as raised:
        producer.flush()
    assert (raised.value.ordinals, raised.value.retriable, values(kafka)) == ((0,), True, [b"1"])


@pytest.mark.parametrize(("fault", "seen"), [(Fault.BEFORE, []), (Fault.AFTER, [b"1"]), (Fault.LATE, [])])
def test_a_commit_without_an_answer_may_or_may_not_have_taken_place(fault: Fault, seen: list[bytes]) -> None:
    kafka = FakeKafka()
    client = opened(kafka, b"1")
    once(kafka, "end", fault)
    with pytest.raises(RetriableError):
        client.commit()
    assert values(kafka) == seen
    with pytest.raises(FatalError, match="_CONFLICT"):
        client.abort()
    client.commit()
    assert values(kafka) == [b"1"]


def test_a_late_commit_of_a_zombie_comes_too_late() -> None:
    kafka = FakeKafka()
    zombie = opened(kafka, b"1")
    once(kafka, "end", Fault.BEFORE)
    with pytest.raises(RetriableError):
        zombie.commit()
    successor = opened(kafka, b"2")
    with pytest.raises(GenerationFenced):
        zombie.commit()
    successor.commit()
    assert values(kafka) == [b"2"]


def test_a_late_request_takes_effect_before_the_next_of_anybody() -> None:
    kafka = FakeKafka()
    client = opened(kafka, b"1")
    once(kafka, "end", Fault.LATE)
    with pytest.raises(RetriableError):
        client.commit()
    kafka.transactional("another").init()
    assert values(kafka) == [b"1"]


def test_slow_markers_hold_readers_and_positions_back_after_the_commit() -> None:
    kafka = FakeKafka()
    kafka.slow_markers = True
    client = opened(kafka, b"1")
    client.send_offsets({T0: Committed(7)}, "g")
    client.commit()
    assert (values(kafka), kafka.offsets("g")) == ([], {})
    with pytest.raises(RetriableError):
        kafka.consumer("g").committed([T0])
    kafka.settle()
    assert (values(kafka), kafka.offsets("g")) == ([b"1"], {T0: 7})


def test_the_next_of_the_same_id_waits_for_slow_markers() -> None:
    kafka = FakeKafka()
    kafka.slow_markers = True
    opened(kafka, b"1").commit()
    opened(kafka)
    assert values(kafka) == [b"1"]


def test_a_position_whose_records_were_deleted_is_missing() -> None:
    kafka = FakeKafka()
    opened(kafka, b"1", b"2").commit()
    kafka.delete_before(T0, 1)
    consumer = kafka.consumer()
    consumer.assign({T0: 0})
    with pytest.raises(OffsetsMissing):
        consumer.poll(10, 0)
    assert (consumer.begin_offsets([T0]), values(kafka)) == ({T0: 1}, [b"2"])


def test_calls_that_the_protocol_forbids_are_bugs() -> None:
    client = FakeKafka().transactional("id")
    with pytest.raises(AssertionError):
        client.begin()
    client.init()
    with pytest.raises(AssertionError):
        client.produce("t", None, b"1")
    client.begin()
    with pytest.raises(AssertionError):
        client.begin()
    client.close()
    with pytest.raises(FatalError):
        client.commit()


def test_topics_are_made_with_their_partitions_and_limits() -> None:
    kafka = FakeKafka()
    admin = kafka.admin()
    assert admin.partitions("t") is None
    admin.create_topic("t", 3, 1, {"max.message.bytes": "5"})
    admin.create_topic("t", 9, 1)
    assert (admin.partitions("t"), admin.topics(), kafka.topics["t"].max_message_bytes) == (3, ["t"], 5)
