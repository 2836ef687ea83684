"""Real Spark reads dead letters from a real broker by `format("deadletters")`, as batches and as streams."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from dlqadmin.host.network import free_ports
from engine.dataframes import DeadLetters
from engine.record.record import RawRecord
from tests.engine.dataframes.deadletter_rows import ODD, indexed, recorded
from tests.spark.test_read_from_spark import PAGE

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

WAIT_S = 60
SECRET = "sesame-7c1f"


@pytest.fixture(scope="module", autouse=True)
def _registered(spark: SparkSession) -> None:
    spark.dataSource.register(DeadLetters)


class WrittenTopic:
    """A dead letter topic of a test."""

    def __init__(self, servers: str, partitions: int = 1, name: str = "") -> None:
        self.servers = servers
        self.name = name or f"letters-{uuid4().hex[:8]}.dlq"
        self.admin = AdminClient({"bootstrap.servers": servers})
        # The letters are as old as their recordings: the broker must not delete them.
        topic = NewTopic(self.name, partitions, 1, config={"retention.ms": "-1"})
        self.admin.create_topics([topic])[self.name].result()

    def send(self, letters: Sequence[RawRecord], partition: int = 0, *, aborted: bool = False) -> None:
        """Write letters; they are in the topic on return. If `aborted`, in a transaction that is aborted."""
        options = {"transactional.id": uuid4().hex} if aborted else {}
        producer = Producer({"bootstrap.servers": self.servers, **options})
        if aborted:
            producer.init_transactions(WAIT_S)
            producer.begin_transaction()
        for one in letters:
            at = max(one.timestamp, 0)  # 0 lets the client choose
            producer.produce(self.name, one.value, one.key, partition, timestamp=at, headers=list(one.headers))
        assert producer.flush(WAIT_S) == 0
        if aborted:
            producer.abort_transaction(WAIT_S)

    def delete_before(self, offset: int) -> None:
        wanted = TopicPartition(self.name, 0, offset)
        self.admin.delete_records([wanted])[wanted].result()

    def add_partition(self) -> None:
        self.admin.create_partitions([NewPartitions(self.name, 2)])[self.name].result()

    def options(self, **more: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers, "subscribe": self.name, **more}


def load(spark: SparkSession, options: dict[str, str], schema: str = "") -> DataFrame:
    reader = spark.read.format("deadletters").options(**options)
    return (reader.schema(schema) if schema else reader).load()


def plain(row: Any) -> Any:
    """Return a row as indexed values: bytes, and headers as dicts."""
    if isinstance(row, list):
        return [plain(one) for one in row]
    return bytes(row) if isinstance(row, bytearray) else row.asDict() if hasattr(row, "asDict") else row


def numbered(numbers: range) -> list[RawRecord]:
    return [RawRecord("", 0, 0, 1_700_000_000_000 + n * 1000, "CREATE_TIME", b"%d" % n, b"v%d" % n) for n in numbers]


def keys(frame: DataFrame) -> list[int]:
    return sorted(int(bytes(row["key"])) for row in frame.select("key").collect())


def test_a_batch_has_the_rows_that_the_index_exports_of_every_dialect(spark: SparkSession, broker: str) -> None:
    topic = WrittenTopic(broker, partitions=2)
    letters = [*recorded(), *ODD]
    topic.send(letters[::2], 0)
    topic.send(letters[1::2], 0, aborted=True)
    topic.send(letters[1::2], 1)
    frame = load(spark, topic.options(maxRecordsPerPartition="25", minPartitions="3"))
    assert frame.rdd.getNumPartitions() > 3
    rows = [{name: plain(value) for name, value in row.asDict().items()} for row in frame.collect()]
    assert len(rows) == len(letters)
    assert len({row["dialect"] for row in rows}) > 8
    by_place = {(row["partition"], row["offset"]): row for row in rows}
    for place, sent in enumerate(letters):
        row = by_place[place % 2, place // 2]
        message = RawRecord(
            topic.name, place % 2, place // 2, stamped(row), "CREATE_TIME", sent.key, sent.value, sent.headers
        )
        expected = indexed(message)
        for name in ("failed_at", "origin_timestamp"):  # Spark returns times of the machine's zone
            expected[name] = expected[name] and expected[name].timestamp()
            row[name] = row[name] and row[name].timestamp()
        del row["timestamp"]
        assert row == expected


def stamped(row: dict[str, Any]) -> int:
    """Return the message's timestamp in ms, as the broker has it."""
    return int(row["timestamp"].timestamp() * 1000 + 0.5)


def test_only_what_filters_leave_is_asked_of_kafka(spark: SparkSession, broker: str) -> None:
    """Kafka has deleted the first letters. So a query that needs them fails, and one that asks for others does not."""
    topic = WrittenTopic(broker)
    topic.send(numbered(range(12)))
    topic.delete_before(5)
    options = topic.options(startingOffsets=json.dumps({topic.name: {"0": 0}}))
    with pytest.raises(AnalysisException, match="Kafka has deleted the offsets from 0 to 4"):
        load(spark, options, "offset long").collect()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushed = {**options, "pushFilters": "true"}
        found = load(spark, pushed, "offset long, topic string").filter(f"offset >= 9 and topic = '{topic.name}'")
        assert sorted(row.offset for row in found.collect()) == [9, 10, 11]
        assert " Filter " not in found._jdf.queryExecution().executedPlan().toString()
        late = load(spark, pushed, "key binary, timestamp timestamp")
        late = late.filter(
            "timestamp >= timestamp_millis(1700000010000L) and timestamp < timestamp_millis(1700000011000L)"
        )
        assert keys(late) == [10]
        other = load(spark, pushed, "offset long, topic string").filter("topic = 'other'")
        assert other.collect() == []
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    lenient = {**options, "failOnDataLoss": "false"}
    assert keys(load(spark, lenient, "key binary").filter("key is not null")) == list(range(5, 12))


