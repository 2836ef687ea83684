"""JSON to Connect data and back: plain, or in envelopes of `schema` and `payload`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from engine.config.options import parse
from engine.config.steps import JSON_CONVERTER
from engine.errors import ConversionError
from engine.record.record import Headers
from engine.record.schema import Schema
from engine.steps.converters.envelope import check, from_payload, schema_from_json, schema_to_json, to_payload


class JsonConverter:
    """org.apache.kafka.connect.json.JsonConverter. `schemas.enable=false` is the quick way: the JSON is the value."""

    OPTIONS = JSON_CONVERTER

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        options = parse(self.OPTIONS, configs)
        self.part = "key" if is_key else "value"
        self.enveloped: bool = options["schemas.enable"]
        self.numeric_decimals = options["decimal.format"] == "NUMERIC"
        self._schema_of: Callable[[bytes], Schema | None] = lru_cache(options["schemas.cache.size"])(_schema_of_json)

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        """Raises ConversionError: not JSON, or not the envelope that `schemas.enable` asks for."""
        if data is None:
            return None, None
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise ConversionError(f"the {self.part} of a record of {topic} is not JSON") from error
        return self._open(topic, value) if self.enveloped else (None, value)

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        """Raises ConversionError: the value does not fit its schema, or can't be written as JSON."""
        if schema is None and value is None:
            return None
        if schema is not None:
            check(schema, value)
            value = to_payload(schema, value, self.numeric_decimals)
        if self.enveloped:
            value = {"schema": None if schema is None else schema_to_json(schema), "payload": value}
        try:
            return orjson.dumps(value, default=to_json_default, option=orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            raise ConversionError(
                f"the {self.part} of a record for {topic} can't be written as JSON: {error}"
            ) from error

    def _open(self, topic: str, envelope: Any) -> tuple[Schema | None, Any]:
        if envelope is None:
            return None, None
        if not isinstance(envelope, dict) or envelope.keys() != {"schema", "payload"}:
            raise ConversionError(
                f"the {self.part} of a record of {topic} has no envelope: with schemas.enable=true it must be an object "
                "with the fields schema and payload and no others; for plain JSON set schemas.enable=false"
            )
        schema = self._schema_of(orjson.dumps(envelope["schema"]))
        return schema, envelope["payload"] if schema is None else from_payload(schema, envelope["payload"])


def to_json_default(value: Any) -> Any:
    """What orjson does not know: bytes become base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} is no Connect data")


def _schema_of_json(text: bytes) -> Schema | None:
    return schema_from_json(orjson.loads(text))
