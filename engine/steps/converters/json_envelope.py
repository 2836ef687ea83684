"""Envelopes of `schema` and `payload` as Connect data. Each schema is read only once."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import orjson

from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.record.unread import DIGITS, LONG_NUMBER, Unread
from engine.steps.converters import json_schema
from engine.steps.converters.json_data import InexactNumber, Reader, reader
from engine.steps.converters.json_top import may_be_deep
from engine.steps.converters.json_typed import Decode, decoder

_loads = orjson.loads
_PAYLOAD = b'"payload":'
_STARTS = 64  # topics; a start is as long as its schema
_END = ord("}")
DECODER_AFTER = 100  # payloads: making a decoder costs as much as it saves on 30 to 60 payloads, and leaves garbage


class _CachedSchema:
    """A schema with its readers: `read` takes parsed JSON, `decode` takes bytes."""

    def __init__(self, row: Any, *, replace_null: bool) -> None:
        self._replace_null = replace_null
        self.schema = json_schema.read(row, replace_null=replace_null)
        self.read: Reader = reader(self.schema, replace_null=replace_null)
        self.decoder: Decode | None = None  # a faster replacement of `decode`
        self._decoded = 0

    def decode(self, payload: bytes) -> Any:
        """Decode a payload.

        Raises orjson.JSONDecodeError, InexactNumber if the fast parser may be wrong, and the exceptions of `read`.
        """
        self._decoded += 1
        if self._decoded == DECODER_AFTER and self.schema is not None:
            self.decoder = decoder(self.schema, self.decode, replace_null=self._replace_null)
        if may_be_deep(payload) or LONG_NUMBER in payload.translate(DIGITS):
            raise InexactNumber
        return self.read(_loads(payload))


class _EnvelopeStart(NamedTuple):
    """The beginning of a topic's last envelope, up to its payload."""

    text: bytes
    known: _CachedSchema


class Envelopes:
    """A reader of envelopes. The records of a topic share their schema, usually with the same text and offset."""

    def __init__(self, cache_size: int, *, replace_null: bool) -> None:
        self._cache_size = cache_size
        self._replace_null = replace_null
        self._known: dict[bytes, _CachedSchema] = {}
        self._starts: dict[str, _EnvelopeStart] = {}

    def open_like_the_last(self, topic: str, data: bytes) -> tuple[Schema | None, Any] | None:
        """Return the content of an envelope with the beginning of the topic's last one, else None."""
        start = self._starts.get(topic)
        if start is None or not data.startswith(start.text) or data[-1] != _END:
            return None
        known = start.known
        decode = known.decoder or known.decode
        try:
            return known.schema, decode(data[len(start.text) : -1])
        except (orjson.JSONDecodeError, InexactNumber, RecursionError):
            return None

    def open(self, topic: str, data: bytes, value: Any) -> tuple[Schema | None, Any]:
        """Return the content of a parsed envelope. Raises ConversionError, and InexactNumber like `reader`."""
        if not isinstance(value, dict) or value.keys() != {"schema", "payload"}:
            raise ConversionError(
                'the JSON must have exactly the fields "schema" and "payload"; for plain JSON, set schemas.enable=false'
            )
        known = self._cached_schema(value["schema"])
        self._keep_start(topic, data, known)
        return known.schema, known.read(value["payload"])

    def _cached_schema(self, row: Any) -> _CachedSchema:
        try:
            key = orjson.dumps(row)
        except TypeError:  # lone surrogates, numbers read exactly
            return _CachedSchema(row, replace_null=self._replace_null)
        if b"null" in key:  # an infinite number is also written as null
            key = repr(row).encode()
        if key not in self._known:
            if len(self._known) >= self._cache_size:
                self._known.clear()
            self._known[key] = _CachedSchema(row, replace_null=self._replace_null)
        return self._known[key]

    def _keep_start(self, topic: str, data: bytes, known: _CachedSchema) -> None:
        try:
            payload = bytes(_decode(data).payload)
        except (msgspec.DecodeError, RecursionError):
            return
        start = data[: -len(payload) - 1]
        if start.endswith(_PAYLOAD) and data == start + payload + b"}":
            if len(self._starts) >= _STARTS and topic not in self._starts:
                self._starts.clear()
            self._starts[topic] = _EnvelopeStart(start, known)


class _Envelope(msgspec.Struct):
    payload: Unread


_decode = msgspec.json.Decoder(_Envelope).decode
