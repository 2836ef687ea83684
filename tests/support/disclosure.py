"""The forms in which bytes may carry a text: plain, base64 and hex."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterable

SPACES = re.compile(rb"\s+")


def disclosed(body: bytes, secrets: Iterable[str]) -> list[str]:
    """Return the secrets that the body holds in any form. A hex view may put spaces between the digits."""
    plain = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    packed = SPACES.sub(b"", plain)
    return [secret for secret in secrets if any(form in plain or form in packed for form in forms(secret))]


def forms(secret: str) -> set[bytes]:
    """Return a text as plain bytes, as base64 at each of three alignments, and as hex."""
    data = secret.encode()
    hexes = {data.hex().encode(), data.hex().upper().encode()}
    return {data, *hexes, *(_aligned(data, offset) for offset in range(3))}


def _aligned(data: bytes, offset: int) -> bytes:
    """Return the part of a text's base64 that does not depend on the bytes around it."""
    encoded = base64.b64encode(b"\0" * offset + data).rstrip(b"=")
    begin = (offset * 8 + 5) // 6
    end = (offset + len(data)) * 8 // 6
    return encoded[begin:end]
