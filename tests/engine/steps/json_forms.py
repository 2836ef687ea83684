"""The JSON converter with and without schemas."""

from __future__ import annotations

from typing import Any

import orjson

from engine.steps.converters.json import JsonConverter


def plain() -> JsonConverter:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    return converter


def enveloped(**options: str) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({name.replace("_", "."): value for name, value in options.items()}, is_key=False)
    return converter


def read(schema: Any, payload: Any, **options: str) -> Any:
    return enveloped(**options).to_connect("t", orjson.dumps({"schema": schema, "payload": payload}))[1]
