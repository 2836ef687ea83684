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
from engine.record.unread import DIGITS, LONG_NUMBER
from engine.steps.converters import json_schema
from engine.steps.converters.json_data import InexactNumber
from engine.steps.converters.json_envelope import Envelopes
from engine.steps.converters.json_text import CLOSING, SHALLOW, TAIL, check_depth, read_exactly, read_rare, read_whole
from engine.steps.converters.json_top import top_level
from engine.steps.converters.json_trees import dumps, without_schema
from engine.steps.converters.json_writing import JsonWriteOptions, writer
from engine.steps.per_schema import once_per_schema

_loads = orjson.loads
_TOO_DEEP = "the value is nested too deeply"


class JsonConverter:
    """A converter of JSON. With `schemas.enable` (the default) values are envelopes, otherwise any JSON."""

    OPTIONS = JSON_CONVERTER
    takes_unread = True

    def __init__(self) -> None:
        self._envelope = True
        self._leaves_unread = False
        self._use(JsonWriteOptions(), 1000)

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        values = parse(self.OPTIONS, configs)
        self._envelope = values["schemas.enable"]
        how = JsonWriteOptions(values["decimal.format"] == "NUMERIC", values["replace.null.with.default"])
        self._use(how, values["schemas.cache.size"])

    def _use(self, how: JsonWriteOptions, cache_size: int) -> None:
        """Set the options and clear the caches. The records of a topic share their schema."""
        self._envelopes = Envelopes(cache_size, replace_null=how.replace_null)
        self._writer = once_per_schema(lambda schema: writer(schema, how), cache_size)
        self._text = once_per_schema(lambda schema: orjson.Fragment(dumps(json_schema.write(schema, how))), cache_size)

    def use_unread(self) -> None:
        """Allow unread parts in values without a schema from now on (`engine.record.unread`)."""
        self._leaves_unread = not self._envelope

    @property
    def writes_schemas(self) -> bool:
        """Return whether the output is an envelope with the schema."""
        return self._envelope

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        """Return the value, with its schema if it came in an envelope. Raises ConversionError."""
        if data is None:
            return None, None
        if self._envelope:
            found = self._envelopes.open_like_the_last(topic, data)
            return self._opened(topic, data) if found is None else found
        if self._leaves_unread and (members := top_level(data)) is not None:
            return None, members
        return None, read_json(data)

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        """Return the bytes. A null value without a schema is a tombstone. Raises ConversionError."""
        if schema is None and value is None:
            return None
        try:
            plain = without_schema(value) if schema is None else self._writer(schema)(value)
            if self._envelope:
                plain = {"schema": schema and self._text(schema), "payload": plain}
            return dumps(plain)
        except RecursionError as error:
            raise ConversionError(_TOO_DEEP) from error

    def _opened(self, topic: str, data: bytes) -> tuple[Schema | None, Any]:
        try:
            return self._envelopes.open(topic, data, read_json(data))
        except InexactNumber:
            return self._opened_exactly(topic, data)
        except RecursionError as error:
            raise ConversionError(_TOO_DEEP) from error

    def _opened_exactly(self, topic: str, data: bytes) -> tuple[Schema | None, Any]:
        try:
            return self._envelopes.open(topic, data, read_exactly(data))
        except RecursionError as error:
            raise ConversionError(_TOO_DEEP) from error


def read_json(data: bytes) -> Any:
    """Parse all of the JSON. Raises ConversionError."""
    try:
        value = _loads(data)
    except orjson.JSONDecodeError as refusal:
        value = read_rare(data, refusal)
    else:
        if LONG_NUMBER in data.translate(DIGITS):
            value = read_whole(data, value)
    if len(data) > SHALLOW and data[-TAIL] in CLOSING:
        check_depth(data)
    return value
