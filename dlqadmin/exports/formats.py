"""The file formats: convert rows to NDJSON, CSV or Parquet bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec
import orjson

from dlqadmin.deadletters.payloads import PayloadReader, as_base64_and_text
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.exports import columns, parquet
from dlqadmin.exports.columns import FACTS, Column
from dlqadmin.exports.row_reader import Row, slices
from dlqadmin.rest.text import spreadsheet_cell
from dlqadmin.rest.times import iso_or_none

NAMES = tuple(column.name for column in FACTS)
TIMES = tuple(column.name for column in FACTS if column.type == "time")


class RowEncoder(Protocol):
    """An encoder of rows to file bytes, in order. It may hold some bytes back until the end."""

    def rows(self, rows: Sequence[Row]) -> bytes:
        """Return the next bytes of the file."""

    def end(self) -> bytes:
        """Return the last bytes of the file."""


FormatName = Literal["ndjson", "csv", "parquet"]


class FileFormat(msgspec.Struct, frozen=True):
    """A file format: its name, its media type and its columns."""

    name: FormatName
    content_type: str
    columns: tuple[Column, ...]


FORMATS: Mapping[str, FileFormat] = {
    form.name: form
    for form in (
        FileFormat("ndjson", "application/x-ndjson", columns.NDJSON),
        FileFormat("csv", "text/csv; charset=utf-8", columns.CSV),
        FileFormat("parquet", "application/vnd.apache.parquet", columns.PARQUET),
    )
}


class FilePiece(msgspec.Struct, frozen=True):
    """The next bytes of a file, and the number of rows read for it so far."""

    data: bytes
    rows: int


def pieces(
    form: str,
    filters: Filters,
    last: int,
    reader: PayloadReader,
    *,
    after: int = 0,
    limit: int | None = None,
    head: bool = True,
) -> Iterator[FilePiece]:
    """Yield the file of at most `limit` matching dead letters with `after` < id <= `last`.

    Without `head`, a CSV file has no header line, so that it can continue an interrupted one.
    """
    encoder, read = _encoder(form, head=head), 0
    for rows in slices(filters, after, last, reader):
        taken = rows if limit is None else rows[: limit - read]
        read += len(taken)
        yield FilePiece(encoder.rows(taken), read)
        if limit is not None and read >= limit:
            break
    yield FilePiece(encoder.end(), read)


class _NdjsonEncoder:
    def rows(self, rows: Sequence[Row]) -> bytes:
        return b"".join(orjson.dumps(_document(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows)

    def end(self) -> bytes:
        return b""


class _CsvEncoder:
    def __init__(self, *, head: bool) -> None:
        self._head = _table([[column.name for column in columns.CSV]]) if head else b""

    def rows(self, rows: Sequence[Row]) -> bytes:
        return self._beginning() + _table([_cells(row) for row in rows])

    def end(self) -> bytes:
        return self._beginning()

    def _beginning(self) -> bytes:
        """Return the header line on the first call only. A file without rows has it too."""
        head, self._head = self._head, b""
        return head


def _encoder(form: str, *, head: bool) -> RowEncoder:
    if form == "csv":
        return _CsvEncoder(head=head)
    return parquet.ParquetEncoder() if form == "parquet" else _NdjsonEncoder()


def _document(row: Row) -> dict[str, Any]:
    return {
        **_facts(row),
        "trace": row["trace"],
        "key": as_base64_and_text(row["key"]),
        "value": as_base64_and_text(row["value"]),
        "headers": _headers(row),
    }


def _cells(row: Row) -> list[Any]:
    key, value = as_base64_and_text(row["key"]), as_base64_and_text(row["value"])
    # The base64 columns hold the exact bytes.
    payloads = [spreadsheet_cell(key["text"]), key["base64"], spreadsheet_cell(value["text"]), value["base64"]]
    headers = orjson.dumps(_headers(row)).decode()
    return [*(spreadsheet_cell(fact) for fact in _facts(row).values()), *payloads, headers]


def _headers(row: Row) -> list[dict[str, Any]]:
    return [{"name": name, **as_base64_and_text(value)} for name, value in row["headers"]]


def _facts(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in NAMES} | {name: iso_or_none(row[name]) for name in TIMES}


def _table(rows: Sequence[Sequence[Any]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode("utf-8", "replace")
