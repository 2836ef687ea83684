"""The renderer of the API's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from django.utils.functional import Promise
from rest_framework.renderers import BaseRenderer


class JsonRenderer(BaseRenderer):
    """A renderer of documents, and of the plain values that REST framework itself returns."""

    media_type = "application/json"
    format = "json"
    charset = None  # JSON is UTF-8 (RFC 8259)
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the JSON of a response's data; nothing for None, which is a response without a body."""
        return b"" if data is None else msgspec.json.encode(data, enc_hook=_plain)


def _plain(value: Any) -> str:
    """Return a translated text. Raises NotImplementedError for any other type that JSON does not have."""
    if isinstance(value, Promise):
        return str(value)
    raise NotImplementedError(f"{type(value)} is not JSON")
