"""Converters and transforms as the steps that the guard runs, each with its stage index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from engine.errors import TransformError
from engine.pipeline.error_views import unconverted
from engine.pipeline.guard import Step
from engine.pipeline.outcome import StageException
from engine.record.record import Headers, RawRecord, Record
from engine.record.schema import BYTES, Schema

KEY, VALUE, HEADERS = range(3)  # stage indexes of a sink's converters
# Marks a value that its converter has not read yet. It equals BYTES but is a distinct object: compare it with `is`.
TO_READ = replace(BYTES)
Rows = tuple[tuple[str, Schema | None, Any], ...]


class FromBytesConverter(Protocol):
    """A converter from bytes to Connect data."""

    def to_connect(self, topic: str, data: bytes | None, headers: Headers) -> tuple[Schema | None, Any]: ...


class RecordTransform(Protocol):
    """A transform from one record to another; None filters the record out."""

    def apply(self, record: Record) -> Record | None: ...


Steps = tuple[Step, ...]


def sink_steps(
    key: FromBytesConverter,
    value: FromBytesConverter,
    header: FromBytesConverter | None,
    transforms: Sequence[RecordTransform],
) -> Steps:
    """Return the steps of a sink: converters of key, value and headers as one step, then transforms.

    Stage indexes follow that order. Without a header converter there is no header stage, and headers stay bytes.
    """
    if header is None and passes_bytes(key) and passes_bytes(value):
        converting: Callable[[Any], Any] = unconverted  # leaving bytes as they are cannot fail
    else:
        converting = _convert(key, value, header)
    last = VALUE if header is None else HEADERS
    return tuple(enumerate([converting, *map(applying, transforms)], start=last))


def passes_bytes(converter: object) -> bool:
    """Return whether this is one of the engine's own converters that leave bytes unchanged."""
    # Only the class's own attribute counts: a derived class inherits it, but may convert.
    return bool(vars(type(converter)).get("passes_bytes"))


def steps_from(steps: Steps, stage: int) -> Steps:
    """Return the steps that remain when a stage is tried again."""
    return tuple(step for step in steps if step[0] >= stage)


def applying(transform: RecordTransform) -> Callable[[Record], Record | None]:
    """Return the transform as a step.

    A transform from another package may return anything. A result that is not a record raises TransformError.
    """
    apply = transform.apply
    theirs = getattr(transform, "transform", transform)  # a predicate wraps the transform itself
    # The engine's own transforms are not checked, because every record would pay for it.
    if type(theirs).__module__.startswith("engine."):
        return apply

    def checked(record: Record) -> Record | None:
        given = apply(record)
        if type(given) is Record or given is None or isinstance(given, Record):
            return given
        raise TransformError(f"{type(theirs).__name__} returned a {type(given).__name__}, not a record or None")

    return checked


def _convert(
    key: FromBytesConverter, value: FromBytesConverter, header: FromBytesConverter | None
) -> Callable[[RawRecord | Record], Record]:
    """Return one step that converts key, value and headers, so that only one record is built.

    The step continues with a half converted record if it is given one. Records are built by position: keyword
    arguments would double the cost of this line, which runs most often.
    """
    read_key, read_value = key.to_connect, value.to_connect

    def convert(given: RawRecord | Record) -> Record:
        if type(given) is RawRecord:
            raw = given
            headers: Rows = tuple([(name, BYTES, data) for name, data in raw.headers]) if raw.headers else ()
            try:
                key_schema, key = read_key(raw.topic, raw.key, raw.headers)
            except Exception as error:
                raise StageException(KEY, raw, error) from error
        else:
            assert isinstance(given, Record)
            assert given.raw is not None
            raw, headers, key_schema, key = given.raw, given.headers, given.key_schema, given.key
            if header is not None and given.value_schema is not TO_READ:
                return _with_headers(header, given)
        try:
            value_schema, value = read_value(raw.topic, raw.value, raw.headers)
        except Exception as error:
            # A retry continues behind the key, whose converter has succeeded.
            half = Record(
                raw.topic, raw.partition, raw.timestamp, key, raw.value, key_schema, TO_READ, headers,
                raw.offset, raw.timestamp_type, raw,
            )  # fmt: skip
            raise StageException(VALUE, half, error) from error
        record = Record(
            raw.topic, raw.partition, raw.timestamp, key, value, key_schema, value_schema, headers,
            raw.offset, raw.timestamp_type, raw,
        )  # fmt: skip
        return _with_headers(header, record) if headers and header is not None else record

    return convert


def _with_headers(converter: FromBytesConverter, record: Record) -> Record:
    rows = []
    try:
        for name, _, data in record.headers:
            schema, value = converter.to_connect(record.topic, data, ())
            rows.append((name, schema, value))
    except Exception as error:
        raise StageException(HEADERS, record, error) from error
    return Record(
        record.topic, record.partition, record.timestamp, record.key, record.value, record.key_schema,
        record.value_schema, tuple(rows), record.offset, record.timestamp_type, record.raw,
    )  # fmt: skip
