"""Dead letters of rows that break an expectation. Spark evaluates the expression; the driver describes the failure."""

from __future__ import annotations

from typing import Any

import orjson
from pyspark.sql import Row

from engine.dataframes.envelope import BROKEN, GOOD, ORIGIN, read_headers
from engine.dataframes.stage import EXPECTATION, OpenGuard, converted, error_code
from engine.errors import ExpectationFailed
from engine.pipeline.outcome import FailedAttempts, PendingError, StageFailure
from engine.record.record import RawRecord, Record
from engine.record.stage import Stage, StageType


def expectation_stage(expression: str, name: str) -> Stage:
    """Return the stage of an expectation as error contexts show it."""
    return Stage(StageType.PROCESSOR, EXPECTATION, {"expression": expression}, name)


def broken_error(opened: OpenGuard, row: Row) -> PendingError:
    """Return the error of a row that breaks an expectation, with the row's values as the failed record."""
    origin = row_origin(row, opened.guard.connector)
    index = row[BROKEN]["index"]
    stage = opened.guard.stages[index]
    values = _values(row)
    error = ExpectationFailed(f"{stage.name}: {stage.config['expression']} is not true")
    failure = StageFailure(index, converted(origin, values), error)
    trouble = opened.guard.count_failure(index, FailedAttempts(), opened.guard.clock.now_ms())
    return opened.guard.build_error(failure, origin, trouble, tolerable=True)


def broken_code(row: Row, name: str) -> int:
    """Return the number that stands for the row and its stage in a digest."""
    return error_code(row_origin(row, name), row[BROKEN]["index"])


def row_origin(row: Row, name: str) -> RawRecord | Record:
    """Return the record as consumed, of a row in the driver."""
    origin: Any = row[ORIGIN]
    if origin is None or origin.topic is None:
        return Record(name, None, None, None, _values(row))
    return RawRecord(
        origin.topic, origin.partition, origin.offset, -1 if origin.timestamp is None else origin.timestamp,
        "CREATE_TIME", _bytes(origin.key), _bytes(origin.value), _headers(origin.headers),
    )  # fmt: skip


def _values(row: Row) -> Any:
    if row[BROKEN] is not None:
        return orjson.loads(row[BROKEN]["values"])
    return None if row[GOOD] is None else row[GOOD].asDict(recursive=True)


def _bytes(data: bytes | bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)


def _headers(rows: Any) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((name, _bytes(value)) for name, value in read_headers(rows))
