"""The columns that travel through a guarded query: a record's origin, its result, and its dead letter.

A guarded stage reads and writes rows of these columns. A row with a letter or an outcome has ended: later stages pass
it through untouched.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812, the name that everybody uses
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from engine.errors import ConfigError
from engine.record.record import Headers, RawRecord, Record

ORIGIN, GOOD, LETTER, OUTCOME, BROKEN, FIGURES = (
    f"__dlq_{name}" for name in ("origin", "good", "letter", "outcome", "broken", "figures")
)
COLUMNS = (ORIGIN, GOOD, LETTER, OUTCOME, BROKEN, FIGURES)
_HEADERS = "ARRAY<STRUCT<name: STRING, value: BINARY>>"
_ORIGIN = (
    "STRUCT<topic: STRING, partition: INT, offset: BIGINT, timestamp: BIGINT, key: BINARY, value: BINARY, "
    f"headers: {_HEADERS}>"
)
_BROKEN = "STRUCT<index: INT, values: STRING>"  # the expectation's stage, and the row as JSON: later stages replace it
_LETTER = f"STRUCT<key: BINARY, value: BINARY, headers: {_HEADERS}, time: BIGINT>"
_RECORD: dict[str, Any] = {
    "key": BinaryType | StringType,
    "topic": StringType,
    "partition": IntegerType | LongType,
    "offset": IntegerType | LongType,
    "timestamp": TimestampType | TimestampNTZType | LongType,
    "headers": ArrayType,
}
ARROW_HEADERS = pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))
ARROW_ORIGIN = pa.struct(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", ARROW_HEADERS),
    ]
)
ARROW_BROKEN = pa.struct([("index", pa.int32()), ("values", pa.string())])
ARROW_LETTER = pa.struct(
    [("key", pa.binary()), ("value", pa.binary()), ("headers", ARROW_HEADERS), ("time", pa.int64())]
)


def schema_of(good: StructType) -> StructType:
    """Return the columns of a stage's output whose result has this schema."""
    kinds: tuple[str | StructType, ...] = (_ORIGIN, good, _LETTER, "STRING", _BROKEN, "STRING")
    schema = StructType()
    for name, kind in zip(COLUMNS, kinds, strict=True):
        schema = schema.add(name, DataType.fromDDL(kind) if isinstance(kind, str) else kind)
    return schema


def has_record(frame: DataFrame) -> bool:
    """Return whether the DataFrame has records as Kafka's source reads them: at least a column `value` of bytes.

    Columns that share a name with the source's, but not the type, make it a table like any other.
    """
    kinds = {field.name.lower(): field.dataType for field in frame.schema.fields}
    return isinstance(kinds.get("value"), BinaryType | StringType) and all(
        isinstance(kinds[name], kind) for name, kind in _RECORD.items() if name in kinds
    )


def records(frame: DataFrame) -> DataFrame:
    """Return the columns of the records, for a first stage that is a function.

    Spark sends plain columns to Python three times as fast as columns of a struct, and takes as long for an array of
    structs as for all others, even if it is null. So headers travel as JSON.
    """
    *columns, headers = _record_columns(frame)
    rows = F.transform(headers, lambda one: F.struct(one["name"].alias("n"), F.base64(one["value"]).alias("v")))
    has_headers = any(name.lower() == "headers" for name in frame.columns)
    text = F.when(F.size(headers) > 0, F.to_json(rows)) if has_headers else F.lit(None).cast("STRING")
    return frame.select(*columns, text.alias("headers"))


def wrap(frame: DataFrame) -> DataFrame:
    """Return the DataFrame's rows in envelopes; the result so far is the row itself.

    A DataFrame without records has no coordinates, keys and headers. Its rows are the values, as JSON.
    """
    nothing = {name: F.lit(None) for name in (LETTER, OUTCOME, BROKEN, FIGURES)}
    kinds = {LETTER: _LETTER, OUTCOME: "STRING", BROKEN: _BROKEN, FIGURES: "STRING"}
    origin = F.struct(*_record_columns(frame)).cast(_ORIGIN) if has_record(frame) else _row_origin()
    return frame.select(
        origin.alias(ORIGIN),
        F.struct("*").alias(GOOD),
        *(column.cast(kinds[name]).alias(name) for name, column in nothing.items()),
    )


def is_live() -> Any:
    """Return the condition of rows that no stage has ended."""
    ended = (F.col(name).isNotNull() for name in (LETTER, OUTCOME, BROKEN, FIGURES))
    condition = F.col(GOOD).isNotNull()
    for one in ended:
        condition = condition & ~one
    return condition


