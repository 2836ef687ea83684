"""The formats of objects. Each collects the records of one object, and refuses those that don't fit."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from engine.connectors.json_values import UNWRITABLE, json_of, unread_json_of
from engine.connectors.objects.options import JSON_LINES
from engine.errors import VALUE, DataError, Message, RecordError
from engine.record.unread import read_all


class OpenRows(Protocol):
    """Records that are not written yet. `size` is about the number of bytes."""

    records: int
    size: int

    def prepare(self, values: Sequence[Any]) -> Any:
        """Return the values as `take` wants them. Raises an ExceptionGroup of RecordErrors."""
        ...

    def take(self, prepared: Any) -> None:
        """Add prepared values, before any others are prepared."""
        ...

    def skip(self, prepared: Any) -> None:
        """Go on as after `take`, but without the values."""
        ...


class OpenObject(OpenRows, Protocol):
    """The records of an object."""

    def content(self) -> bytes: ...


class LinesObject:
    """Values as lines of JSON."""

    def __init__(self, codec: str, *, is_unread: bool = False) -> None:
        self._codec = codec
        self._json = unread_json_of if is_unread else json_of
        self._lines: list[bytes] = []
        self.records = self.size = 0

    def prepare(self, values: Sequence[Any]) -> list[bytes]:
        lines, errors = list[bytes](), list[RecordError]()
        for index, value in enumerate(values):
            try:
                lines.append(self._json(value) + b"\n")
            except UNWRITABLE as error:
                errors.append(RecordError(index, error))
        if errors:
            raise ExceptionGroup("values that can't be written as JSON", errors)
        return lines

    def take(self, prepared: list[bytes]) -> None:
        self._lines += prepared
        self.records += len(prepared)
        self.size += sum(map(len, prepared))

    def skip(self, prepared: list[bytes]) -> None:
        """Do nothing: a line does not depend on those before it."""

    def content(self) -> bytes:
        text = b"".join(self._lines)
        return gzip.compress(text, mtime=0) if self._codec == "gzip" else text


class TableRows:
    """Values as rows of a table. Its columns are those of all values; numbers of a column may be of several types."""

    misfit = "the value does not fit the table of the records before it"

    def __init__(self) -> None:
        import pyarrow as pa  # takes 0.3 s to load

        self._arrow = pa
        self._tables: list[Any] = []
        self._schema = pa.schema([])
        self.records = self.size = 0

    def prepare(self, values: Sequence[Any]) -> tuple[Any, Any]:
        rows = [self._row(read_all(value)) if isinstance(value, dict) else None for value in values]
        errors = [
            RecordError(index, DataError(problem))
            for index, row in enumerate(rows)
            if (problem := self._row_problem(row)) is not None
        ]
        if errors:
            raise ExceptionGroup("values that are no rows", errors)
        try:
            table = self._table(rows)
            return table, self._merged(self._schema, table.schema)
        except self._failures:
            raise self._guilty(rows) from None

    def take(self, prepared: tuple[Any, Any]) -> None:
        table, self._schema = prepared
        self._tables.append(table)
        self.records += table.num_rows
        self.size += table.nbytes

    def skip(self, prepared: tuple[Any, Any]) -> None:
        _, self._schema = prepared

    def table(self) -> Any:
        """Return all rows."""
        return self._arrow.concat_tables(self._tables, promote_options="permissive")

    def _row_problem(self, row: Mapping[str, Any] | None) -> str | None:
        """Return why a value is no row, or None. A value that is not an object has None for its row."""
        if row is None:
            return "the value is not an object, so it is no row"
        # A table's number of rows is the length of its columns, so a row without columns would be lost.
        return None if row else "the value has no fields, so it is no row"

    @property
    def _failures(self) -> tuple[type[Exception], ...]:
        return (self._arrow.ArrowException, *UNWRITABLE, OverflowError)

    def _table(self, rows: Sequence[Any]) -> Any:
        names = list(dict.fromkeys(name for row in rows for name in row))
        return self._arrow.table({name: self._arrow.array([row.get(name) for row in rows]) for name in names})

    def _merged(self, before: Any, new: Any) -> Any:
        return self._arrow.unify_schemas([before, new], promote_options="permissive")

    def _guilty(self, rows: Sequence[Any]) -> ExceptionGroup[RecordError]:
        """Return the errors of the rows that don't fit those before them."""
        schema, errors = self._schema, list[RecordError]()
        for index, row in enumerate(rows):
            try:
                schema = self._merged(schema, self._table([row]).schema)
            except self._failures as error:
                reason = Message(f"{self.misfit}: {VALUE}", str(error))
                errors.append(RecordError(index, DataError(reason)))
        if not errors:  # each fits alone, so only together they don't
            reason = Message("the values of a put do not fit one table")
            errors = [RecordError(index, DataError(reason)) for index in range(len(rows))]
        return ExceptionGroup("values that do not fit the table", errors)

    def _row(self, value: Any) -> Any:
        """Return the value with null for empty objects, which a Parquet file can't hold, and texts for field names."""
        if isinstance(value, dict):
            return {str(name): None if part == {} else self._row(part) for name, part in value.items()}
        return [None if part == {} else self._row(part) for part in value] if isinstance(value, list) else value


class TableObject(TableRows):
    """A table as a Parquet file."""

    def __init__(self, codec: str) -> None:
        super().__init__()
        self._codec = codec

    def content(self) -> bytes:
        import pyarrow.parquet as pq

        out = io.BytesIO()
        pq.write_table(self.table(), out, compression=self._codec)
        return out.getvalue()


def open_object(format_: str, codec: str, *, is_unread: bool = False) -> OpenObject:
    """Return an object without records. With `is_unread`, parts of its values may be unread."""
    return LinesObject(codec, is_unread=is_unread) if format_ == JSON_LINES else TableObject(codec)
