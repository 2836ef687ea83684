"""The shared cache's JSON serializer. A value read from Redis is data and never code."""

from __future__ import annotations

from typing import Any

import orjson


class JsonSerializer:
    """A serializer for Django's RedisCache, whose own serializer unpickles all but integers.

    Integers are stored as digits, which Redis can increment. A value that is not JSON is read as None.
    """

    def dumps(self, value: Any) -> bytes:
        """Return the value as JSON. Raises TypeError for a value that JSON cannot express."""
        return orjson.dumps(value)

    def loads(self, data: bytes) -> Any:
        """Return the stored value, or None for data that is not JSON."""
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            return None
