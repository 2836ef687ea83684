"""Errors in the application log: one line of JSON each."""

from __future__ import annotations

import logging

from engine.record.codec import encode
from engine.record.context import ErrorContext
from engine.record.record import Origin

MAX_BYTES = 256_000
logger = logging.getLogger("engine.record_errors")


class LogReporter:
    """Writes each context to the log."""

    def __init__(self, *, include_configs: bool, include_messages: bool, max_bytes: int = MAX_BYTES) -> None:
        self.include_configs = include_configs
        self.include_messages = include_messages
        self.max_bytes = max_bytes

    def report(self, context: ErrorContext, origin: Origin) -> None:  # noqa: ARG002, the port's
        text = encode(
            context,
            include_configs=self.include_configs,
            include_messages=self.include_messages,
            max_bytes=self.max_bytes,
        )
        logger.error("%s", text.decode())
