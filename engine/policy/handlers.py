"""Who decides about an error when retries are exhausted: the tolerance policy, or a handler (KIP-1033)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from engine.record.record import Headers, Record

TOLERANCE_NAME = "errors.tolerance"


class Response(StrEnum):
    """A handler's answer: skip the record and go on, or fail the task."""

    CONTINUE = "CONTINUE"
    FAIL = "FAIL"


class ErrorHandlerContext(msgspec.Struct, frozen=True):
    """Where an error happened (KIP-1033). `topic` None and −1 where there is no record."""

    topic: str | None
    partition: int
    offset: int
    headers: Headers
    processor_node_id: str
    task_id: str
    timestamp: int
    source_raw_key: bytes | None = None
    source_raw_value: bytes | None = None


class ErrorHandler(Protocol):
    """Decides about errors. One object per task and lease."""

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def handle(self, context: ErrorHandlerContext, record: Record | None, exception: Exception) -> Response: ...


class NamedHandler(msgspec.Struct, frozen=True):
    """A handler and the name it was configured by, as error contexts tell it."""

    name: str
    handler: ErrorHandler


class ToleranceHandler:
    """The default: CONTINUE while the task's errors, this one counted, are within its limits (KIP-298)."""

    def __init__(self, within_limits: Callable[[], bool]) -> None:
        self._within_limits = within_limits

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options of its own."""

    def handle(self, context: ErrorHandlerContext, record: Record | None, exception: Exception) -> Response:  # noqa: ARG002 (the protocol's)
        return Response.CONTINUE if self._within_limits() else Response.FAIL
