"""Transforms and converters of a source as the steps that the guard runs: Connect data becomes bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from engine.errors import ConversionError
from engine.pipeline.chain import Steps, Transform, applying
from engine.record.record import Headers, Record
from engine.record.schema import BYTES, Schema


class Writer(Protocol):
    """A converter, as it is used here: it writes Connect data as bytes."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None: ...


def source_steps(transforms: Sequence[Transform], key: Writer, value: Writer, header: Writer, first: int = 1) -> Steps:
    """Transforms, then converters of key, value and headers; indexes begin at `first`, behind the poll."""
    converting = (_write_key(key), _write_value(value), _write_headers(header))
    return tuple(enumerate([*map(applying, transforms), *converting], start=first))


def _write_key(converter: Writer) -> Callable[[Record], Record]:
    def write_key(record: Record) -> Record:
        return replace(
            record, key=_bytes(converter.from_connect(record.topic, record.key_schema, record.key)), key_schema=BYTES
        )

    return write_key


def _write_value(converter: Writer) -> Callable[[Record], Record]:
    def write_value(record: Record) -> Record:
        data = _bytes(converter.from_connect(record.topic, record.value_schema, record.value))
        return replace(record, value=data, value_schema=BYTES)

    return write_value


def _write_headers(converter: Writer) -> Callable[[Record], Record]:
    def write_headers(record: Record) -> Record:
        if not record.headers:
            return record
        rows = [
            (name, BYTES, _bytes(converter.from_connect(record.topic, schema, value)))
            for name, schema, value in record.headers
        ]
        return replace(record, headers=tuple(rows))

    return write_headers


def _bytes(data: Any) -> bytes | None:
    """What a converter wrote; one of somebody else's may be mistaken."""
    if data is None or isinstance(data, bytes):
        return data
    raise ConversionError(f"the converter wrote a {type(data).__name__}, not bytes")
