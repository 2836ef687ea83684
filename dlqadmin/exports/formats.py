"""From rows to the bytes of a file: NDJSON, CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec
import orjson

from dlqadmin.deadletters.filters import Filters
from dlqadmin.deadletters.payloads import both
from dlqadmin.exports import columns, parquet
from dlqadmin.exports.columns import FACTS, Column
from dlqadmin.exports.reading import Row, slices
from dlqadmin.rest.times import iso_or_none

NAMES = tuple(column.name for column in FACTS)
TIMES = tuple(column.name for column in FACTS if column.type == "time")
# A spreadsheet takes a cell that starts so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Encoder(Protocol):
    """Turns rows into the bytes of a file, in order; it may keep some back until the end."""

    def rows(self, rows: Sequence[Row]) -> bytes:
        """What the file goes on with."""

    def end(self) -> bytes:
        """What it ends with."""


class Format(msgspec.Struct, frozen=True):
    """A kind of file: its name, how the web calls it, and its columns."""

    name: str
    content_type: str
    columns: tuple[Column, ...]


FORMATS = {
    form.name: form
    for form in (
        Format("ndjson", "application/x-ndjson", columns.NDJSON),
        Format("csv", "text/csv; charset=utf-8", columns.CSV),
        Format("parquet", "application/vnd.apache.parquet", columns.PARQUET),
    )
}


class Piece(msgspec.Struct, frozen=True):
    """The next bytes of a file, and how many rows were read for it so far."""

    data: bytes
    rows: int


def pieces(
    form: str, filters: Filters, last: int, *, after: int = 0, limit: int | None = None, head: bool = True
) -> Iterator[Piece]:
    """The file of the matching dead letters with ids above `after` up to `last`; at most `limit` of them.

    Without `head` a CSV file has no line of names, so that it goes on where another one was broken off.
    """
    encoder, read = _encoder(form, head=head), 0
    for rows in slices(filters, after, last):
        taken = rows if limit is None else rows[: limit - read]
        read += len(taken)
        yield Piece(encoder.rows(taken), read)
        if limit is not None and read >= limit:
            break
    yield Piece(encoder.end(), read)


class _Ndjson:
    def rows(self, rows: Sequence[Row]) -> bytes:
        return b"".join(orjson.dumps(_document(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows)

    def end(self) -> bytes:
        return b""


class _Csv:
    def __init__(self, *, head: bool) -> None:
        self._head = _table([[column.name for column in columns.CSV]]) if head else b""

    def rows(self, rows: Sequence[Row]) -> bytes:
        return self._beginning() + _table([_cells(row) for row in rows])

    def end(self) -> bytes:
        return self._beginning()

    def _beginning(self) -> bytes:
        """The line of names, once: a file without rows has it, too."""
        head, self._head = self._head, b""
        return head


def _encoder(form: str, *, head: bool) -> Encoder:
    if form == "csv":
        return _Csv(head=head)
    return parquet.Parquet() if form == "parquet" else _Ndjson()


def _document(row: Row) -> dict[str, Any]:
    return {
        **_facts(row),
        "trace": row["trace"],
        "key": both(row["key"]),
        "value": both(row["value"]),
        "headers": _headers(row),
    }


def _cells(row: Row) -> list[Any]:
    key, value = both(row["key"]), both(row["value"])
    payloads = [_cell(key["text"]), key["base64"], _cell(value["text"]), value["base64"]]
    headers = orjson.dumps(_headers(row)).decode()
    return [*(_cell(fact) for fact in _facts(row).values()), *payloads, headers]


def _headers(row: Row) -> list[dict[str, Any]]:
    return [{"name": name, **both(value)} for name, value in row["headers"]]


def _facts(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in NAMES} | {name: iso_or_none(row[name]) for name in TIMES}


def _cell(value: Any) -> Any:
    """A cell no spreadsheet runs; the base64 columns hold the exact bytes."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _table(rows: Sequence[Sequence[Any]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode("utf-8", "replace")
