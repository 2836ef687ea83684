"""The data source's readers over an in-memory Kafka: ranges, filters, losses, and the offsets of streams."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence

import pytest
from pyspark.sql.datasource import DataSourceReader, EqualTo, Filter, GreaterThan, GreaterThanOrEqual, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from engine.dataframes import DeadLetters
from engine.dataframes.deadletters import FilteringReader, LetterReader, LetterStreamReader
from engine.dataframes.deadletters_filters import TICK
from engine.dataframes.deadletters_options import Offsets, SourceOptionError
from engine.dataframes.deadletters_records import LetterRange
from engine.dialects.letter_values import moment
from engine.errors import OffsetsMissing, RetriableError
from engine.record.record import TopicPartition
from tests.engine.dataframes.fake_clients import FIRST_MS, FakeClients, send, settings
from tests.support.fake_kafka import FakeAdmin, FakeKafka, Fault

SCHEMA = StructType().add("partition", "integer", nullable=False).add("offset", "long", nullable=False)
ORDERS = "orders.dlq"
ALL = ReadAllAvailable()
IMPATIENT = {"kafkaConsumer.pollTimeoutMs": "50"}


@pytest.fixture
def kafka() -> FakeKafka:
    """Two partitions of ten letters each."""
    made = FakeKafka()
    made.create(ORDERS, 2)
    for partition in (0, 1):
        send(made, ORDERS, range(10), partition)
    return made


def batch(kafka: FakeKafka, **options: str) -> LetterReader:
    return LetterReader(settings(**options), SCHEMA, FakeClients(kafka))


def stream(kafka: FakeKafka, **options: str) -> LetterStreamReader:
    return LetterStreamReader(settings(**options), SCHEMA, FakeClients(kafka))


def ranges(reader: LetterReader) -> list[tuple[int, int, int]]:
    return planned(reader.partitions())


def planned(parts: Sequence[InputPartition]) -> list[tuple[int, int, int]]:
    assert all(isinstance(part, LetterRange) for part in parts)
    return [(part.partition, part.start, part.end) for part in parts if isinstance(part, LetterRange)]


def offsets(*ends: int, topic: str = ORDERS) -> Offsets:
    return {topic: {str(number): end for number, end in enumerate(ends)}}


# Batches


def test_a_batch_reads_from_the_earliest_to_the_latest_offset_once(kafka: FakeKafka) -> None:
    reader = batch(kafka)
    assert ranges(reader) == [(0, 0, 10), (1, 0, 10)]
    rows = [row for part in reader.partitions() for one in reader.read(part) for row in one.to_pylist()]
    assert rows == [{"partition": number, "offset": at} for number in (0, 1) for at in range(10)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"maxRecordsPerPartition": "6"}, [(0, 0, 6), (0, 6, 10), (1, 0, 6), (1, 6, 10)]),
        ({"minPartitions": "3"}, [(0, 0, 7), (0, 7, 10), (1, 0, 7), (1, 7, 10)]),
        ({"minPartitions": "2", "maxRecordsPerPartition": "8"}, [(0, 0, 8), (0, 8, 10), (1, 0, 8), (1, 8, 10)]),
        ({"startingOffsets": json.dumps(offsets(3, -2)), "endingOffsets": json.dumps(offsets(-1, 4))},
         [(0, 3, 10), (1, 0, 4)]),
        ({"startingTimestamp": str(FIRST_MS + 3500), "endingTimestamp": str(FIRST_MS + 6000)}, [(0, 4, 6), (1, 4, 6)]),
        ({"startingTimestamp": str(FIRST_MS + 60_000)}, []),
        ({"startingTimestamp": str(FIRST_MS + 6000), "endingTimestamp": str(FIRST_MS)}, []),
    ],
)  # fmt: skip
def test_ranges_are_cut_by_the_options(
    kafka: FakeKafka, options: dict[str, str], expected: list[tuple[int, int, int]]
) -> None:
    assert ranges(batch(kafka, **options)) == expected


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "order.dlq"}, "subscribe = order.dlq: the topic does not exist; did you mean orders.dlq?"),
        ({"startingOffsets": '{"orders.dlq": {"0": 1}}'}, "orders.dlq-1 is missing"),
        ({"startingOffsets": json.dumps(offsets(0, 0, 0))}, "orders.dlq-2 is not subscribed to"),
        ({"endingOffsets": json.dumps(offsets(4, 11))}, "has offsets behind the end: orders.dlq-1 ends at 10"),
    ],
)  # fmt: skip
def test_topics_and_offsets_that_do_not_exist_are_refused(
    kafka: FakeKafka, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SourceOptionError) as refused:
        batch(kafka, **options).partitions()
    assert sentence in str(refused.value)


def test_a_pattern_is_javas_and_covers_whole_names_but_no_internal_topic(kafka: FakeKafka) -> None:
    for name in ("refunds.dlq", "refunds.dlq.old", "__internal.dlq"):
        kafka.create(name)
        send(kafka, name, range(1))
    found = batch(kafka, subscribePattern=r"\w+\.dlq").partitions()
    assert sorted({part.topic for part in found if isinstance(part, LetterRange)}) == [ORDERS, "refunds.dlq"]
    assert batch(kafka, subscribePattern="nothing.*").partitions() == []


def test_a_partition_that_spark_makes_up_has_no_letter(kafka: FakeKafka) -> None:
    assert list(batch(kafka).read(InputPartition(None))) == []


@pytest.mark.parametrize(
    ("filters", "polled"),
    [
        ([EqualTo(("topic",), "other")], []),
        ([EqualTo(("partition",), 1), GreaterThan(("offset",), 7)], [(1, 8), (1, 9)]),
        ([GreaterThanOrEqual(("timestamp",), moment(FIRST_MS + 8000)), EqualTo(("partition",), 0)], [(0, 8), (0, 9)]),
        ([GreaterThan(("timestamp",), moment(FIRST_MS + 9000))], []),
    ],
)
def test_only_offsets_that_can_pass_are_read_from_kafka(
    kafka: FakeKafka, filters: list[Filter], polled: list[tuple[int, int]]
) -> None:
    clients = FakeClients(kafka)
    reader = FilteringReader(settings(), SCHEMA, clients)
    assert list(reader.pushFilters([*filters, kept := EqualTo(("stage",), "TASK_PUT")])) == [kept]
    for part in reader.partitions():
        list(reader.read(part))
    assert clients.polled == [(ORDERS, *place) for place in polled]


def test_messages_that_do_not_pass_are_not_decoded(kafka: FakeKafka) -> None:
    clients = FakeClients(kafka)
    reader = FilteringReader(settings(), StructType().add("offset", "long", nullable=False), clients)
    at = moment(FIRST_MS + 2000)
    assert at is not None
    reader.pushFilters([GreaterThanOrEqual(("timestamp",), at - TICK), EqualTo(("timestamp",), at)])
    rows = [row for part in reader.partitions() for one in reader.read(part) for row in one.to_pylist()]
    assert rows == [{"offset": 2}, {"offset": 2}]


def test_filters_are_pushed_only_by_an_option_because_spark_keeps_them_for_later_queries() -> None:
    options = {"kafka.bootstrap.servers": "fake:9092", "subscribe": ORDERS}
    plain = DeadLetters(options).reader(SCHEMA)
    assert type(plain).pushFilters is DataSourceReader.pushFilters
    assert isinstance(DeadLetters({**options, "pushFilters": "true"}).reader(SCHEMA), FilteringReader)


def test_readers_travel_to_spark_tasks() -> None:
    source = DeadLetters({"kafka.bootstrap.servers": "fake:9092", "subscribe": ORDERS})
    assert source.schema().fieldNames()[:3] == ["topic", "partition", "offset"]
    for reader in (source.reader(SCHEMA), source.streamReader(SCHEMA)):
        assert type(pickle.loads(pickle.dumps(reader))) is type(reader)
    part = LetterRange(ORDERS, 0, 1, 2)
    assert pickle.loads(pickle.dumps(part)) == part


# Losses


def test_letters_that_kafka_deletes_while_a_task_reads_fail_it_unless_losses_are_allowed(kafka: FakeKafka) -> None:
    part = LetterRange(ORDERS, 0, 0, 10)
    kafka.delete_before(TopicPartition(ORDERS, 0), 6)
    with pytest.raises(OffsetsMissing, match="deleted offsets from 0 on; failOnDataLoss=false reads on"):
        list(batch(kafka).read(part))
    lenient = batch(kafka, failOnDataLoss="false")
    assert [row["offset"] for one in lenient.read(part) for row in one.to_pylist()] == [6, 7, 8, 9]
    assert list(lenient.read(LetterRange(ORDERS, 0, 12, 20))) == []  # the topic was created anew, with fewer


def test_brokers_that_stay_away_end_a_task_in_time_and_in_one_sentence(kafka: FakeKafka) -> None:
    kafka.faults = lambda call: Fault.BEFORE if call == "fetch" else None
    reader = batch(kafka, **IMPATIENT)
    with pytest.raises(RetriableError, match=r"Kafka at fake:9092 did not answer .*orders.dlq-0 at offset 0"):
        list(reader.read(LetterRange(ORDERS, 0, 0, 10)))
    kafka.faults = lambda call: None
    with pytest.raises(RetriableError, match=r"sent nothing from offset 10 on within 0\.05 s; see whether they run"):
        list(reader.read(LetterRange(ORDERS, 0, 0, 11)))


def test_a_partition_without_a_leader_is_named(kafka: FakeKafka) -> None:
    class Leaderless(FakeAdmin):
        def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
            return super().end_offsets([one for one in partitions if one.partition != 1])

    class LeaderlessClients(FakeClients):
        def topics(self) -> FakeAdmin:
            return Leaderless(self.kafka)

    reader = LetterReader(settings(**IMPATIENT), SCHEMA, LeaderlessClients(kafka))
    with pytest.raises(RetriableError, match=r"orders\.dlq-1 has no leader at the moment; try again"):
        reader.partitions()


# Streams


def test_a_stream_begins_at_the_latest_offset_unless_told_otherwise(kafka: FakeKafka) -> None:
    assert stream(kafka).initialOffset() == offsets(10, 10)
    assert stream(kafka, startingOffsets="earliest").initialOffset() == offsets(0, 0)
    assert stream(kafka, startingTimestamp=str(FIRST_MS + 4000)).initialOffset() == offsets(4, 4)
    assert stream(kafka, subscribePattern="none").initialOffset() == {}


def test_a_stream_reads_what_arrives_between_two_offsets(kafka: FakeKafka) -> None:
    reader = stream(kafka)
    start = reader.initialOffset()
    assert reader.latestOffset(start, ALL) == start
    assert reader.partitions(start, start) == []
    send(kafka, ORDERS, range(10, 13), partition=1)
    end = reader.latestOffset(start, ALL)
    assert end == reader.reportLatestOffset() == offsets(10, 13)
    parts = list(reader.partitions(start, end))
    assert planned(parts) == [(1, 10, 13)]
    assert [row["offset"] for one in reader.read(parts[0]) for row in one.to_pylist()] == [10, 11, 12]


def test_a_micro_batch_has_a_limit_that_partitions_share(kafka: FakeKafka) -> None:
    send(kafka, ORDERS, range(10, 40), partition=1)
    reader = stream(kafka, maxOffsetsPerTrigger="10")
    assert reader.getDefaultReadLimit() == ReadMaxRows(10)
    assert stream(kafka).getDefaultReadLimit() == ALL
    assert reader.latestOffset(offsets(0, 0), ReadMaxRows(10)) == offsets(2, 8)
    assert reader.latestOffset(offsets(9, 0), ReadMaxRows(10)) == offsets(10, 9)  # a small share is at least one
    assert reader.latestOffset(offsets(0, 0), ALL) == offsets(10, 40)


def test_new_topics_and_partitions_are_read_from_their_beginning(kafka: FakeKafka) -> None:
    reader = stream(kafka, subscribePattern=r".*\.dlq")
    start = reader.initialOffset()
    kafka.create("refunds.dlq")
    send(kafka, "refunds.dlq", range(5))
    limit = ReadMaxRows(3)
    end = reader.latestOffset(start, limit)
    assert end == {**start, **offsets(3, topic="refunds.dlq")}
    assert planned(reader.partitions(start, end)) == [(0, 0, 3)]
    assert reader.latestOffset(end, limit) == {**start, **offsets(5, topic="refunds.dlq")}


def test_available_now_ends_at_the_offsets_of_its_start(kafka: FakeKafka) -> None:
    reader = stream(kafka, subscribePattern=r".*\.dlq", startingOffsets="earliest")
    reader.prepareForTriggerAvailableNow()
    send(kafka, ORDERS, range(10, 15))
    kafka.create("refunds.dlq")
    send(kafka, "refunds.dlq", range(5))
    assert reader.latestOffset(offsets(0, 0), ReadMaxRows(4)) == offsets(2, 2)
    assert reader.latestOffset(offsets(2, 2), ALL) == offsets(10, 10)
    assert reader.latestOffset(offsets(12, 10), ALL) == offsets(12, 10)  # it never goes back
    assert reader.latestOffset(offsets(30, 10), ALL) == offsets(15, 10)  # unless the topic has, which is a loss


@pytest.mark.parametrize(
    ("start", "end", "left", "sentence"),
    [
        (offsets(2, 10), offsets(10, 10), [(0, 6, 10)], "Kafka has deleted the offsets from 2 to 5"),
        (offsets(2, 10), offsets(4, 10), [], "Kafka has deleted the offsets from 2 to 3"),
        ({}, offsets(10), [(0, 6, 10)], "Kafka has deleted the offsets from 0 to 5"),
        (offsets(20, 10), offsets(10, 10), [], "it ends at 10, before offset 20, so it was created anew"),
        (offsets(10, 10), offsets(10), [], "the partition is gone"),
    ],
)
def test_a_loss_fails_a_stream_unless_losses_are_allowed(
    kafka: FakeKafka, start: Offsets, end: Offsets, left: list[tuple[int, int, int]], sentence: str
) -> None:
    kafka.delete_before(TopicPartition(ORDERS, 0), 6)
    with pytest.raises(OffsetsMissing, match=sentence):
        stream(kafka).partitions(start, end)
    assert planned(stream(kafka, failOnDataLoss="false").partitions(start, end)) == left


def test_a_topic_that_is_deleted_while_a_stream_runs_is_a_loss(kafka: FakeKafka) -> None:
    reader = stream(kafka, **IMPATIENT)
    start = reader.initialOffset()
    del kafka.topics[ORDERS]
    end = reader.latestOffset(start, ALL)
    assert end == {}
    with pytest.raises(OffsetsMissing, match=r"orders\.dlq-[01]: the partition is gone"):
        reader.partitions(start, end)


def test_offsets_have_one_order_because_spark_compares_them_as_text(kafka: FakeKafka) -> None:
    kafka.create("a.dlq", 11)
    found = stream(kafka, subscribe="orders.dlq,a.dlq").initialOffset()
    assert json.dumps(found) == json.dumps({"a.dlq": {str(n): 0 for n in range(11)}, **offsets(10, 10)})


def test_a_reader_opens_a_client_again_after_its_stop(kafka: FakeKafka) -> None:
    reader = stream(kafka)
    assert reader.initialOffset() == offsets(10, 10)
    reader.stop()
    assert reader.latestOffset(offsets(10, 10), ALL) == offsets(10, 10)


def test_a_stream_outlasts_brokers_that_are_away_for_a_moment(kafka: FakeKafka) -> None:
    away = iter([Fault.BEFORE] * 3)
    kafka.faults = lambda call: next(away, None)
    reader = stream(kafka)
    assert reader.initialOffset() == offsets(10, 10)
    away = iter([Fault.BEFORE])
    assert reader.latestOffset(offsets(10, 10), ALL) == offsets(10, 10)
    away = iter([Fault.BEFORE])
    assert planned(reader.partitions(offsets(9, 10), offsets(10, 10))) == [(0, 9, 10)]
    away = iter([Fault.BEFORE])
    assert sum(one.num_rows for one in reader.read(LetterRange(ORDERS, 0, 0, 10))) == 10


def test_a_topic_that_a_starting_broker_does_not_know_yet_is_not_lost(kafka: FakeKafka) -> None:
    reader = stream(kafka)
    topic, looks = kafka.topics[ORDERS], iter(range(10))

    def forget_at_first(call: str) -> None:
        kafka.topics.pop(ORDERS, None)
        if next(looks) > 3:
            kafka.topics[ORDERS] = topic

    kafka.faults = forget_at_first
    assert reader.latestOffset(offsets(10, 10), ALL) == offsets(10, 10)
