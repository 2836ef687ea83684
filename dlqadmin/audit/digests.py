"""HMACs of audit entries, of their chain and of its head.

The key is AUDIT_KEY. Entries made with earlier keys stay valid if AUDIT_OLD_KEYS lists these keys, oldest
first.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC
from typing import Any, Protocol

from django.conf import settings


class DigestedEntry(Protocol):
    """The columns of an entry that its digest covers. A migration's model has them too."""

    at: Any
    actor: str
    address: str | None
    action: str
    object_type: str
    object_id: str
    detail: Any


def keys() -> list[bytes]:
    """Return all keys that may have sealed entries. The last one is in use."""
    return [key.encode() for key in (*settings.AUDIT_OLD_KEYS, settings.AUDIT_KEY)]


def entry_digest(entry: DigestedEntry, key: bytes) -> str:
    """Return the HMAC of all facts of an entry.

    The user id is left out, because it becomes null when the user is deleted.
    """
    facts = {
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "actor": entry.actor,
        "address": entry.address,
        "action": entry.action,
        "type": entry.object_type,
        "id": entry.object_id,
        "detail": _normalise_number(entry.detail),
    }
    return _hmac(key, "entry", json.dumps(facts, sort_keys=True, separators=(",", ":")))


def entry_seal(before: str, seq: int, digest: str, key: bytes) -> str:
    """Return the seal that links an entry to the seal before it. The first entry has "" before it."""
    return _hmac(key, "seal", f"{before}:{seq}:{digest}")


def head_digest(seq: int, seal: str, key: bytes) -> str:
    """Return the digest that proves that the head was written with the key."""
    return _hmac(key, "head", f"{seq}:{seal}")


def is_same_digest(one: str, other: str) -> bool:
    """Compare two digests in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


def _hmac(key: bytes, purpose: str, text: str) -> str:
    return hmac.new(key, f"dlqadmin.audit.{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def _normalise_number(value: Any) -> Any:
    """Return the value with whole floats as integers: PostgreSQL returns 1e22 as an integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _normalise_number(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_normalise_number(one) for one in value]
    return value
