"""Errors in the application log, one line of JSON each."""

from __future__ import annotations

import logging

from engine.record.context import ErrorContext
from engine.record.error_context_json import ErrorContextEncoder
from engine.record.record import Origin

MAX_BYTES = 256_000
logger = logging.getLogger("engine.record_errors")


class LogReporter:
    """A reporter that writes each context to the log."""

    def __init__(self, *, include_configs: bool, include_messages: bool, max_bytes: int = MAX_BYTES) -> None:
        self.encoder = ErrorContextEncoder(include_configs=include_configs, include_messages=include_messages)
        self.max_bytes = max_bytes

    def report(self, context: ErrorContext, origin: Origin) -> None:  # noqa: ARG002, the port's
        logger.error("%s", self.encoder.encode(context, self.max_bytes).decode())
