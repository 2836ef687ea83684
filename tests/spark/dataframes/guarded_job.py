"""A guarded stream as a program of its own, to be killed: `python -m tests.spark.dataframes.guarded_job JSON`."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from engine.dataframes import DeadLetterQueue
from tests.spark.dataframes.session_options import session_options


def parse(record: Any) -> dict[str, int]:
    time.sleep(0.001)
    return {"n": int(record.value)}


def main(given: dict[str, str]) -> None:
    """Process what the topic holds, in micro-batches, and end."""
    builder = SparkSession.builder.master(given["master"]).appName("guarded-job")
    for name, value in session_options().items():
        builder = builder.config(name, value)
    spark = builder.config("spark.executor.memory", "512m").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", given["servers"])
    reader = reader.option("subscribe", given["topic"]).option("startingOffsets", "earliest")
    frame = reader.option("maxOffsetsPerTrigger", given["per_batch"]).load()
    options = {
        "bootstrap.servers": given["servers"],
        "errors.tolerance.limit": given["limit"],
        "errors.deadletterqueue.include.messages": True,
    }
    dlq = DeadLetterQueue(spark, topic=given.get("letters"), name=given["topic"], options=options)

    def save(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(f"{given['table']}/batch={number}")

    job = dlq.guard(frame, parse, "n int").expect("n % 50 <> 7", name="not seven").then(save)
    query = job.start(given["checkpoint"], availableNow=True)
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
