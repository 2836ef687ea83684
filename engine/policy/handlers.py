"""The interface of exception handlers and the built-in handlers (KIP-1033)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from engine.config.errors_policy import content_policy_of
from engine.config.options import Option
from engine.errors import ProduceFailed, RetriableError
from engine.record.record import Headers, RawRecord, Record
from engine.record.trace import DISCREET

logger = logging.getLogger("engine.exception_handlers")


class Response(StrEnum):
    """A handler's answer: continue without the record, or fail the task.

    RETRY is only for production handlers and for temporary errors. The task begins again at its last commit.
    """

    CONTINUE = "CONTINUE"
    FAIL = "FAIL"
    RETRY = "RETRY"


# The KIP has one enum for each kind of handler. One answer type serves all.
ProcessingHandlerResponse = DeserializationHandlerResponse = ProductionExceptionHandlerResponse = Response


class SerializationExceptionOrigin(StrEnum):
    """The part of a record that could not be written. Headers are converted with the value."""

    KEY = "KEY"
    VALUE = "VALUE"


class ErrorHandlerContext(msgspec.Struct, frozen=True):
    """The context of an error. Under a punctuation `topic` is None, `partition` and `offset` are −1.

    `timestamp` is that of the record as the failing node got it, or the stream time under a punctuation (ms).
    """

    topic: str | None
    partition: int
    offset: int
    headers: Headers
    processor_node_id: str
    task_id: str
    timestamp: int
    source_raw_key: bytes | None = None
    source_raw_value: bytes | None = None


class ProcessingExceptionHandler(Protocol):
    """A handler for errors of transforms, processors and put.

    `record` is None if a punctuation itself raised.
    """

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def handle(self, context: ErrorHandlerContext, record: Record | None, exception: Exception) -> Response: ...


class DeserializationExceptionHandler(Protocol):
    """A handler for records that a converter can't read. `record` is the record as consumed.

    A first argument named or annotated as a processor context marks the old signature. It gets the same object: a
    handler may only use the old context's metadata.
    """

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def handle(self, context: ErrorHandlerContext, record: RawRecord, exception: Exception) -> Response: ...


class ProductionExceptionHandler(Protocol):
    """A handler for records that can't be written.

    `handle` gets the record as bytes. `handle_serialization_exception` gets it unconverted; without that method such
    errors fail the task. The old signatures `handle(record, exception)` and `handle_serialization_exception(record,
    exception)` are called too.
    """

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def handle(self, context: ErrorHandlerContext, record: Record, exception: Exception) -> Response: ...
    def handle_serialization_exception(
        self,
        context: ErrorHandlerContext,
        record: Record,
        exception: Exception,
        origin: SerializationExceptionOrigin,
    ) -> Response: ...


class _Logging:
    """A handler that logs the coordinates and the trace, and always gives the same answer.

    Values of records are logged if `errors.log.include.messages` is set.
    """

    OPTIONS: tuple[Option, ...] = ()

    def __init__(self, what: str, level: int, response: Response) -> None:
        self._what = what
        self._level = level
        self._response = response
        self._content_policy = DISCREET

    def configure(self, configs: Mapping[str, str]) -> None:
        """Do nothing: the handler has no options."""
        self._content_policy = content_policy_of(configs)

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> Response:  # noqa: ARG002, KIP's
        logger.log(
            self._level,
            "%s failed, %s: node %s of task %s, topic %s, partition %d, offset %d\n%s",
            self._what,
            self._response,
            context.processor_node_id,
            context.task_id,
            context.topic,
            context.partition,
            context.offset,
            self._content_policy.trace(exception),
        )
        return self._response


class LogAndFailProcessingExceptionHandler(_Logging):
    """Logs the error and fails the task."""

    def __init__(self) -> None:
        super().__init__("processing", logging.ERROR, Response.FAIL)


class LogAndContinueProcessingExceptionHandler(_Logging):
    """Logs the error and continues without the record."""

    def __init__(self) -> None:
        super().__init__("processing", logging.WARNING, Response.CONTINUE)


class LogAndFailExceptionHandler(_Logging):
    """Logs a record that can't be read and fails the task."""

    def __init__(self) -> None:
        super().__init__("deserialization", logging.ERROR, Response.FAIL)


class LogAndContinueExceptionHandler(_Logging):
    """Logs a record that can't be read and continues without it."""

    def __init__(self) -> None:
        super().__init__("deserialization", logging.WARNING, Response.CONTINUE)


class DefaultProductionExceptionHandler:
    """RETRY for errors that brokers may recover from, FAIL for records they never accept."""

    OPTIONS: tuple[Option, ...] = ()

    def configure(self, configs: Mapping[str, str]) -> None:
        """Do nothing: the handler has no options."""

    def handle(self, context: ErrorHandlerContext, record: Record, exception: Exception) -> Response:  # noqa: ARG002, KIP's
        return Response.RETRY if may_pass(exception) else Response.FAIL


def may_pass(exception: Exception) -> bool:
    """Return whether the error is external and temporary, so that a retry may succeed."""
    return isinstance(exception, RetriableError) or (isinstance(exception, ProduceFailed) and exception.retriable)
