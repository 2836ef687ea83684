"""Text that any database stores."""

from __future__ import annotations

from typing import Any


def storable(value: Any) -> Any:
    """The value with every text in it free of NUL and lone surrogates, which PostgreSQL refuses."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {storable(name): storable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [storable(one) for one in value]
    return value


def counted(number: int, noun: str) -> str:
    """So many of them, in words: `1 record`, `2 records`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
