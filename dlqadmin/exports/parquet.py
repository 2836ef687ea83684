"""A streaming Parquet writer. It keeps one row group in memory, never the whole file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dlqadmin.exports.columns import PARQUET, SCHEMA_VERSION
from dlqadmin.exports.row_reader import Row

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS = 20_000
GROUP_BYTES = 16 * 1024 * 1024


class ParquetEncoder:
    """The bytes of one file. Its row groups have at most 20 000 rows, and about 16 MB."""

    def __init__(self) -> None:
        from pyarrow.parquet import ParquetWriter  # imported here because it takes 60 MB of memory

        self._schema = _schema()
        self._sink = _WriteBuffer()
        self._writer = ParquetWriter(self._sink, self._schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []

    def rows(self, rows: Sequence[Row]) -> bytes:
        """Return the next bytes of the file; empty until a row group is full."""
        import pyarrow as pa

        if rows:
            arrays = [_array([row[field.name] for row in rows], field.type) for field in self._schema]
            self._waiting.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        full = sum(batch.num_rows for batch in self._waiting) >= GROUP_ROWS
        if full or sum(batch.nbytes for batch in self._waiting) >= GROUP_BYTES:
            self._write_group()
        return self._sink.taken()

    def end(self) -> bytes:
        """Return the last row group and the footer, without which the file is unreadable."""
        self._write_group()
        self._writer.close()
        return self._sink.taken()

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting = []


class _WriteBuffer(io.RawIOBase):
    """A file object that returns the bytes written to it since the last call."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._position += len(part)
        return len(part)

    def taken(self) -> bytes:
        """Return the bytes since the last call."""
        taken, self._parts = b"".join(self._parts), []
        return taken


def _schema() -> pa.Schema:
    import pyarrow as pa

    types = {
        "long": pa.int64(),
        "int": pa.int32(),
        "text": pa.string(),
        "time": pa.timestamp("us", tz="UTC"),
        "flag": pa.bool_(),
        "bytes": pa.binary(),
        "list of name and bytes": pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())])),
    }
    fields = [(column.name, types[column.type]) for column in PARQUET]
    return pa.schema(fields, metadata={"dlqadmin.schema": str(SCHEMA_VERSION)})


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_list(kind):
        values = [[{"name": name, "value": value} for name, value in headers] for headers in values]
    return pa.array(values, kind)
