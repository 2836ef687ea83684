"""The columns of the data source `deadletters`, and record batches of them.

They are the columns of the dashboard's exports, without those that only the dashboard knows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from engine import dialects
from engine.config.options import Problem, nearest
from engine.dataframes.deadletters_options import SourceOptionError
from engine.dialects import letter_values, unreadable
from engine.dialects.facts import DeadLetterFacts
from engine.dialects.letter_values import MAX_INT, MAX_TRACE, bounded, clean, moment
from engine.record.record import RawRecord

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


class MessageFacts:
    """A message of a dead letter topic. Its facts are decoded when the first column asks for them."""

    def __init__(self, message: RawRecord) -> None:
        self.message = message

    @cached_property
    def facts(self) -> DeadLetterFacts:
        """The facts that the index stores of this message."""
        try:
            return dialects.read_for_index(self.message)
        except Exception as error:  # noqa: BLE001, one odd message must not end the query; the index does the same
            # Without the exception's text, which may quote the message.
            at = self.message
            log.warning("%s-%d at %d is unreadable: %s", at.topic, at.partition, at.offset, type(error).__name__)
            return unreadable.read(self.message)


def _failed_at(letter: MessageFacts) -> Any:
    told = letter_values.failure_time(letter.facts, letter.message)
    return None if told is None else told[0]


def _origin_partition(letter: MessageFacts) -> int | None:
    return bounded(letter.facts.origin.partition, MAX_INT) if letter.facts.origin else None


def _origin_offset(letter: MessageFacts) -> int | None:
    return bounded(letter.facts.origin.offset) if letter.facts.origin else None


def _origin_timestamp(letter: MessageFacts) -> Any:
    return moment(letter.facts.origin.timestamp) if letter.facts.origin else None


def _headers(letter: MessageFacts) -> list[dict[str, Any]]:
    return [{"name": clean(name, 10_000), "value": value} for name, value in letter.message.headers]


_NAMED_BYTES = StructType([StructField("name", StringType()), StructField("value", BinaryType())])
Column = tuple[DataType, bool, Callable[[MessageFacts], Any]]  # type, whether it may be null, value
# In the order of the exports. `timestamp` is not in them: it is the message's own, by which Kafka finds offsets.
COLUMNS: dict[str, Column] = {
    "topic": (StringType(), False, lambda one: one.message.topic),
    "partition": (IntegerType(), False, lambda one: one.message.partition),
    "offset": (LongType(), False, lambda one: one.message.offset),
    "failed_at": (TimestampType(), True, _failed_at),
    "origin_topic": (StringType(), True, lambda one: letter_values.origin_topic(one.facts) or None),
    "origin_partition": (IntegerType(), True, _origin_partition),
    "origin_offset": (LongType(), True, _origin_offset),
    "origin_timestamp": (TimestampType(), True, _origin_timestamp),
    "connector": (StringType(), True, lambda one: letter_values.connector_name(one.facts) or None),
    "task_id": (StringType(), True, lambda one: letter_values.task_name(one.facts) or None),
    "stage": (StringType(), False, lambda one: letter_values.stage_name(one.facts)),
    "exception_class": (StringType(), False, lambda one: letter_values.exception_class(one.facts)),
    "message": (StringType(), False, lambda one: letter_values.short_message(one.facts)),
    "attempt": (IntegerType(), True, lambda one: bounded(one.facts.attempt, MAX_INT)),
    "dialect": (StringType(), False, lambda one: one.facts.dialect),
    "readable": (BooleanType(), False, lambda one: one.facts.readable),
    "original": (StringType(), False, lambda one: "embedded" if one.facts.complete else "unknown"),
    "consumer_group": (StringType(), True, lambda one: letter_values.group_name(one.facts) or None),
    "trace": (StringType(), True, lambda one: clean(one.facts.trace, MAX_TRACE) or None),
    "key": (BinaryType(), True, lambda one: letter_values.original_key(one.facts, one.message)),
    "value": (BinaryType(), True, lambda one: one.facts.value),
    "headers": (ArrayType(_NAMED_BYTES), False, _headers),
    "timestamp": (TimestampType(), True, lambda one: moment(one.message.timestamp)),
}


def whole_schema() -> StructType:
    """Return all columns."""
    return StructType([StructField(name, kind, nullable) for name, (kind, nullable, _) in COLUMNS.items()])


def check_schema(schema: StructType) -> None:
    """Raise SourceOptionError unless each column of a schema is one of ours, with its type."""
    problems = [problem for field in schema.fields if (problem := _column_problem(field))]
    if not schema.fields:
        problems = [("schema", None, f"names no column; choose from {', '.join(COLUMNS)}")]
    if problems:
        raise SourceOptionError(tuple(problems))


class BatchBuilder:
    """A builder of Arrow record batches with the columns of a schema."""

    def __init__(self, schema: StructType) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        self._schema = to_arrow_schema(schema, timezone="UTC")  # Spark compares with this one
        self._values = [COLUMNS[field.name][2] for field in schema.fields]

    def batch(self, messages: Sequence[RawRecord]) -> pa.RecordBatch:
        """Return one record batch with a row for each message. Only the schema's columns are computed."""
        import pyarrow as pa

        letters = [MessageFacts(message) for message in messages]
        arrays = [
            pa.array([value(letter) for letter in letters], field.type)
            for value, field in zip(self._values, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def in_batches(
    messages: Iterator[Sequence[RawRecord]], most_rows: int = 2_000, most_bytes: int = 8 * 1024 * 1024
) -> Iterator[list[RawRecord]]:
    """Cut messages into batches of at most `most_rows`. One that reaches `most_bytes` ends with that message."""
    batch: list[RawRecord] = []
    size = 0
    for polled in messages:
        for message in polled:
            batch.append(message)
            size += size_bytes(message)
            if len(batch) >= most_rows or size >= most_bytes:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def size_bytes(message: RawRecord) -> int:
    """Return the size of key, value and headers."""
    headers = sum(len(name) + len(value or b"") for name, value in message.headers)
    return len(message.key or b"") + len(message.value or b"") + headers


def _column_problem(field: StructField) -> Problem | None:
    known = COLUMNS.get(field.name)
    if known is None:
        return "schema", None, f"the dead letters have no column {field.name}{nearest(field.name, list(COLUMNS))}"
    wanted, given = known[0].simpleString(), field.dataType.simpleString()
    return None if wanted == given else ("schema", None, f"the column {field.name} is {wanted}, not {given}")
