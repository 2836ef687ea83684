"""Converters and transforms as the steps that the guard runs, each with its stage's index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from engine.errors import TransformError
from engine.pipeline.guard import Step
from engine.pipeline.outcome import Misstep
from engine.record.record import Headers, RawRecord, Record
from engine.record.schema import BYTES, Schema

KEY, VALUE = range(2)  # stages of a sink's converters
Rows = tuple[tuple[str, Schema | None, Any], ...]


class Converter(Protocol):
    """Reads bytes as Connect data."""

    def to_connect(self, topic: str, data: bytes | None, headers: Headers) -> tuple[Schema | None, Any]: ...


class Transform(Protocol):
    """Makes a record of a record; None leaves it out."""

    def apply(self, record: Record) -> Record | None: ...


Steps = tuple[Step, ...]


def sink_steps(key: Converter, value: Converter, header: Converter | None, transforms: Sequence[Transform]) -> Steps:
    """Steps of a sink: key, value and headers converters, then transforms. Stages follow that order.

    Without a header converter there is no header stage, and headers stay bytes.
    """
    converting: list[Callable[[Any], Any]] = [_convert(key, value)]
    if header is not None:
        converting.append(_convert_headers(header))
    return tuple(enumerate([*converting, *map(applying, transforms)], start=VALUE))


def passes_bytes(converter: object) -> bool:
    """Is it a converter of the engine's own that leaves bytes as they are?"""
    return bool(vars(type(converter)).get("passes_bytes"))


def steps_from(steps: Steps, stage: int) -> Steps:
    """The steps that are left where a stage is to be tried again."""
    return tuple(step for step in steps if step[0] >= stage)


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


def _convert(key: Converter, value: Converter) -> Callable[[RawRecord | Record], Record]:
    """Key and value in one step, so that one record is built; given one whose key is done, it goes on with the value.

    By position: keywords would double the cost of the hottest line.
    """
    read_key, read_value = key.to_connect, value.to_connect
    passes_key, passes_value = passes_bytes(key), passes_bytes(value)

    def convert(given: RawRecord | Record) -> Record:
        if type(given) is RawRecord:
            raw = given
            headers: Rows = tuple((name, BYTES, data) for name, data in raw.headers) if raw.headers else ()
            try:
                key_schema, key = (BYTES, raw.key) if passes_key else read_key(raw.topic, raw.key, raw.headers)
            except Exception as error:
                raise Misstep(KEY, raw, error) from error
        else:
            assert isinstance(given, Record)
            assert given.raw is not None
            raw, headers, key_schema, key = given.raw, given.headers, given.key_schema, given.key
        try:
            value_schema, value = (BYTES, raw.value) if passes_value else read_value(raw.topic, raw.value, raw.headers)
        except Exception as error:
            half = Record(
                raw.topic, raw.partition, raw.timestamp, key, raw.value, key_schema, BYTES, headers,
                raw.offset, raw.timestamp_type, raw,
            )  # fmt: skip
            raise Misstep(VALUE, half, error) from error
        return Record(
            raw.topic, raw.partition, raw.timestamp, key, value, key_schema, value_schema, headers,
            raw.offset, raw.timestamp_type, raw,
        )  # fmt: skip

    return convert


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
