"""Transforms and converters of a source as the steps that the guard runs: Connect data becomes bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from engine.errors import ConversionError
from engine.pipeline.chain import Steps, Transform, applying, passes_bytes
from engine.pipeline.outcome import Misstep
from engine.record.record import Headers, Record
from engine.record.schema import BYTES, Schema

KEYS = (bytes, type(None))
WRITTEN = Schema("BYTES", optional=True)  # as BYTES, and known to be done: it is not written again in a retry


class Writer(Protocol):
    """A converter, as it is used here: it writes Connect data as bytes."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None: ...


def source_steps(transforms: Sequence[Transform], key: Writer, value: Writer, header: Writer, first: int = 1) -> Steps:
    """Transforms, then converters of key, value and headers; stages begin at `first`, behind the poll."""
    key_index = first + len(transforms)
    writing = (key_index + 2, _write(key, value, header, key_index))
    return (*enumerate(map(applying, transforms), start=first), writing)


def _write(key: Writer, value: Writer, header: Writer, key_index: int) -> Callable[[Record], Record]:
    """Three stages in one step, so that one record is built, and none where it is bytes already."""
    write_key, write_value, write_header = key.from_connect, value.from_connect, header.from_connect
    value_index, header_index = key_index + 1, key_index + 2
    passes = passes_bytes(key) and passes_bytes(value)

    def write(record: Record) -> Record:
        is_bytes = passes and record.key_schema is BYTES and record.value_schema is BYTES
        if is_bytes and type(record.value) is bytes and type(record.key) in KEYS and not record.headers:
            return record
        index, topic = key_index, record.topic
        data, value, schema, headers = record.key, record.value, record.value_schema, record.headers
        try:
            if record.key_schema is not WRITTEN:
                data = _bytes(write_key(topic, record.key_schema, data))
            index = value_index
            if schema is not WRITTEN:
                value, schema = _bytes(write_value(topic, schema, value)), WRITTEN
            index = header_index
            if headers:
                headers = tuple([(name, BYTES, _bytes(write_header(topic, *one))) for name, *one in headers])
        except Exception as error:
            half = record if index == key_index else _with(record, data, value, schema, headers)
            raise Misstep(index, half, error) from error
        return _with(record, data, value, schema, headers)

    return write


def _with(
    record: Record, key: bytes | None, value: Any, value_schema: Schema | None, headers: tuple[Any, ...]
) -> Record:
    """The record with its key written. By position: keywords would double the cost of the hottest line."""
    return Record(
        record.topic, record.partition, record.timestamp, key, value, WRITTEN, value_schema, headers,
        record.offset, record.timestamp_type, record.raw, record.source_partition, record.source_offset,
    )  # fmt: skip


def _bytes(data: Any) -> bytes | None:
    """What a converter wrote; one of somebody else's may be mistaken."""
    if data is None or isinstance(data, bytes):
        return data
    raise ConversionError(f"the converter wrote a {type(data).__name__}, not bytes")
