"""JsonConverter: plain JSON, or Kafka Connect's envelope of `schema` and `payload`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import orjson

from engine.config.options import parse
from engine.config.steps import JSON_CONVERTER
from engine.errors import ConversionError
from engine.record.record import Headers
from engine.record.schema import Schema
from engine.steps.converters import json_data, json_schema

_loads = orjson.loads


class JsonConverter:
    """With `schemas.enable` (the default) values are envelopes; without, any JSON."""

    OPTIONS = JSON_CONVERTER

    def __init__(self) -> None:
        self._envelope = True
        self._numeric = False
        self._replace_null = True
        self._cache_size = 1000
        self._schemas: dict[bytes, Schema | None] = {}

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        values = parse(self.OPTIONS, configs)
        self._envelope = values["schemas.enable"]
        self._numeric = values["decimal.format"] == "NUMERIC"
        self._replace_null = values["replace.null.with.default"]
        self._cache_size = values["schemas.cache.size"]

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        """The value, with its schema if it came in an envelope. Raises ConversionError."""
        if data is None:
            return None, None
        try:
            value = _loads(data)
        except orjson.JSONDecodeError as error:
            raise ConversionError(f"{len(data)} bytes are not JSON: {error}") from error
        return self._open(value) if self._envelope else (None, value)

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        """The bytes; a value that is null and has no schema is a tombstone. Raises ConversionError."""
        if schema is None and value is None:
            return None
        plain = json_data.to_json(schema, value, numeric=self._numeric, replace_null=self._replace_null)
        if self._envelope:
            plain = {"schema": schema and json_schema.write(schema), "payload": plain}
        try:
            return orjson.dumps(plain, default=_binary, option=orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            raise ConversionError(f"can't be written as JSON: {error}") from error

    def _open(self, value: Any) -> tuple[Schema | None, Any]:
        if not isinstance(value, dict) or value.keys() != {"schema", "payload"}:
            raise ConversionError(
                'is not an envelope of exactly "schema" and "payload"; for plain JSON set schemas.enable=false'
            )
        schema = self._schema(value["schema"])
        return schema, json_data.from_json(schema, value["payload"], replace_null=self._replace_null)

    def _schema(self, row: Any) -> Schema | None:
        key = orjson.dumps(row)
        if key not in self._schemas:
            if len(self._schemas) >= self._cache_size:
                self._schemas.clear()
            self._schemas[key] = json_schema.read(row)
        return self._schemas[key]


def _binary(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a {type(value).__name__} has no JSON form")
