"""Results of an operation on a record, as values; none of them is None."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.errors import RetriableError
from engine.policy.handler_calls import HandlerReply
from engine.record.context import ErrorContext
from engine.record.record import Origin


class Filtered(msgspec.Struct, frozen=True):
    """The result of a transform that filtered the record out."""


FILTERED = Filtered()


class Skipped(msgspec.Struct, frozen=True):
    """A tolerated error; the task goes on without the record."""

    dead_lettered: bool


class Failed(msgspec.Struct, frozen=True):
    """An error that was not tolerated; the task stops before the record. `message` is one sentence for people."""

    message: str
    context: ErrorContext


class PendingError(msgspec.Struct, frozen=True):
    """An error after exhausted retries that still waits for its decision, in record order.

    `reply` is the answer of the stage's handler. It is None if the tolerance policy decides, or the handler is asked
    later.
    """

    context: ErrorContext
    origin: Origin
    error: Exception
    tolerable: bool
    reply: HandlerReply | None = None


class Interrupted(msgspec.Struct, frozen=True):
    """A wait that was ended or would outlast the lease; the record is not processed yet.

    `wake_at` (ms) is when to try again; None for a stop request.
    """

    wake_at: int | None


TaskEnding = Failed | Interrupted  # results that end a task's lease
StepVerdict = TaskEnding | RetriableError  # RetriableError: begin again at the last commit


class FailedAttempts(msgspec.Struct, frozen=True):
    """An operation between two attempts: failures so far, and the time of the first (ms)."""

    failures: int = 0
    first_ms: int = 0


class StageFailure(msgspec.Struct, frozen=True):
    """An exception with the index of the stage that raised it and the stage's input."""

    index: int
    given: Any
    error: Exception


class StageException(Exception):
    """An exception from a step that spans several stages. It names the failed stage and its input."""

    def __init__(self, index: int, given: Any, error: Exception) -> None:
        self.raised = StageFailure(index, given, error)
