"""MirrorMaker 2 as Kafka's own tests assert it, case by case; those between two clusters are in tests/broker."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine.connectors.mirror.connector_plan import Mirror
from engine.connectors.mirror.offset_sync import BEFORE_ALL, OffsetSync, OffsetSyncStore, OffsetSyncWriter
from engine.connectors.mirror.sink import MirrorSink, OffsetRanges
from engine.connectors.mirror.source_positions import parse_offset, position_problem
from engine.errors import DataError
from engine.record.record import RawRecord, Record, TopicPartition
from tests.fakes import Producer

AT = TopicPartition("topic1", 2)
COMMITTED, UNCOMMITTED, GARBAGE = "read_committed", "read_uncommitted", "read_garbage"
PARTITION = {"cluster": "A", "topic": "t", "partition": 0}
EXACT = [1000, 4840, 6760, 8680, 9160, 9640, 9880, 9940, 9970, 9990, 10000]


@pytest.mark.parametrize("plain", [None, COMMITTED, UNCOMMITTED, GARBAGE])
@pytest.mark.parametrize("source", [None, COMMITTED, UNCOMMITTED, GARBAGE])
def test_exactly_once_needs_a_consumer_that_reads_committed_records(plain: str | None, source: str | None) -> None:
    """M-01, MirrorSourceConnectorTest#testExactlyOnceSupport. With neither set it is supported: here the default is
    read_committed.
    """
    options = {"consumer.isolation.level": plain, "source.consumer.isolation.level": source}
    given = {name: value for name, value in options.items() if value is not None}
    assert Mirror.exactly_once_support(given) is ((source or plain or COMMITTED) == COMMITTED)


@pytest.mark.parametrize("value", ["nan", None, {}, 3.14, -420, "-420", "10", True])
def test_what_is_no_offset_is_refused(value: Any) -> None:
    """M-03, MirrorSourceConnectorTest#testAlterOffsetsOffsetValues."""
    with pytest.raises(DataError):
        parse_offset({"offset": value})
    assert "is not a valid offset" in str(position_problem(PARTITION, {"offset": value}))


@pytest.mark.parametrize("value", [0, 10, 2147483648])
def test_an_offset_is_a_whole_number(value: int) -> None:
    assert parse_offset({"offset": value}) == value
    assert position_problem(PARTITION, {"offset": value}) is None


@pytest.mark.parametrize(
    "change", [{"cluster": 1}, {"partition": "0"}, {"partition": -1}, {"more": 1}, {"topic": None}]
)
def test_what_names_no_partition_is_refused(change: dict[str, Any]) -> None:
    assert position_problem(PARTITION, None) is None
    assert position_problem({**PARTITION, **change}, None) is not None


def test_records_keep_key_value_headers_and_partition() -> None:
    """M-06, MirrorSourceTaskTest#testPoll: here the records are put, not polled."""
    producer = Producer()
    headers = (("h1", b"\x01"), ("h2", b"\x02"))
    raws = [RawRecord("topic1", 2, at, 1000 + at, "CREATE_TIME", b"k%d" % at, b"v%d" % at, headers) for at in range(2)]
    put = MirrorSink(producer, lambda _: None, None, flushes=True)
    put.put([
        Record("cluster7.topic1", one.partition, one.timestamp, one.key, one.value, raw=one, offset=one.offset,
               headers=tuple((name, None, value) for name, value in headers))
        for one in raws
    ])  # fmt: skip
    assert producer.records == [
        ("cluster7.topic1", b"k0", b"v0", headers, 1000),
        ("cluster7.topic1", b"k1", b"v1", headers, 1001),
    ]


def test_a_sync_waits_while_too_many_are_on_their_way() -> None:
    """M-11, OffsetSyncWriterTest#testFirePendingOffsetSyncs."""
    taken: list[OffsetSync] = []

    def send(sync: OffsetSync) -> bool:
        if taken:
            return False
        taken.append(sync)
        return True

    writer = OffsetSyncWriter(send, 50)
    writer.add(OffsetSync(AT, 0, 100))
    writer.send_pending()
    writer.add(OffsetSync(AT, 100, 200))
    writer.send_pending()
    assert [sync.downstream for sync in taken] == [100]
    assert list(writer.pending) == [AT]


def test_delayed_syncs_are_sent_when_they_are_promoted() -> None:
    """M-12, OffsetSyncWriterTest#testPromoteDelayedOffsetSyncs."""
    writer = OffsetSyncWriter(lambda _: True, 50)
    writer.add(OffsetSync(AT, 0, 100))
    writer.add(OffsetSync(AT, 1, 101))
    writer.promote()
    assert writer.delayed == {}
    assert writer.pending == {AT: OffsetSync(AT, 1, 101)}


