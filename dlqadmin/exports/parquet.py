"""Rows as a Parquet file, written while it is read: a row group is in memory, never the file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dlqadmin.exports.columns import PARQUET, SCHEMA_VERSION
from dlqadmin.exports.reading import Row

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS = 20_000
GROUP_BYTES = 16 * 1024 * 1024


class Parquet:
    """The bytes of one file; its row groups have at most 20 000 rows, and about 16 MB."""

    def __init__(self) -> None:
        from pyarrow.parquet import ParquetWriter  # 60 MB of memory: only for whoever writes such a file

        self._schema = _schema()
        self._sink = _Sink()
        self._writer = ParquetWriter(self._sink, self._schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []

    def rows(self, rows: Sequence[Row]) -> bytes:
        """What the file goes on with: nothing, until a row group is full."""
        import pyarrow as pa

        if rows:
            arrays = [_array([row[field.name] for row in rows], field.type) for field in self._schema]
            self._waiting.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        full = sum(batch.num_rows for batch in self._waiting) >= GROUP_ROWS
        if full or sum(batch.nbytes for batch in self._waiting) >= GROUP_BYTES:
            self._write_group()
        return self._sink.taken()

    def end(self) -> bytes:
        """The last row group, and the footer without which nobody reads the file."""
        self._write_group()
        self._writer.close()
        return self._sink.taken()

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting = []


class _Sink(io.RawIOBase):
    """A file that hands out what was written to it since it was last asked."""

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
        """The bytes since the last time."""
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
