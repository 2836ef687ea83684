"""JsonConverter: plain JSON, or Kafka Connect's envelope of `schema` and `payload`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from engine.config.options import parse
from engine.config.steps import JSON_CONVERTER
from engine.errors import ConversionError
from engine.record.record import Headers
from engine.record.schema import Schema
from engine.steps.converters import json_schema
from engine.steps.converters.json_data import Inexact, from_json
from engine.steps.converters.json_text import (
    CLOSING,
    DIGITS,
    LONG_NUMBER,
    SHALLOW,
    TAIL,
    check_depth,
    read_exactly,
    read_rare,
    read_whole,
)
from engine.steps.converters.json_writing import DEFAULT, How, dumps, to_json

_loads = orjson.loads
_TOO_DEEP = "is nested too deeply for this process"


class JsonConverter:
    """With `schemas.enable` (the default) values are envelopes; without, any JSON."""

    OPTIONS = JSON_CONVERTER

    def __init__(self) -> None:
        self._envelope = True
        self._how = DEFAULT
        self._cache_size = 1000
        self._read: dict[bytes, Schema | None] = {}
        self._written: dict[int, tuple[Schema, orjson.Fragment]] = {}

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        values = parse(self.OPTIONS, configs)
        self._envelope = values["schemas.enable"]
        self._how = How(values["decimal.format"].upper() == "NUMERIC", values["replace.null.with.default"])
        self._cache_size = values["schemas.cache.size"]

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        """The value, with its schema if it came in an envelope. Raises ConversionError."""
        if data is None:
            return None, None
        try:
            value = _loads(data)
        except orjson.JSONDecodeError as refusal:
            value = read_rare(data, refusal)
        else:
            if LONG_NUMBER in data.translate(DIGITS):
                value = read_whole(data, value)
        if len(data) > SHALLOW and data[-TAIL] in CLOSING:
            check_depth(data)
        if not self._envelope:
            return None, value
        try:
            return self._opened(data, value)
        except RecursionError as error:
            raise ConversionError(_TOO_DEEP) from error

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        """The bytes; a value that is null and has no schema is a tombstone. Raises ConversionError."""
        if schema is None and value is None:
            return None
        try:
            plain = to_json(schema, value, self._how)
            if self._envelope:
                plain = {"schema": schema and self._fragment(schema), "payload": plain}
            return dumps(plain)
        except RecursionError as error:
            raise ConversionError(_TOO_DEEP) from error

    def _opened(self, data: bytes, value: Any) -> tuple[Schema | None, Any]:
        try:
            return self._open(value)
        except Inexact:
            return self._open(read_exactly(data))

    def _open(self, value: Any) -> tuple[Schema | None, Any]:
        if not isinstance(value, dict) or value.keys() != {"schema", "payload"}:
            raise ConversionError(
                'is not an envelope of exactly "schema" and "payload"; for plain JSON set schemas.enable=false'
            )
        schema = self._schema(value["schema"])
        return schema, from_json(schema, value["payload"], replace_null=self._how.replace_null)

    def _schema(self, row: Any) -> Schema | None:
        try:
            key = orjson.dumps(row)
        except TypeError:  # lone surrogates, numbers read exactly
            return json_schema.read(row, replace_null=self._how.replace_null)
        if b"null" in key:  # an infinite number is written as null too
            key = repr(row).encode()
        if key not in self._read:
            if len(self._read) >= self._cache_size:
                self._read.clear()
            self._read[key] = json_schema.read(row, replace_null=self._how.replace_null)
        return self._read[key]

    def _fragment(self, schema: Schema) -> orjson.Fragment:
        """The schema's text; kept by identity, since the records of a topic share their schema."""
        kept = self._written.get(id(schema))
        if kept is None:
            if len(self._written) >= self._cache_size:
                self._written.clear()
            kept = schema, orjson.Fragment(dumps(json_schema.write(schema, self._how)))
            self._written[id(schema)] = kept
        return kept[1]
