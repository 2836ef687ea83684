"""Error contexts as JSON (KIP-298, "Message Format for Error Context").

docs/error-context.md describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import orjson
from msgspec import UNSET

from engine.record.context import ErrorContext
from engine.record.decoder import DecodedContext, decode
from engine.record.error_context_body import VERSION, ErrorContextBody, body_of, original_row, pointer_row, stage_row
from engine.record.stage import Stage
from engine.record.values import to_json

__all__ = ["VERSION", "DecodedContext", "ErrorContextEncoder", "decode", "encode"]

NO_LIMIT = 2**63 - 1
_SHORT, _SHORTER, _SHORTEST = 500, 150, 30  # characters kept of a text that has to be cut
_TOPIC = 249
_ODD = re.compile("[^ -~]")  # characters that may take several bytes in JSON
_TEXTS = ("exception", "exception_class", "message", "root_class", "root_message", "task_id", "connector", "handler")


class ErrorContextEncoder:
    """An encoder of error contexts. It encodes stages shared by one task only once.

    A context is never larger than `max_bytes` if that is 4 kB or more. A larger context loses these parts, in this
    order: the converted record, the configs, the trace, and the original bytes, whose size and digest remain.
    `truncated` names the last step taken.
    """

    def __init__(self, *, include_configs: bool = False, include_messages: bool = False) -> None:
        self._include_configs = include_configs
        self._include_messages = include_messages
        self._stages: tuple[Stage, ...] = ()
        self._written = msgspec.Raw(b"[]")  # the encoded shared stages

    def encode(self, context: ErrorContext, max_bytes: int = NO_LIMIT) -> bytes:
        """Return the context as JSON."""
        context = context.with_content(self._include_messages)
        if context.stages is not self._stages:
            rows = [stage_row(stage, include_configs=self._include_configs) for stage in context.stages]
            self._stages, self._written = context.stages, msgspec.Raw(_dump(rows))
        body = body_of(context, self._written, include_messages=self._include_messages)
        data = _dump(body)
        return data if len(data) <= max_bytes else _shortened(body, context, max_bytes)


def encode(
    context: ErrorContext,
    *,
    include_configs: bool = False,
    include_messages: bool = False,
    max_bytes: int = NO_LIMIT,
) -> bytes:
    """Encode one context as JSON; see ErrorContextEncoder."""
    encoder = ErrorContextEncoder(include_configs=include_configs, include_messages=include_messages)
    return encoder.encode(context, max_bytes)


def _shortened(body: ErrorContextBody, context: ErrorContext, max_bytes: int) -> bytes:
    body.stages = orjson.loads(bytes(body.stages))
    for step, cut in _CUTS:
        cut(body, context)
        body.truncated = step
        data = _dump(body)
        if len(data) <= max_bytes:
            break
    return data


def _cut_record(body: ErrorContextBody, context: ErrorContext) -> None:
    if body.original_record is UNSET and context.original is not None:
        # `record` was left out because it equals the original
        body.original_record = original_row(context.original, include_messages=True)
    if body.record is not None:
        body.record.key = body.record.value = body.record.headers = UNSET


def _cut_configs(body: ErrorContextBody, context: ErrorContext) -> None:  # noqa: ARG001 (every cut is called alike)
    for stage in body.stages:
        stage.pop("config", None)


def _cut_trace(body: ErrorContextBody, context: ErrorContext) -> None:
    body.exception = f"{context.exception_class}: {context.message}"
    for name in _TEXTS[:5]:
        setattr(body, name, getattr(body, name)[:_SHORT])


def _cut_original(body: ErrorContextBody, context: ErrorContext) -> None:
    if context.original is not None and body.original_record is not UNSET and body.original_record.value is not UNSET:
        body.original_record = pointer_row(context.original)


def _cut_to_pointer(
    body: ErrorContextBody, context: ErrorContext, shorten: Callable[[str], str], most_stages: int
) -> None:
    _cut_original(body, context)
    for name in _TEXTS:
        setattr(body, name, shorten(getattr(body, name)))
    if body.record is not None:
        body.record.topic = _ODD.sub("?", body.record.topic[:_TOPIC])
        body.record.source_partition = body.record.source_offset = UNSET
    if body.original_record is not UNSET:
        body.original_record.topic = _ODD.sub("?", body.original_record.topic[:_TOPIC])
    if len(body.stages) > most_stages and 0 <= context.index < len(body.stages):
        body.stages, body.index = [body.stages[context.index]], 0
    for stage in body.stages:
        for name in stage.keys() & {"class", "name"}:
            stage[name] = shorten(stage[name])


def _shorter(text: str) -> str:
    return text[:_SHORTER]


def _shortest(text: str) -> str:
    return _ODD.sub("?", text[:_SHORTEST])


_CUTS: tuple[tuple[str, Callable[[ErrorContextBody, ErrorContext], None]], ...] = (
    ("record", _cut_record),
    ("configs", _cut_configs),
    ("trace", _cut_trace),
    ("pointer", partial(_cut_to_pointer, shorten=_shorter, most_stages=10)),
    ("pointer", partial(_cut_to_pointer, shorten=_shortest, most_stages=1)),
)


def _dump(body: Any) -> bytes:
    try:
        return _encode(body)
    except UnicodeEncodeError:  # lone surrogates
        pass
    if isinstance(body, ErrorContextBody) and isinstance(body.stages, msgspec.Raw):
        body = msgspec.structs.replace(body, stages=orjson.loads(bytes(body.stages)))
    return to_json(msgspec.to_builtins(body, enc_hook=_plain)).encode()


def _plain(value: Any) -> Any:
    """Return a JSON value for an instance of a foreign class: its text or number, else its `str()`."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    return f"{value}"


_encode = msgspec.json.Encoder(enc_hook=_plain).encode
