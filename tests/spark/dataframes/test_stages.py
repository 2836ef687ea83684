"""Guarded stages on real Spark: functions of records and batches, converters, expectations, handlers, puts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd  # type: ignore[import-untyped]  # its types would be one more package
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

from engine.dataframes import DeadLetterQueue
from engine.dataframes.micro_batch import MicroBatches
from engine.errors import ConfigError, LimitExceeded, RecordError, RetriableError
from tests.spark.engine_process import Topics

RECORD = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
Rows = list[dict[str, Any]]


class Batch:
    """A DataFrame of records, a queue with a topic of its own, and the rows that were written."""

    def __init__(self, spark: SparkSession, broker: str, topics: Topics) -> None:
        self.spark = spark
        self.broker = broker
        self.topics = topics
        self.topic = f"{topics.create()}.dlq"
        self.rows: Rows = []

    def queue(self, **options: Any) -> DeadLetterQueue:
        named = {name.replace("__", "."): value for name, value in options.items()}
        return DeadLetterQueue(
            self.spark,
            topic=self.topic,
            options={
                "bootstrap.servers": self.broker,
                "errors.tolerance": "all",
                "errors.deadletterqueue.include.messages": True,
                **named,
            },
        )

    def records(self, *values: bytes | None) -> DataFrame:
        rows = [(b"k", value, "quakes", 0, offset, None) for offset, value in enumerate(values)]
        return self.spark.createDataFrame(rows, RECORD)

    def save(self, batch: DataFrame, _number: int) -> None:
        self.rows += [row.asDict(recursive=True) for row in batch.collect()]

    def letters(self) -> list[Any]:
        """The letters in the order of their records."""
        return sorted(self.topics.read(self.topic), key=offset_of)


def offset_of(letter: Any) -> int:
    record = letter.get("original_record") or letter["record"]
    return int(record["offset"] if record.get("offset") is not None else -1)


@pytest.fixture
def batch(spark: SparkSession, broker: str, topics: Topics) -> Batch:
    return Batch(spark, broker, topics)


def magnitude(record: Any) -> dict[str, Any] | None:
    found = json.loads(record.value)
    return None if found.get("test") else {"place": found["place"], "mag": found["mag"]}


VALUES = (b'{"place": "a", "mag": 1.5}', b"{", b'{"test": true}', b'{"mag": 2}', b'{"place": "b", "mag": 12.0}')


def test_a_result_that_does_not_fit_the_schema_is_an_error_of_its_record(batch: Batch) -> None:
    values = (b'{"place": "a", "mag": 1}', b'{"place": 5, "mag": 1}', b'{"place": "c", "mag": null}')
    job = batch.queue().guard(batch.records(*values), magnitude, "place string, mag double not null", stage="parse")
    done = job.then(batch.save).run()
    assert batch.rows == [{"place": "a", "mag": 1.0}]
    wrong, null = batch.letters()
    assert wrong["message"] == "column place string: 5 does not fit the schema"
    assert wrong["stages"][wrong["index"]]["name"] == "parse"
    assert null["message"] == "column mag: the result has no value, and the schema says NOT NULL"
    assert {offset_of(wrong), offset_of(null)} == {1, 2}
    assert done.figures["records-dead-lettered"] == 2


def test_a_nested_field_that_the_schema_lacks_is_an_error_of_its_record(batch: Batch) -> None:
    values = (
        b'{"id": 1, "lines": [{"sku": "a"}], "by_day": {"mon": {"n": 1}}}',
        b'{"id": 2, "lines": [{"sku": "a"}, {"sku": "b", "colour": "red"}]}',
        b'{"id": 3, "by_day": {"mon": {"n": 1, "m": 2}}}',
        b'{"id": 4, "lines": null, "colour": "red"}',
    )
    schema = "id long, lines array<struct<sku: string>>, by_day map<string, struct<n: int>>"
    batch.queue().guard(batch.records(*values), lambda one: json.loads(one.value), schema).then(batch.save).run()
    assert batch.rows == [{"id": 1, "lines": [{"sku": "a"}], "by_day": {"mon": {"n": 1}}}]
    assert [letter["message"] for letter in batch.letters()] == [
        "the result has the field lines[1].colour, which is not in the schema",
        "the result has the field by_day[mon].m, which is not in the schema",
        "the result has the field colour, which is not in the schema",
    ]


def test_stages_and_expectations_name_where_a_record_failed(batch: Batch) -> None:
    def strong(row: dict[str, Any]) -> dict[str, Any]:
        if row["place"] == "c":
            raise ValueError("no such place")
        return {"place": row["place"], "strong": row["mag"] > 5}

    queue = batch.queue()
    frame = queue.guard(batch.records(*VALUES, b'{"place": "c", "mag": 3}'), magnitude, "place string, mag double")
    frame = frame.expect("mag is not null and mag between -2 and 10", name="plausible magnitude")
    frame = frame.guard(strong, "place string, strong boolean", stage="rank")
    done = frame.then(batch.save).run()
    assert batch.rows == [{"place": "a", "strong": False}]
    letters = batch.letters()
    stages = [(offset_of(one), one["index"], one["exception_class"]) for one in letters]
    assert stages == [
        (1, 0, "json.decoder.JSONDecodeError"),
        (3, 0, "KeyError"),
        (4, 1, "engine.errors.ExpectationFailed"),
        (5, 2, "ValueError"),
    ]
    broken = letters[2]
    assert broken["message"] == "plausible magnitude: mag is not null and mag between -2 and 10 is not true"
    assert json.loads(broken["record"]["value"]["value"]) == {"place": "b", "mag": 12.0}
    assert json.loads(letters[3]["record"]["value"]["value"]) == {"place": "c", "mag": 3.0}
    buckets = ("consumed", "delivered", "dead-lettered", "filtered", "skipped")
    assert [done.figures[f"records-{name}"] for name in buckets] == [6, 1, 4, 1, 0]


def by_arrow(part: pa.RecordBatch) -> pa.RecordBatch:
    numbers = pc.cast(pc.cast(part.column("value"), pa.string()), pa.int64())
    return pa.RecordBatch.from_arrays([pc.multiply(numbers, 2)], names=["twice"])


def by_pandas(part: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"twice": part["value"].map(lambda data: int(data) * 2)})


@pytest.mark.parametrize(("kind", "function"), [("arrow", by_arrow), ("pandas", by_pandas)])
def test_a_failing_batch_is_bisected_to_its_guilty_records(
    batch: Batch, kind: str, function: Callable[[Any], Any]
) -> None:
    values = [b"x" if n in {3, 60} else str(n).encode() for n in range(100)]
    job = batch.queue().guard(batch.records(*values), function, "twice long", kind=kind)
    job.then(batch.save).run()
    assert sorted(row["twice"] for row in batch.rows) == [2 * n for n in range(100) if n not in {3, 60}]
    assert [offset_of(one) for one in batch.letters()] == [3, 60]


def away(_part: Any) -> Any:
    raise RetriableError("the service is down")


def test_a_batch_whose_retries_are_used_up_tells_its_attempts(batch: Batch) -> None:
    queue = batch.queue(errors__retry__limit=2)
    queue.guard(batch.records(b"1", b"2"), away, "twice long", kind="arrow").then(batch.save).run()
    assert [(offset_of(one), one["attempt"]) for one in batch.letters()] == [(0, 2), (1, 2)]


def test_converters_and_transforms_from_properties_run_as_in_a_connector(batch: Batch) -> None:
    properties = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": False,
        "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "mag:float64",
    }
    values = (b'{"mag": "1.25"}', b"{", b'{"mag": "high"}', None)
    job = batch.queue().guard(batch.records(*values), properties, "mag double")
    done = job.then(batch.save).run()
    assert batch.rows == [{"mag": 1.25}]
    assert done.figures["records-filtered"] == 1  # the tombstone
    kinds = [(offset_of(one), one["stages"][one["index"]]["type"]) for one in batch.letters()]
    assert kinds == [(1, "VALUE_CONVERTER"), (2, "TRANSFORMATION")]


def test_a_row_without_a_record_is_dead_lettered_with_its_columns(batch: Batch) -> None:
    frame = batch.spark.createDataFrame([("a", 1), ("b", 0)], "name string, count int")

    def inverse(row: dict[str, Any]) -> dict[str, Any]:
        return {"name": row["name"], "inverse": 1 / row["count"]}

    batch.queue().guard(frame, inverse, "name string, inverse double").then(batch.save).run()
    assert batch.rows == [{"name": "a", "inverse": 1.0}]
    [letter] = batch.letters()
    assert letter["exception_class"] == "ZeroDivisionError"
    assert json.loads(letter["record"]["value"]["value"]) == {"name": "b", "count": 0}


def test_a_retriable_error_is_retried_and_a_handler_decides_in_place_of_the_limits(batch: Batch) -> None:
    tries = batch.spark.sparkContext.accumulator(0)

    def shaky(record: Any) -> dict[str, Any]:
        tries.add(1)
        if record.value == b"down":
            raise RetriableError("the service is down")
        raise ValueError("bad")

    options = {
        "errors__retry__limit": 2,
        "errors__tolerance": "none",
        "processing__exception__handler": "LogAndContinueProcessingExceptionHandler",
    }
    job = batch.queue(**options).guard(batch.records(b"down", b"bad"), shaky, "x int")
    done = job.then(batch.save).run()
    assert tries.value == 4
    assert [one["attempt"] for one in batch.letters()] == [2, 0]
    assert done.state.tolerance.total == 0
    assert done.figures["dropped-records-total"] == 2
    options["processing__exception__handler"] = "LogAndFailProcessingExceptionHandler"
    with pytest.raises(LimitExceeded, match="LogAndFailProcessingExceptionHandler returned FAIL"):
        batch.queue(**options).guard(batch.records(b"bad"), shaky, "x int").then(batch.save).run()
    assert len(batch.letters()) == 2


def test_the_rate_limit_counts_the_whole_query(batch: Batch) -> None:
    frame = batch.records(*[b"{"] * 4).repartition(4)
    queue = DeadLetterQueue(
        batch.spark,
        topic=batch.topic,
        options={"bootstrap.servers": batch.broker, "errors.tolerance.rate.limit": 3},
    )
    with pytest.raises(LimitExceeded, match="Tolerance exceeded"):
        queue.guard(frame, magnitude, "mag double").then(batch.save).run()
    assert batch.rows == []
    assert batch.letters() == []


def run_put(
    batch: Batch, put: Callable[[Sequence[dict[str, Any]]], object], values: Sequence[int], rows_of_a_put: int = 16
) -> MicroBatches:
    queue = batch.queue(errors__retry__limit=1)
    frame = queue.guard(batch.records(*[str(n).encode() for n in values]), lambda one: {"n": int(one.value)}, "n int")
    return frame.then(lambda rows, _id: queue.write(rows, put, rows_of_a_put=rows_of_a_put), keeps_records=True).run()


def test_a_put_that_fails_is_bisected_and_one_that_names_rows_is_put_again_without_them(
    batch: Batch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("puts")

    def put(rows: Sequence[dict[str, Any]]) -> None:
        if any(row["n"] == 13 for row in rows):
            raise ValueError("13 brings bad luck")
        if bad := [place for place, row in enumerate(rows) if row["n"] == 20]:
            raise RecordError(bad[0], ValueError("20"))
        for row in rows:
            (folder / str(row["n"])).touch()

    done = run_put(batch, put, range(40))
    assert sorted(int(path.name) for path in folder.iterdir()) == [n for n in range(40) if n not in {13, 20}]
    letters = batch.letters()
    assert [offset_of(one) for one in letters] == [13, 20]
    assert {one["stages"][one["index"]]["type"] for one in letters} == {"TASK_PUT"}
    assert done.figures["records-delivered"] == 38
    assert done.figures["records-dead-lettered"] == 2


def test_a_put_takes_at_least_one_row(batch: Batch) -> None:
    with pytest.raises(ConfigError, match="rows_of_a_put"):
        run_put(batch, len, range(1), rows_of_a_put=0)


def test_handlers_do_not_decide_about_expectations(batch: Batch) -> None:
    frame = batch.spark.createDataFrame([("a", 1), ("a", 1), ("b", 5)], "name string, count int")
    queue = batch.queue(processing__exception__handler="LogAndFailProcessingExceptionHandler")
    queue.expect(frame, "count > 2", name="more than two").then(batch.save).run()
    assert batch.rows == [{"name": "b", "count": 5}]
    letters = batch.letters()
    assert [one["handler"] for one in letters] == ["errors.tolerance"] * 2


def test_a_table_with_a_text_column_named_value_is_no_topic(batch: Batch) -> None:
    frame = batch.spark.createDataFrame([(1, "x"), (2, "y")], "key long, value string")
    batch.queue().guard(frame, lambda row: {"both": f"{row['key']}{row['value']}"}, "both string").then(
        batch.save
    ).run()
    assert batch.rows == [{"both": "1x"}, {"both": "2y"}]


def test_a_fraction_does_not_fit_an_integer(batch: Batch) -> None:
    job = batch.queue().guard(batch.records(b"2.0", b"1.5"), lambda one: {"n": float(one.value)}, "n long")
    job.then(batch.save).run()
    assert batch.rows == [{"n": 2}]
    assert batch.letters()[0]["message"] == "column n bigint: 1.5 does not fit the schema"


def test_decimals_survive_exactly(batch: Batch) -> None:
    def total(record: Any) -> tuple[Decimal]:
        return (Decimal(record.value.decode()),)

    job = batch.queue().guard(batch.records(b"1.10", b"2.345"), total, "total decimal(10,2)")
    job.then(batch.save).run()
    assert batch.rows == [{"total": Decimal("1.10")}]
    assert "does not fit the schema" in batch.letters()[0]["message"]
