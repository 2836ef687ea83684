"""Transforms and converters of a source as the steps that the guard runs: Connect data to bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from engine.errors import ConversionError
from engine.pipeline.chain import RecordTransform, Steps, applying, passes_bytes
from engine.pipeline.outcome import StageException
from engine.record.record import Headers, Record
from engine.record.schema import BYTES, Schema

KEYS = (bytes, type(None))
# Marks a value that is converted already, so that a retry does not convert it twice. Compare it with `is`.
WRITTEN = Schema("BYTES", optional=True)


class ToBytesConverter(Protocol):
    """A converter from Connect data to bytes."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None: ...


def source_steps(
    transforms: Sequence[RecordTransform],
    key: ToBytesConverter,
    value: ToBytesConverter,
    header: ToBytesConverter,
    first: int = 1,
) -> Steps:
    """Return the steps: transforms, then converters of key, value and headers; the first stage is `first`."""
    key_index = first + len(transforms)
    writing = (key_index + 2, _write(key, value, header, key_index))
    return (*enumerate(map(applying, transforms), start=first), writing)


def _write(
    key: ToBytesConverter, value: ToBytesConverter, header: ToBytesConverter, key_index: int
) -> Callable[[Record], Record]:
    """Return one step for three stages, so that at most one record is built."""
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
            raise StageException(index, half, error) from error
        return _with(record, data, value, schema, headers)

    return write


def _with(
    record: Record, key: bytes | None, value: Any, value_schema: Schema | None, headers: tuple[Any, ...]
) -> Record:
    """Return the record with its key written. By position: keywords would double the cost of this hot line."""
    return Record(
        record.topic, record.partition, record.timestamp, key, value, WRITTEN, value_schema, headers,
        record.offset, record.timestamp_type, record.raw, record.source_partition, record.source_offset,
    )  # fmt: skip


def _bytes(data: Any) -> bytes | None:
    """Return the result of a converter. The type is checked, because the converter may be third-party code."""
    if data is None or isinstance(data, bytes):
        return data
    raise ConversionError(f"the converter returned a {type(data).__name__}, not bytes or None")
