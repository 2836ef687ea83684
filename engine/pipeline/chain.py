"""Converters and transforms as the steps that the guard runs, each with its stage's index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from engine.errors import TransformError
from engine.pipeline.guard import Step
from engine.record.record import Headers, RawRecord, Record
from engine.record.schema import BYTES, Schema


class Converter(Protocol):
    """Reads bytes as Connect data."""

    def to_connect(self, topic: str, data: bytes | None, headers: Headers) -> tuple[Schema | None, Any]: ...


class Transform(Protocol):
    """Makes a record of a record; None leaves it out."""

    def apply(self, record: Record) -> Record | None: ...


Steps = tuple[Step, ...]


def sink_steps(key: Converter, value: Converter, header: Converter | None, transforms: Sequence[Transform]) -> Steps:
    """Steps of a sink: key, value and headers converters, then transforms. Indexes follow that order.

    Without a header converter there is no header stage, and headers stay bytes.
    """
    converting: list[Callable[[Any], Any]] = [_convert_key(key), _convert_value(value)]
    if header is not None:
        converting.append(_convert_headers(header))
    return tuple(enumerate([*converting, *map(applying, transforms)]))


def applying(transform: Transform) -> Callable[[Record], Record | None]:
    """The transform as a step. One that is not the engine's own may answer anything: that is an error of its stage."""
    apply = transform.apply
    theirs = getattr(transform, "transform", transform)  # under its predicate, if it has one
    if type(theirs).__module__.startswith("engine."):
        return apply

    def checked(record: Record) -> Record | None:
        given = apply(record)
        if type(given) is Record or given is None or isinstance(given, Record):
            return given
        raise TransformError(f"{type(theirs).__name__} answered with a {type(given).__name__}, not with a record")

    return checked


def _convert_key(converter: Converter) -> Callable[[RawRecord], Record]:
    to_connect = converter.to_connect

    def convert_key(raw: RawRecord) -> Record:
        schema, key = to_connect(raw.topic, raw.key, raw.headers)
        # By position: keywords would double the cost of the hottest line.
        return Record(
            raw.topic,
            raw.partition,
            raw.timestamp,
            key,
            raw.value,
            schema,
            BYTES,
            tuple((name, BYTES, data) for name, data in raw.headers) if raw.headers else (),
            raw.offset,
            raw.timestamp_type,
            raw,
        )

    return convert_key


def _convert_value(converter: Converter) -> Callable[[Record], Record]:
    to_connect = converter.to_connect

    def convert_value(record: Record) -> Record:
        raw = record.raw
        assert raw is not None
        schema, value = to_connect(raw.topic, raw.value, raw.headers)
        return Record(
            record.topic,
            record.partition,
            record.timestamp,
            record.key,
            value,
            record.key_schema,
            schema,
            record.headers,
            record.offset,
            record.timestamp_type,
            raw,
        )

    return convert_value


def _convert_headers(converter: Converter) -> Callable[[Record], Record]:
    def convert_headers(record: Record) -> Record:
        if not record.headers:
            return record
        rows = []
        for name, _, data in record.headers:
            schema, value = converter.to_connect(record.topic, data, ())
            rows.append((name, schema, value))
        return Record(
            record.topic,
            record.partition,
            record.timestamp,
            record.key,
            record.value,
            record.key_schema,
            record.value_schema,
            tuple(rows),
            record.offset,
            record.timestamp_type,
            record.raw,
        )

    return convert_headers
