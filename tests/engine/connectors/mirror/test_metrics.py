"""Figures of mirrored records, as MirrorMaker 2's MirrorSourceMetrics counts them."""

from __future__ import annotations

from engine.connectors.mirror.metrics import MirroredRecords
from engine.record.mirrored import Durations, MirroredPartition
from engine.record.record import Record, TopicPartition
from tests.fakes import Clock

AT = TopicPartition("A.t", 0)


def record(value: bytes | None, timestamp: int | None, partition: int | None = 0) -> Record:
    return Record("A.t", partition, timestamp, None, value)


def records_of(clock: Clock, *, transactional: bool = False) -> MirroredRecords:
    return MirroredRecords("A", "B", clock, transactional=transactional)


def test_records_bytes_ages_and_latencies_are_counted_by_partition() -> None:
    clock = Clock(10_000)
    records = records_of(clock)
    records.put([record(b"1234", 9_000), record(None, 9_900), record(b"12", 9_500), record(b"x", 9_000, partition=1)])
    clock.time_ms = 10_050
    records.acknowledged(AT)
    records.acknowledged(TopicPartition("A.t", 1))
    clock.time_ms = 10_500
    records.committed()
    figures = records.report()
    assert (figures.source, figures.target) == ("A", "B")
    assert figures.partitions == {
        "A.t-0": MirroredPartition(3, 6, Durations(3, 1_600, 500, 100, 1_000), Durations(3, 1_750, 550, 150, 1_050)),
        "A.t-1": MirroredPartition(1, 1, Durations(1, 1_000, 1_000, 1_000, 1_000), Durations(1, *[1_050] * 4)),
    }


def test_in_a_transaction_the_latency_ends_with_the_commit() -> None:
    clock = Clock(10_000)
    records = records_of(clock, transactional=True)
    records.put([record(b"1", 9_000)])
    records.acknowledged(AT)
    clock.time_ms = 10_500
    records.committed()
    latency = records.report().partitions["A.t-0"].latency
    assert latency is not None
    assert latency.last == 1_500


def test_a_put_that_is_not_committed_is_not_counted() -> None:
    records = records_of(Clock())
    records.put([record(b"1", 1)])
    assert records.report().partitions == {}


def test_counts_grow_and_durations_are_those_since_the_previous_report() -> None:
    clock = Clock(10_000)
    records = records_of(clock)
    for timestamp in (1_000, 9_000):
        records.put([record(b"1", timestamp)])
        records.committed()
        last = records.report().partitions["A.t-0"]
    assert (last.records, last.bytes, last.age) == (2, 2, Durations(1, *[1_000] * 4))
    assert records.report().partitions["A.t-0"] == MirroredPartition(2, 2)


def test_records_without_a_timestamp_have_no_age() -> None:
    records = records_of(Clock())
    records.put([record(b"1", None), record(b"1", -1)])
    records.committed()
    assert records.report().partitions["A.t-0"] == MirroredPartition(2, 2)


def test_records_whose_partition_the_client_chooses_belong_to_none() -> None:
    records = records_of(Clock())
    records.put([record(b"1", 1, partition=None)])
    records.committed()
    assert records.report().partitions == {}


def test_after_a_repeated_put_the_last_acknowledgement_counts() -> None:
    clock = Clock(10_000)
    records = records_of(clock)
    records.acknowledged(AT)  # of a put that failed
    clock.time_ms = 10_100
    records.put([record(b"1", 10_000)])
    records.acknowledged(AT)
    clock.time_ms = 11_000
    records.committed()
    assert records.report().partitions["A.t-0"].latency == Durations(1, *[100] * 4)


def test_a_task_that_is_opened_again_reports_what_was_not_reported() -> None:
    clock = Clock(10_000)
    first = records_of(clock)
    first.put([record(b"1", 1_000)])
    first.committed()
    first.report()
    first.put([record(b"123", 2_000)])
    first.committed()
    again = MirroredRecords("A", "B", clock, transactional=False, unreported=first.unreported)
    assert again.report().partitions["A.t-0"] == MirroredPartition(1, 3, *[Durations(1, *[8_000] * 4)] * 2)
