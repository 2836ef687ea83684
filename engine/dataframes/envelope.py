"""The columns that travel through a guarded query: a record's origin, its result, and its dead letter.

A guarded stage reads and writes rows of these columns. A row with a letter or an outcome has ended: later stages pass
it through untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
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


def wrap(frame: DataFrame, *, needs_row: bool) -> DataFrame:
    """Return the DataFrame's rows as the input of the first stage; the result so far is the row itself.

    A first stage that takes records needs no row beside them: it would double the bytes sent to Python. A DataFrame
    without records has no coordinates, keys and headers. Its rows are the values, as JSON.
    """
    nothing = {name: F.lit(None) for name in (LETTER, OUTCOME, BROKEN, FIGURES)}
    kinds = {LETTER: _LETTER, OUTCOME: "STRING", BROKEN: _BROKEN, FIGURES: "STRING"}
    origin = _origin(frame) if has_record(frame) else _row_origin()
    return frame.select(
        origin.alias(ORIGIN),
        (F.struct("*") if needs_row else F.struct(F.lit(True).alias("unread"))).alias(GOOD),
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


def read_origins(rows: pa.StructArray, name: str, values: Sequence[Any] | None) -> list[RawRecord | Record]:
    """Return the records as consumed. Without records, they are those of a source: the row's `values`."""
    topics, partitions, offsets, times, keys, data, headers = (rows.field(index).to_pylist() for index in range(7))
    if values is not None:
        return [Record(name, None, None, None, value) for value in values]
    return [
        RawRecord(topic or "", -1 if partition is None else partition, -1 if offset is None else offset,
                  -1 if time is None else time, "NO_TIMESTAMP_TYPE" if time is None else "CREATE_TIME",
                  key, value, read_headers(header) if header else ())
        for topic, partition, offset, time, key, value, header in zip(
            topics, partitions, offsets, times, keys, data, headers, strict=True
        )
    ]  # fmt: skip


def read_headers(rows: Iterable[Any] | None) -> Headers:
    """Return the headers of a record from their column."""
    return tuple((row["name"], row["value"]) for row in rows or ())


def header_rows(headers: Headers) -> list[dict[str, Any]]:
    """Return headers as rows of their column."""
    return [{"name": name, "value": value} for name, value in headers]


def _origin(frame: DataFrame) -> Any:
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
    return F.struct(
        column("topic", "STRING").alias("topic"),
        column("partition", "INT").alias("partition"),
        column("offset", "BIGINT").alias("offset"),
        time.alias("timestamp"),
        column("key", "BINARY").alias("key"),
        column("value", "BINARY").alias("value"),
        headers.alias("headers"),
    ).cast(_ORIGIN)


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
