"""dataframes…: guarded Spark queries beside the same queries without a guard, and the source of dead letters.

All sides run in one local session, over one topic, as streams that read it to its end in one micro-batch
and write to Spark's `noop` sink. The rate is that of the whole query, after a first run that warms up.

- `dataframes`: a function of records that parses JSON, all of them good.
- `dataframes-10`: a tenth of the records can't be parsed; beside it, `from_json` in PERMISSIVE mode and a
  filter, which keeps no bad record.
- `dataframes-source`: `format("deadletters")` beside `format("kafka")`, which decodes nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, the name that everybody uses

from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.results import BenchmarkResult
from benchmarks.rounds import Run, compare, records
from benchmarks.sinks import events
from demo.jars import spark_kafka_jars
from engine.dataframes import DeadLetterQueue, DeadLetters

TOPIC = "bench.quakes"
SCHEMA = "id string, place string, mag double"
LEAST_OF_UNGUARDED = 0.85  # the guard may cost 15 %
BAD = b'{"id": "x", "properties": {"place'


def run() -> BenchmarkResult:
    """Compare a guarded function with the same function in `mapInArrow`."""
    with prepared(events(), records(200_000)) as (where, spark):
        ours, anchor = partial(guarded, spark, where), partial(unguarded, spark, where)
        return compare("dataframes", warmed(ours), warmed(anchor), LEAST_OF_UNGUARDED)


def run_10() -> BenchmarkResult:
    """Compare a guarded function with PERMISSIVE, with a tenth of the records bad."""
    values = [BAD if number % 10 == 0 else value for number, value in enumerate(events())]
    with prepared(values, records(200_000)) as (where, spark):
        return compare(
            "dataframes-10", warmed(partial(guarded, spark, where)), warmed(partial(permissive, spark, where)), None
        )


def run_source() -> BenchmarkResult:
    """Compare the source of dead letters with Kafka's source on the letters of a guarded query."""
    with prepared([BAD], records(50_000)) as (where, spark):
        guarded(spark, where, "letters")
        spark.dataSource.register(DeadLetters)
        letters = f"{TOPIC}-letters.dlq"
        ours, anchor = (warmed(partial(read, spark, where, form, letters)) for form in ("deadletters", "kafka"))
        return compare("dataframes-source", ours, anchor, None)


@contextmanager
def prepared(values: Sequence[bytes], count: int) -> Iterator[tuple[BenchmarkSetup, SparkSession]]:
    """Fill the topic, and start the session."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with ground() as where:
        where.fill(TOPIC, values, count)
        builder = SparkSession.builder.master("local[2]").appName("benchmark")
        for name, value in {
            "spark.jars": spark_kafka_jars(),
            "spark.driver.memory": "3g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.log.level": "ERROR",
        }.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        try:
            yield where, spark
        finally:
            spark.stop()


def warmed(side: Run) -> Run:
    """Return the side, which is run once before its first figure."""
    done: list[float] = []

    def run(name: str) -> float:
        if not done:
            done.append(side(f"{name}-warm"))
        return side(name)

    return run


def parse(record: Any) -> dict[str, Any]:
    """Return the columns of one event."""
    event = json.loads(record.value)
    properties = event["properties"]
    return {"id": event["id"], "place": properties["place"], "mag": float(properties["mag"] or 0)}


def parse_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do as `parse`, in the way of a query without a guard."""
    for batch in batches:
        rows = []
        for value in batch.column("value").to_pylist():
            event = json.loads(value)
            properties = event["properties"]
            rows.append((event["id"], properties["place"], float(properties["mag"] or 0)))
        ids, places, mags = zip(*rows, strict=True) if rows else ((), (), ())
        yield pa.RecordBatch.from_arrays(
            [pa.array(ids, pa.string()), pa.array(places, pa.string()), pa.array(mags, pa.float64())],
            names=["id", "place", "mag"],
        )


def stream(spark: SparkSession, where: BenchmarkSetup, form: str = "kafka", topic: str = TOPIC) -> DataFrame:
    """Return the topic as a stream."""
    reader = spark.readStream.format(form).option("kafka.bootstrap.servers", where.bootstrap)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").load()


def discard(batch: DataFrame, _number: int) -> None:
    """Compute all rows, and keep none."""
    batch.write.format("noop").mode("overwrite").save()


def rate(where: BenchmarkSetup, topic: str, start: Callable[[], Any]) -> float:
    """Return the records per second of a query that reads the topic to its end."""
    count = where.count(topic)
    began = time.perf_counter()
    start().awaitTermination()
    return count / (time.perf_counter() - began)


def guarded(spark: SparkSession, where: BenchmarkSetup, run: str) -> float:
    """Run the guarded query."""
    options = {"bootstrap.servers": where.bootstrap, "errors.tolerance": "all"}
    dlq = DeadLetterQueue(spark, topic=f"{TOPIC}-{run}.dlq", options=options)
    job = dlq.guard(stream(spark, where), parse, SCHEMA).then(discard)
    return rate(where, TOPIC, lambda: job.start(str(where.folder / run), availableNow=True))


def unguarded(spark: SparkSession, where: BenchmarkSetup, run: str) -> float:
    """Run the same function without a guard."""
    return _plain(where, TOPIC, stream(spark, where).select("value").mapInArrow(parse_all, SCHEMA), run)


def permissive(spark: SparkSession, where: BenchmarkSetup, run: str) -> float:
    """Parse with Spark's own function, and drop what it can't parse."""
    schema = "id STRING, properties STRUCT<place: STRING, mag: DOUBLE>"
    event = F.from_json(F.col("value").cast("string"), schema, {"mode": "PERMISSIVE"}).alias("event")
    columns = ("event.id", "event.properties.place", "event.properties.mag")
    return _plain(where, TOPIC, stream(spark, where).select(event).select(*columns).where("id is not null"), run)


def read(spark: SparkSession, where: BenchmarkSetup, form: str, topic: str, run: str) -> float:
    """Read a topic with one of the sources."""
    return _plain(where, topic, stream(spark, where, form, topic), run)


def _plain(where: BenchmarkSetup, topic: str, rows: DataFrame, run: str) -> float:
    writer = rows.writeStream.option("checkpointLocation", str(where.folder / run)).trigger(availableNow=True)
    return rate(where, topic, lambda: writer.foreachBatch(discard).start())
