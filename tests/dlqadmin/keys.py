"""The header of a request that is done once, however often it is sent."""

from __future__ import annotations

from typing import TypedDict

IdempotencyKey = TypedDict("IdempotencyKey", {"Idempotency-Key": str})
