"""Wrong options, schemas, functions and topics: one sentence each, before anything runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from engine.dataframes import DeadLetterQueue
from engine.errors import ConfigError, EngineError
from tests.spark.engine_process import Topics


def options(**more: object) -> dict[str, object]:
    return {"bootstrap.servers": "127.0.0.1:1", **{name.replace("__", "."): value for name, value in more.items()}}


def ignore(batch: DataFrame, _number: int) -> None:
    batch.count()


def unpicklable() -> Callable[[Any], dict[str, Any]]:
    lock = threading.Lock()

    def function(record: Any) -> dict[str, Any]:
        with lock:
            return {"x": record.key}

    return function


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            options(errors__tolerence__limit=5),
            "errors.tolerence.limit: unknown option; did you mean errors.tolerance.limit?",
        ),
        (options(bootstrap__server="a"), "unknown option; did you mean bootstrap.servers?"),
        (options(errors__tolerance__limit="many"), "must be a whole number"),
        ({"errors.tolerance": "all"}, "bootstrap.servers: is required: the brokers of the dead letters, as host:port"),
        ({"bootstrap.server": "a:1"}, "bootstrap.server: unknown option; did you mean bootstrap.servers?"),
        (options(slots=4), "is an option of the engine's workers, and has no meaning for a query"),
        (options(processing__exception__handler="NoSuchHandler"), "NoSuchHandler"),
        (options(errors__deadletterqueue__producer__bootstrap__servers="b:1"), "are those of the dead letters"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_write(
    spark: SparkSession, given: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        DeadLetterQueue(spark, topic="t.dlq", options=given)
    assert sentence in str(refused.value)


def test_a_secret_of_the_connection_is_not_shown(spark: SparkSession) -> None:
    given = options(sasl__pasword="hunter2", security__protocol="SASL_SSL")
    with pytest.raises(ConfigError) as refused:
        DeadLetterQueue(spark, topic="t.dlq", options=given)
    assert "sasl.pasword" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_password_among_a_converters_properties_is_not_shown(spark: SparkSession) -> None:
    dlq = DeadLetterQueue(spark, options=options())
    frame = spark.createDataFrame([(b"{}",)], "value binary")
    with pytest.raises(ConfigError) as refused:
        dlq.guard(frame, {"sasl.password": "hunter2"}, "x int")
    assert "sasl.password" in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda dlq, frame: dlq.guard(frame, str, "id lnog"), "is not a schema like"),
        (lambda dlq, frame: dlq.guard(frame, unpicklable(), "x int"), "can't be sent to Spark's workers"),
        (lambda dlq, frame: dlq.guard(frame, 5, "x int"), "is a int; give a function, or properties"),
        (lambda dlq, frame: dlq.guard(frame, str, "x int", kind="rows"), "must be one of record, arrow, pandas"),
        (lambda dlq, frame: dlq.guard(frame, {"value.convertor": "x"}, "x int"), "value.convertor"),
        (lambda dlq, frame: dlq.expect(frame, "mgnitude > 3", name="m").then(ignore).run(), "can't be used"),
        (lambda dlq, frame: dlq.guard(frame, str, "x int").then(ignore).start("/x"), "needs a stream"),
        (lambda dlq, frame: dlq.write(frame, len), "takes the batch that the function given to then() got"),
    ],
)
def test_a_wrong_call_is_refused_with_what_to_do(
    spark: SparkSession, act: Callable[[DeadLetterQueue, DataFrame], object], sentence: str
) -> None:
    dlq = DeadLetterQueue(spark, options=options())
    frame = spark.createDataFrame([(b"{}",)], "value binary")
    with pytest.raises(ConfigError) as refused:
        act(dlq, frame)
    assert sentence in str(refused.value)


def test_brokers_that_are_away_are_named_in_one_sentence(spark: SparkSession) -> None:
    dlq = DeadLetterQueue(spark, topic="t.dlq", options=options())
    frame = spark.createDataFrame([(b"{}",)], "value binary")
    before = client_threads()
    sentence = r"dead letter topic t\.dlq: the brokers at 127\.0\.0\.1:1 do not respond"
    with pytest.raises(EngineError, match=sentence) as refused:
        dlq.guard(frame, str, "x int").then(ignore).run()
    # An interactive shell keeps the last traceback. A client in it would log each of its attempts to connect.
    assert refused.tb is not None
    assert client_threads() == before


def client_threads() -> int:
    """Return the number of threads of Kafka's clients in this process."""
    return sum(path.read_text().startswith("rdk:") for path in Path("/proc/self/task").glob("*/comm"))


def test_a_record_of_50_mb_gets_a_letter_that_points_to_it(
    spark: SparkSession, broker: str, topics: Topics, tmp_path: Path
) -> None:
    topic = f"{topics.create()}.dlq"
    given = {
        "bootstrap.servers": broker,
        "errors.tolerance": "all",
        "errors.deadletterqueue.include.messages": True,
    }
    (tmp_path / "7").write_bytes(bytes(50_000_000))
    (tmp_path / "8").write_bytes(b'{"x": 1}')
    files = spark.read.format("binaryFile").load(str(tmp_path))
    frame = files.selectExpr(
        "content AS value", "'large' AS topic", "0 AS partition", "bigint(right(path, 1)) AS offset"
    )
    written: list[Any] = []
    job = DeadLetterQueue(spark, topic=topic, options=given).guard(frame, lambda one: json.loads(one.value), "x int")
    job.then(lambda batch, _id: written.extend(batch.collect())).run()
    assert [row.x for row in written] == [1]
    [letter] = topics.read(topic)
    assert letter["truncated"] == "pointer"
    assert letter["original_record"]["offset"] == 7