def test_a_stream_that_is_stopped_and_continued_writes_each_letter_once(
    spark: SparkSession, broker: str, tmp_path: Path
) -> None:
    prefix = uuid4().hex[:8]
    first = WrittenTopic(broker, name=f"{prefix}.first.dlq")
    first.send(numbered(range(10)))
    options = {
        "kafka.bootstrap.servers": broker,
        "subscribePattern": rf"{prefix}\..+\.dlq",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "4",
    }

    def start(*, once: bool) -> StreamingQuery:
        frame = spark.readStream.format("deadletters").options(**options).load()
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="100 milliseconds")
        return writer.start(str(tmp_path / "table"))

    running = start(once=True)
    assert running.awaitTermination(WAIT_S)
    assert len({batch["batchId"] for batch in running.recentProgress if batch["numInputRows"]}) == 3  # 4, 4 and 2
    first.send(numbered(range(10, 15)))
    first.add_partition()
    second = WrittenTopic(broker, name=f"{prefix}.second.dlq")
    second.send(numbered(range(15, 18)))
    first.send(numbered(range(18, 20)), partition=1)
    running = start(once=False)
    running.processAllAvailable()
    first.send(numbered(range(20, 22)))
    running.processAllAvailable()
    progress = running.lastProgress
    assert progress is not None
    assert json.loads(progress["sources"][0]["latestOffset"])[first.name] == {"0": 17, "1": 2}
    running.stop()
    assert keys(spark.read.parquet(str(tmp_path / "table"))) == list(range(22))


def test_a_stream_tells_which_letters_were_deleted_before_it_read_them(
    spark: SparkSession, broker: str, tmp_path: Path
) -> None:
    topic = WrittenTopic(broker)
    topic.send(numbered(range(3)))

    def read_on(**more: str) -> None:
        frame = (
            spark.readStream.format("deadletters").options(**topic.options(startingOffsets="earliest", **more)).load()
        )
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(str(tmp_path / "table")).awaitTermination(WAIT_S)

    read_on()
    topic.send(numbered(range(3, 9)))
    topic.delete_before(6)
    with pytest.raises(
        StreamingQueryException, match="Kafka has deleted the offsets from 3 to 5; failOnDataLoss=false"
    ):
        read_on()
    read_on(failOnDataLoss="false")
    assert keys(spark.read.parquet(str(tmp_path / "table"))) == [0, 1, 2, 6, 7, 8]


def test_bad_input_is_refused_in_a_sentence_without_secrets(spark: SparkSession, broker: str) -> None:
    topic = WrittenTopic(broker)
    nobody = {
        "kafka.bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}",
        "kafka.sasl.password": SECRET,
        "kafkaConsumer.pollTimeoutMs": "2000",
    }
    for options, sentence in (
        (
            topic.options(startingofset="earliest"),
            "startingofset = earliest: unknown option; did you mean startingOffsets?",
        ),
        (topic.options(subscribe=f"{topic.name}x"), f"the topic does not exist; did you mean {topic.name}?"),
        (topic.options(**{"kafka.sasl.pasword": SECRET}), "did you mean kafka.sasl.password?"),
        (
            topic.options(**nobody),
            f"Kafka at {nobody['kafka.bootstrap.servers']} did not answer as expected: _TRANSPORT",
        ),
    ):
        with pytest.raises(AnalysisException) as refused:
            load(spark, options, "offset long").collect()
        assert sentence in str(refused.value)
        assert SECRET not in str(refused.value)


def test_the_code_of_the_page_reads_a_topic_and_writes_a_table(
    spark: SparkSession, broker: str, tmp_path: Path
) -> None:
    name = uuid4().hex[:8]
    topic = WrittenTopic(broker, name=f"{name}.dlq")
    topic.send(numbered(range(3)))
    topic.send([RawRecord("", 0, 0, 0, "CREATE_TIME", b"3", b"of now")])
    code = "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text().partition("\n## Exports\n")[0], re.DOTALL))
    for known, own in (("localhost:9092", broker), ("orders", name), ("/lakehouse", str(tmp_path))):
        assert known in code
        code = code.replace(known, own)
    space: dict[str, Any] = {}
    try:
        exec(compile(code, str(PAGE), "exec"), space)
        assert keys(space["letters"]) == keys(spark.read.parquet(str(tmp_path / "dead_letters"))) == [0, 1, 2, 3]
        assert [row["offset"] for row in space["errors"].collect()] == [0, 1, 2, 3]
        assert [bytes(row["value"]) for row in space["recent"].collect()] == [b"of now"]
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
