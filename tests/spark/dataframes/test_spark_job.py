"""The example job over all real and damaged records: each is in the table or in the dead letter topic."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from demo import spark_job
from demo.damage import DAMAGED, batch
from tests.spark.engine_process import Topics


def test_each_real_and_damaged_record_is_in_the_table_or_dead_lettered(
    spark: SparkSession, broker: str, topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create(2)
    events = batch()
    topics.write(topic, [event.value for event in events], partitions=2)
    query = spark_job.guarded(spark, broker, tmp_path, topic, f"{topic}.dlq")
    query.processAllAvailable()
    query.stop()
    rows = spark.read.parquet(f"{tmp_path}/table").count()
    letters = topics.read(f"{topic}.dlq")
    places = {
        (place["partition"], place["offset"])
        for place in (letter.get("original_record") or letter["record"] for letter in letters)
    }
    assert len(events) == 1707 + DAMAGED
    assert rows + len(letters) == len(events)
    assert len(places) == len(letters)
    damaged = {(n % 2, n // 2) for n, event in enumerate(events) if event.damage}
    assert damaged <= places
    others = [letter for letter in letters if letter["exception_class"] == "engine.errors.ExpectationFailed"]
    assert len(letters) == DAMAGED + len(others)
    assert spark_job.balance(query.batches.figures) == (
        f"  {len(events)} records read = {rows} written + {len(letters)} dead-lettered"
    )
