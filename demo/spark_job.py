"""A guarded Spark query over the demonstration's input: `make run-spark`, beside `make run`.

It parses the earthquakes of the demo's topic, checks them, and appends the good ones to a Parquet table. Records that
fail are dead-lettered to a topic that the dashboard watches. Everything that a PySpark user writes is in `guarded`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from demo.environment import demo_environment
from demo.feeder import TOPIC
from demo.jars import spark_kafka_jars
from engine.dataframes import DeadLetterQueue
from engine.dataframes.guarded_query import GuardedQuery
from engine.errors import EngineError

NAME = "earthquakes-to-parquet"
LETTERS = f"{NAME}.dlq"
SCHEMA = "id string not null, place string, mag double, time long"


def parse_event(record: Any) -> dict[str, Any]:
    """Return the columns of one GeoJSON event."""
    event = json.loads(record.value)
    properties = event["properties"]
    magnitude = properties["mag"]
    return {
        "id": event["id"],
        "place": properties["place"],
        "mag": None if magnitude is None else float(magnitude),
        "time": properties["time"],
    }


def guarded(
    spark: SparkSession, servers: str, folder: Path, topic: str = TOPIC, letters: str = LETTERS
) -> GuardedQuery:
    """Start the query. The table and the checkpoint are below `folder`."""
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .load()
    )
    options = {
        "bootstrap.servers": servers,
        "errors.tolerance": "all",
        "errors.deadletterqueue.include.messages": True,
        "status.storage.topic": "connect-status",
    }
    dlq = DeadLetterQueue(spark, topic=letters, options=options)
    parsed = dlq.guard(events, parse_event, SCHEMA, stage="parse event")
    plausible = dlq.expect(parsed, "mag is not null and mag between -2 and 10", name="plausible magnitude")

    def save(batch: DataFrame, number: int) -> None:
        # The folder is named after the micro-batch, so a repeated one replaces its rows.
        batch.write.mode("overwrite").parquet(f"{folder}/table/batch={number}")

    return plausible.then(save).start(f"{folder}/checkpoint", processingTime="2 seconds")


def session(folder: Path) -> SparkSession:
    """Return a local session with Kafka's source."""
    return (
        SparkSession.builder.master("local[1]")
        .appName(NAME)
        .config("spark.jars", spark_kafka_jars())
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def balance(metrics: Mapping[str, int]) -> str:
    """Return the balance of all records in one line."""
    read, written = metrics["records-consumed"], metrics["records-delivered"]
    return f"  {read} records read = {written} written + {metrics['records-dead-lettered']} dead-lettered"


def main(arguments: Sequence[str]) -> int:
    """Run until Ctrl-C. With `--once`, end when all records that are there now are processed."""
    env = demo_environment()
    os.environ["PYSPARK_PYTHON"] = env["PYSPARK_PYTHON"]  # else Spark's workers are the first python3 of the PATH
    folder = Path(env["LOCAL_DIR"], "spark")
    spark = session(folder)
    try:
        query = guarded(spark, env["KAFKA_BOOTSTRAP_SERVERS"], folder)
        print(f"  {NAME} is running: the table is {folder / 'table'}, the dead letters are in {LETTERS}", flush=True)
        try:
            query.processAllAvailable()
            print(balance(query.batches.figures), flush=True)
            if "--once" not in arguments:
                query.awaitTermination()
        finally:
            query.stop()
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