def test_nothing_is_translated_before_the_syncs_are_read() -> None:
    """M-14, OffsetSyncStoreTest#testNoTranslationIfStoreNotStarted."""
    store = OffsetSyncStore()
    store.add(OffsetSync(AT, 100, 200))
    assert [store.translate(AT, at) for at in (0, 100, 200)] == [None, None, None]
    store.started()
    assert [store.translate(AT, at) for at in (0, 100, 200)] == [BEFORE_ALL, 200, 201]


def test_nothing_is_translated_without_a_sync() -> None:
    """M-15, OffsetSyncStoreTest#testNoTranslationIfNoOffsetSync."""
    store = OffsetSyncStore()
    store.started()
    assert store.translate(AT, 0) is None


def test_positions_far_behind_are_translated_less_exactly() -> None:
    """M-16, OffsetSyncStoreTest#testPastOffsetTranslation."""
    store = OffsetSyncStore()
    for at in range(0, 1001, 10):
        store.add(OffsetSync(AT, at, at))
    store.started()
    assert [store.translate(AT, at) for at in (5, 995)] == [BEFORE_ALL, BEFORE_ALL]
    for at in range(1010, 10001, 10):
        store.add(OffsetSync(AT, at, at))
    exact = [at for at in range(0, 10001, 5) if store.translate(AT, at) == at]
    assert [at for at in range(0, 1000, 5) if store.translate(AT, at) != BEFORE_ALL] == []
    assert {at: store.translate(AT, at) for at in EXACT} == {at: at for at in EXACT}
    assert [sync.upstream for sync in store.syncs(AT)] == EXACT[::-1]
    assert set(exact) - set(EXACT) == {at + 1 for at in EXACT if (at + 1) % 5 == 0}
    store.add(OffsetSync(AT, 1500, 11000))  # the source went back
    assert [store.translate(AT, at) for at in (1499, 2000)] == [BEFORE_ALL, 11001]


@pytest.mark.parametrize("step", [*range(1, 20), 50, 64, 100, 127, 1000, 4096, 12345])
def test_each_sync_makes_at_most_one_other_be_forgotten(step: int) -> None:
    """M-17, OffsetSyncStoreTest#testConsistentlySpacedSyncs."""
    assert most_forgotten([at * step for at in range(1, 101)]) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_gaps_make_at_most_two_be_forgotten(seed: int) -> None:
    """M-19, OffsetSyncStoreTest#testDroppedSyncsSpacing."""
    dice = random.Random(seed)
    at, steps = 0, []
    for _ in range(10_000):
        at += dice.choice((100, 200))
        steps.append(at)
    assert most_forgotten(steps) <= 2


def most_forgotten(offsets: list[int]) -> int:
    """By how many syncs at most the store shrank with one more."""
    store = OffsetSyncStore()
    store.started()
    worst = 0
    for at in offsets:
        before = len(store.syncs(AT))
        store.add(OffsetSync(AT, at, at))
        worst = max(worst, before - len(store.syncs(AT)))
        assert store.syncs(AT)[0].upstream == at
    return worst


def test_spans_become_syncs_of_the_first_and_the_last_record() -> None:
    spans = OffsetRanges()
    raws = [RawRecord("t", 1, at, 0, "CREATE_TIME", None, b"") for at in (3, 4, 7)]
    spans.add([Record("A.t", 1, 0, None, b"", raw=one) for one in raws])
    spans.add([Record("elsewhere", 1, 0, None, b"", raw=raws[0])])
    written = {TopicPartition("A.t", 1): (88, 90), TopicPartition("elsewhere", 1): (5, 5)}
    origin = TopicPartition("t", 1)
    assert spans.syncs(written, "A.{}".format) == ([OffsetSync(origin, 3, 88)], [(OffsetSync(origin, 7, 90), 4)])
    assert spans.syncs(written, "A.{}".format) == ([], [])


def test_of_records_that_came_out_of_order_nothing_is_said() -> None:
    spans = OffsetRanges()
    raws = [RawRecord("t", 1, at, 0, "CREATE_TIME", None, b"") for at in (4, 5, 3)]
    spans.add([Record("A.t", 1, 0, None, b"", raw=one) for one in raws])
    assert spans.syncs({TopicPartition("A.t", 1): (88, 90)}, "A.{}".format) == ([], [])
