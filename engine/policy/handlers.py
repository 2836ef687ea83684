"""What a handler of exceptions is given and what it may answer, and those that are built in (KIP-1033)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from engine.config.options import Option
from engine.errors import ProduceFailed, RetriableError
from engine.record.record import Headers, RawRecord, Record

logger = logging.getLogger("engine.exception_handlers")


class Response(StrEnum):
    """A handler's answer: go on without the record, or fail the task.

    RETRY is a production handler's alone and only for errors that may pass: the task begins again at its last commit.
    """

    CONTINUE = "CONTINUE"
    FAIL = "FAIL"
    RETRY = "RETRY"


# The KIP has an enum for each kind of handler; one answer does for all.
ProcessingHandlerResponse = DeserializationHandlerResponse = ProductionExceptionHandlerResponse = Response


class SerializationExceptionOrigin(StrEnum):
    """Which part of a record could not be written; headers are converted with the value."""

    KEY = "KEY"
    VALUE = "VALUE"


class ErrorHandlerContext(msgspec.Struct, frozen=True):
    """Where an error happened. Under a punctuation `topic` is None, `partition` and `offset` −1.

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
    """Decides about errors of transforms, processors and put; `record` is None where a punctuation raised itself."""

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def handle(self, context: ErrorHandlerContext, record: Record | None, exception: Exception) -> Response: ...


class DeserializationExceptionHandler(Protocol):
    """Decides about records that a converter can't read; `record` is as it was consumed.

    A first argument called or annotated as a processor context marks the old signature. It is given the same
    object: the old context's metadata is all that a handler may use.
    """

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def handle(self, context: ErrorHandlerContext, record: RawRecord, exception: Exception) -> Response: ...


class ProductionExceptionHandler(Protocol):
    """Decides about records that can't be written: `record` is bytes to `handle`, unconverted to the other.

    Without `handle_serialization_exception` such errors fail the task. The old signatures `handle(record, exception)`
    and `handle_serialization_exception(record, exception)` are called too.
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
    """Logs where it happened and the exception, never the record; answers the same each time."""

    OPTIONS: tuple[Option, ...] = ()

    def __init__(self, what: str, level: int, response: Response) -> None:
        self._what = what
        self._level = level
        self._response = response

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> Response:  # noqa: ARG002, KIP's
        logger.log(
            self._level,
            "%s failed, %s: node %s of task %s, topic %s, partition %d, offset %d",
            self._what,
            self._response,
            context.processor_node_id,
            context.task_id,
            context.topic,
            context.partition,
            context.offset,
            exc_info=exception,
        )
        return self._response


class LogAndFailProcessingExceptionHandler(_Logging):
    """Logs the error and fails the task."""

    def __init__(self) -> None:
        super().__init__("processing", logging.ERROR, Response.FAIL)


class LogAndContinueProcessingExceptionHandler(_Logging):
    """Logs the error and goes on without the record."""

    def __init__(self) -> None:
        super().__init__("processing", logging.WARNING, Response.CONTINUE)


class LogAndFailExceptionHandler(_Logging):
    """Logs a record that can't be read and fails the task."""

    def __init__(self) -> None:
        super().__init__("deserialization", logging.ERROR, Response.FAIL)


class LogAndContinueExceptionHandler(_Logging):
    """Logs a record that can't be read and goes on without it."""

    def __init__(self) -> None:
        super().__init__("deserialization", logging.WARNING, Response.CONTINUE)


class DefaultProductionExceptionHandler:
    """RETRY while the brokers may come back, FAIL for what they will never take."""

    OPTIONS: tuple[Option, ...] = ()

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def handle(self, context: ErrorHandlerContext, record: Record, exception: Exception) -> Response:  # noqa: ARG002, KIP's
        return Response.RETRY if may_pass(exception) else Response.FAIL


def may_pass(exception: Exception) -> bool:
    """Is the world at fault, so that the same may succeed later?"""
    return isinstance(exception, RetriableError) or (isinstance(exception, ProduceFailed) and exception.retriable)
