"""Bytes as a screen needs them: exact, with text beside them where they are text."""

from __future__ import annotations

import base64
from typing import Any

import orjson

SHOWN_BYTES = 64 * 1024
OPENINGS = (b"{", b"[", b'"')


def payload(data: bytes | None, shown: int = SHOWN_BYTES) -> dict[str, Any]:
    """The first `shown` bytes as base64 and, when all of them are UTF-8, as text; and whether it is JSON."""
    if data is None:
        return {
            "size": None,
            "is_null": True,
            "text": None,
            "base64": "",
            "shown": 0,
            "json": False,
            "parse_error": None,
        }
    head = data[:shown]
    valid, error = _json(data)
    return {
        "size": len(data),
        "is_null": False,
        "text": _text(head, cut=len(data) > shown),
        "base64": base64.b64encode(head).decode(),
        "shown": len(head),
        "json": valid,
        "parse_error": error,
    }


def both(data: bytes | None) -> dict[str, str | None]:
    """All bytes as base64, and as text when they are UTF-8."""
    if data is None:
        return {"base64": None, "text": None}
    return {"base64": base64.b64encode(data).decode(), "text": _text(data, cut=False)}


def header(name: str, value: bytes | None) -> dict[str, Any]:
    """A header row; null is not empty."""
    size = None if value is None else len(value)
    head = None if value is None else value[:SHOWN_BYTES]
    return {"name": name, "size": size, **both(head), "is_null": value is None}


def _text(data: bytes, cut: bool) -> str | None:
    """The bytes as UTF-8; a character broken by the cut at the end is left out."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if cut and error.end == len(data) and len(data) - error.start < 4 and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        return None


def _json(data: bytes) -> tuple[bool, dict[str, Any] | None]:
    """Is it JSON? If it only looks like it: where it stops being so, in bytes from 0, line and column from 1."""
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return False, _fault(data, error) if data.lstrip()[:1] in OPENINGS else None
    return True, None


def _fault(data: bytes, error: orjson.JSONDecodeError) -> dict[str, Any]:
    try:
        text = data.decode()
    except UnicodeDecodeError as broken:
        line = data.count(b"\n", 0, broken.start) + 1
        column = broken.start - data.rfind(b"\n", 0, broken.start)
        return {"byte": broken.start, "line": line, "column": column, "message": f"not UTF-8: {broken.reason}"}
    return {
        "byte": len(text[: error.pos].encode()),
        "line": error.lineno,
        "column": error.colno,
        "message": error.msg,
    }
