"""Guarded streams over a real broker: each record ends in the table or in the dead letter topic, once."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from engine.dataframes import DeadLetterQueue
from engine.errors import ConfigError, GenerationFenced, LimitExceeded
from engine.record.query_status import QueryState, decode
from tests.spark.engine_process import Topics

SCHEMA = "id long, total decimal(10,2)"


def parse_order(record: Any) -> dict[str, Any]:
    order = json.loads(record.value)
    return {"id": order["id"], "total": Decimal(order["total"])}


def orders(count: int, bad: set[int]) -> list[bytes]:
    return [b"{" if n in bad else json.dumps({"id": n, "total": f"{n}.50"}).encode() for n in range(count)]


def place(letter: Any) -> tuple[int, int]:
    """The coordinates of a letter's record; the record itself stands for them if it was not converted yet."""
    record = letter.get("original_record") or letter["record"]
    return record["partition"], record["offset"]


class World:
    """A source topic, a table and a checkpoint."""

    def __init__(self, spark: SparkSession, broker: str, topics: Topics, folder: Path) -> None:
        self.spark = spark
        self.broker = broker
        self.topics = topics
        self.topic = topics.create(2)
        self.letters_topic = f"{self.topic}.dlq"
        self.checkpoint = str(folder / "checkpoint")
        self.table = folder / "table"

    def queue(self, **options: Any) -> DeadLetterQueue:
        given = {
            "bootstrap.servers": self.broker,
            "errors.deadletterqueue.include.messages": True,
            **{name.replace("__", "."): value for name, value in options.items()},
        }
        return DeadLetterQueue(self.spark, topic=self.letters_topic, options=given)

    def stream(self, **options: str) -> DataFrame:
        reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.broker)
        reader = reader.option("subscribe", self.topic).option("startingOffsets", "earliest")
        return reader.option("includeHeaders", "true").options(**options).load()

    def save(self, batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(f"{self.table}/batch={number}")

    def ids(self) -> list[int]:
        return sorted(row.id for row in self.spark.read.parquet(str(self.table)).select("id").collect())

    def letters(self) -> list[Any]:
        return self.topics.read(self.letters_topic)


@pytest.fixture
def world(spark: SparkSession, broker: str, topics: Topics, tmp_path: Path) -> World:
    return World(spark, broker, topics, tmp_path)


def test_each_record_ends_in_the_table_or_in_the_dead_letter_topic(world: World) -> None:
    bad = {3, 4, 17, 39}
    world.topics.write(world.topic, orders(40, bad), partitions=2)
    job = world.queue(errors__tolerance__limit=10).guard(world.stream(maxOffsetsPerTrigger="15"), parse_order, SCHEMA)
    query = job.then(world.save).start(world.checkpoint, availableNow=True)
    query.awaitTermination()
    assert world.ids() == sorted(set(range(40)) - bad)
    letters = world.letters()
    places = {place(one) for one in letters}
    assert places == {(n % 2, n // 2) for n in bad}
    assert len(letters) == len(bad)
    assert {one["exception_class"] for one in letters} == {"json.decoder.JSONDecodeError"}
    figures = query.batches.figures
    assert figures["records-consumed"] == 40
    assert figures["records-delivered"] == 36
    assert figures["records-dead-lettered"] == 4


def run(world: World, *, limit: int, table: Path | None = None) -> Any:
    """Run the stream to its present end, in micro-batches of about ten records."""
    frame = world.stream(maxOffsetsPerTrigger="10")
    job = world.queue(errors__tolerance__limit=limit).guard(frame, parse_order, SCHEMA)
    query = job.then(world.save).start(world.checkpoint, availableNow=True)
    query.awaitTermination()
    return query


def test_limits_count_over_restarts_and_a_batch_that_exceeds_them_writes_nothing(world: World) -> None:
    world.topics.write(world.topic, orders(20, {1, 2}), partitions=2)
    run(world, limit=3)
    assert len(world.letters()) == 2
    written = world.ids()
    world.topics.write(world.topic, orders(4, {1, 2}), partitions=2)
    with pytest.raises(LimitExceeded, match=r"PROCESSOR \(.*parse_order\) failed on t-.* at offset") as raised:
        run(world, limit=3)
    assert json.loads(raised.value.context)["exception_class"] == "json.decoder.JSONDecodeError"
    assert world.ids() == written
    assert len(world.letters()) == 2
    query = run(world, limit=4)  # two before and two now
    assert len(world.letters()) == 4
    assert query.batches.state.tolerance.total == 4


def test_a_repeated_micro_batch_writes_its_letters_once_and_a_new_checkpoint_begins_anew(world: World) -> None:
    world.topics.write(world.topic, orders(8, {1, 5}), partitions=2)
    run(world, limit=100)
    for name in ("0", ".0.crc"):  # as if the driver had died before Spark noted the end of the batch
        Path(world.checkpoint, "commits", name).unlink()
    query = run(world, limit=100)
    assert query.batches.last_batch == 0
    assert len(world.letters()) == 2
    assert query.batches.state.tolerance.total == 2
    world.checkpoint += "-new"
    run(world, limit=100)
    assert len(world.letters()) == 4


def test_a_repeated_micro_batch_that_stops_early_writes_nothing(world: World) -> None:
    world.topics.write(world.topic, orders(8, {1, 5}), partitions=2)
    run(world, limit=100)
    written = world.ids()
    for name in ("0", ".0.crc"):
        Path(world.checkpoint, "commits", name).unlink()
    with pytest.raises(LimitExceeded):
        run(world, limit=0)  # one task alone exceeds it, and so leaves its other records out
    assert world.ids() == written


def test_counters_of_batches_without_errors_are_stored_at_the_end(world: World) -> None:
    world.topics.write(world.topic, orders(30, set()), partitions=2)
    run(world, limit=1)
    world.topics.write(world.topic, orders(5, set()), partitions=2)
    assert run(world, limit=1).batches.figures["records-delivered"] == 35


def test_replayed_records_are_reported_with_their_outcomes(world: World) -> None:
    replay = (("dlq.replay.id", b"r1"), ("dlq.replay.attempt", b"1"))
    world.topics.write(world.topic, [b"{"], headers=(*replay, ("dlq.replay.item", b"i1")))
    later = [b'{"id": 7, "total": "1.00"}', b'{"id": 8, "total": "1.00"}']
    world.topics.write(world.topic, later, headers=(*replay, ("dlq.replay.item", b"i2")))
    outcomes = f"{world.topic}.outcomes"
    queue = world.queue(errors__tolerance__limit=5, outcome__storage__topic=outcomes)
    job = queue.guard(world.stream(), parse_order, SCHEMA).expect("id <> 8", name="not eight")
    job.then(world.save).start(world.checkpoint, availableNow=True).awaitTermination()
    reports = sorted((one["offset"], one["item"], one["outcome"]) for one in world.topics.read(outcomes))
    assert reports == [(0, "i1", "dead_lettered"), (1, "i2", "delivered"), (2, "i2", "dead_lettered")]
    assert {one["connector"] for one in world.topics.read(outcomes)} == {world.topic}


def test_a_second_query_of_the_same_name_fences_the_first(world: World) -> None:
    world.topics.write(world.topic, orders(2, {1}), partitions=2)
    first = world.queue(errors__tolerance__limit=5).guard(world.stream(), parse_order, SCHEMA)
    running = first.then(world.save).start(world.checkpoint)
    running.processAllAvailable()
    with pytest.raises(ConfigError, match="is the name of a running query of this session"):
        first.then(world.save).start(world.checkpoint + "-second")
    world.spark = world.spark.newSession()
    second = world.queue(errors__tolerance__limit=5).guard(world.stream(), parse_order, SCHEMA)
    second.then(world.save).start(world.checkpoint + "-second", availableNow=True).awaitTermination()
    world.topics.write(world.topic, [b"{"])
    with pytest.raises(GenerationFenced, match="another query has taken over the name"):
        running.awaitTermination(60)


def test_a_query_reports_itself_to_the_status_topic_until_its_end(world: World) -> None:
    world.topics.write(world.topic, orders(20, {1, 2}), partitions=2)
    statuses = f"{world.topic}.status"
    queue = world.queue(errors__tolerance__limit=3, status__storage__topic=statuses)
    job = queue.guard(world.stream(), parse_order, SCHEMA, stage="parse")
    running = job.then(world.save).start(world.checkpoint)
    running.processAllAvailable()
    running.stop()
    first, *_, last = [decode(orjson.dumps(one)) for one in world.topics.read(statuses)]
    assert first is not None
    assert last is not None
    assert (first.state, last.state) == (QueryState.RUNNING, QueryState.STOPPED)
    assert last.name == world.topic
    assert last.topics == (world.topic,)
    assert last.dlq_topic == world.letters_topic
    assert last.tolerance["used"] == 2
    assert (last.good, last.batch, last.lag) == (18, 0, 0)
    assert [(stage.type, stage.name) for stage in last.stages] == [("PROCESSOR", "parse"), ("TASK_PUT", "")]
    world.topics.write(world.topic, orders(2, {0, 1}), partitions=2)
    with pytest.raises(LimitExceeded):
        job.then(world.save).start(world.checkpoint, availableNow=True).awaitTermination()
    failed = decode(orjson.dumps(world.topics.read(statuses)[-1]))
    assert failed is not None
    assert failed.state is QueryState.FAILED
    assert failed.trace is not None
    assert failed.trace.startswith("Tolerance exceeded: PROCESSOR (parse) failed on")


def test_a_query_that_sparks_own_handle_stops_is_not_reported_as_finished(world: World) -> None:
    world.topics.write(world.topic, orders(2, set()), partitions=2)
    statuses = f"{world.topic}.status"
    job = world.queue(status__storage__topic=statuses).guard(world.stream(), parse_order, SCHEMA).then(world.save)
    running = job.start(world.checkpoint)
    running.processAllAvailable()
    [of_spark] = [query for query in world.spark.streams.active if query.name == world.topic]
    of_spark.stop()
    running.awaitTermination()
    stopped = decode(orjson.dumps(world.topics.read(statuses)[-1]))
    job.start(world.checkpoint, availableNow=True).awaitTermination()
    finished = decode(orjson.dumps(world.topics.read(statuses)[-1]))
    assert stopped is not None
    assert finished is not None
    assert (stopped.state, finished.state) == (QueryState.STOPPED, QueryState.FINISHED)


def test_a_failed_python_worker_is_reported_by_its_class_without_values(world: World) -> None:
    world.topics.write(world.topic, orders(2, set()), partitions=2)
    statuses = f"{world.topic}.status"
    card = udf(lambda _: int("4111 1111"))

    def save(batch: DataFrame, _number: int) -> None:
        batch.select(card("id")).collect()

    job = world.queue(status__storage__topic=statuses).guard(world.stream(), parse_order, SCHEMA).then(save)
    with pytest.raises(PySparkException):
        job.start(world.checkpoint, availableNow=True).awaitTermination()
    failed = decode(orjson.dumps(world.topics.read(statuses)[-1]))
    assert failed is not None
    assert failed.trace == "A Python worker of Spark failed: ValueError. The driver's log has the traceback."