def good_rows(frame: DataFrame) -> DataFrame:
    """Return the results of the records that passed every stage."""
    return frame.where(is_live()).select(f"{GOOD}.*")


def break_rows(frame: DataFrame, expression: str, index: int) -> DataFrame:
    """Mark the rows that the expression is not true of with the index of the expectation's stage."""
    try:
        met = F.coalesce(F.expr(expression).cast("boolean"), F.lit(False))
        values = F.to_json(F.col(GOOD), {"ignoreNullFields": "false"})
        broken = F.struct(F.lit(index).alias("index"), values.alias("values")).cast(_BROKEN)
        broken = F.when(is_live() & ~met, broken).otherwise(F.col(BROKEN))
        kept = [name for name in COLUMNS if name != BROKEN]
        marked = frame.select(*COLUMNS, f"{GOOD}.*").select(*kept, broken.alias(BROKEN))
        return marked.select(*COLUMNS)
    except AnalysisException as error:
        sentence = str(error).strip().splitlines()[0]
        raise ConfigError((("expect", expression, f"can't be used: {sentence}"),)) from error


def read_rows(values: Sequence[Any], name: str) -> list[RawRecord | Record]:
    """Return rows without records as a source's records."""
    return [Record(name, None, None, None, value) for value in values]


def read_origins(columns: Sequence[pa.Array]) -> list[RawRecord | Record]:
    """Return the records as consumed, from their columns in the order of `ARROW_ORIGIN`."""
    topics, partitions, offsets, times, keys, data, headers = (column.to_pylist() for column in columns)
    return [
        RawRecord(topic or "", -1 if partition is None else partition, -1 if offset is None else offset,
                  -1 if time is None else time, "NO_TIMESTAMP_TYPE" if time is None else "CREATE_TIME",
                  key, value, read_headers(header) if header else ())
        for topic, partition, offset, time, key, value, header in zip(
            topics, partitions, offsets, times, keys, data, headers, strict=True
        )
    ]  # fmt: skip


def read_headers(rows: str | Iterable[Any] | None) -> Headers:
    """Return the headers of a record from their column: rows, or JSON as `records` makes it."""
    if isinstance(rows, str):
        # JSON leaves a null value out.
        return tuple((row["n"], b64decode(row["v"]) if "v" in row else None) for row in orjson.loads(rows))
    given: Iterable[Any] = rows or ()
    return tuple((row["name"], row["value"]) for row in given)


def header_rows(headers: Headers) -> list[dict[str, Any]]:
    """Return headers as rows of their column."""
    return [{"name": name, "value": value} for name, value in headers]


def _record_columns(frame: DataFrame) -> list[Column]:
    """Return the columns of the records, in the order of `ARROW_ORIGIN`."""
    names = {name.lower(): name for name in frame.columns}
    kinds = {field.name.lower(): field.dataType.typeName() for field in frame.schema.fields}

    def column(name: str, kind: str) -> Any:
        found = F.col(names[name]) if name in names else F.lit(None)
        return found.cast(kind)

    time = column("timestamp", "BIGINT")
    if kinds.get("timestamp", "").startswith("timestamp"):
        time = F.unix_millis(F.col(names["timestamp"]).cast("timestamp"))
    headers = F.lit(None).cast(_HEADERS)
    if "headers" in names:
        headers = F.transform(
            F.col(names["headers"]), lambda one: F.struct(one["key"].alias("name"), one["value"].alias("value"))
        ).cast(_HEADERS)
    return [
        column("topic", "STRING").alias("topic"),
        column("partition", "INT").alias("partition"),
        column("offset", "BIGINT").alias("offset"),
        time.alias("timestamp"),
        column("key", "BINARY").alias("key"),
        column("value", "BINARY").alias("value"),
        headers.alias("headers"),
    ]


def _row_origin() -> Any:
    return F.struct(
        F.lit(None).cast("STRING").alias("topic"),
        F.lit(None).cast("INT").alias("partition"),
        F.lit(None).cast("BIGINT").alias("offset"),
        F.lit(None).cast("BIGINT").alias("timestamp"),
        F.lit(None).cast("BINARY").alias("key"),
        F.to_json(F.struct("*")).cast("BINARY").alias("value"),
        F.lit(None).cast(_HEADERS).alias("headers"),
    ).cast(_ORIGIN)
