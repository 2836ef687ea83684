"""What became of a record, or of one operation on it; values, none of them None."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.errors import RetriableError
from engine.policy.asking import Reply
from engine.record.context import ErrorContext
from engine.record.record import Origin


class Filtered(msgspec.Struct, frozen=True):
    """A transform left the record out on purpose."""


FILTERED = Filtered()


class Skipped(msgspec.Struct, frozen=True):
    """The error was tolerated; the task goes on without the record."""

    dead_lettered: bool


class Failed(msgspec.Struct, frozen=True):
    """The error was not tolerated; the task stops before the record. `message` says why, in one sentence."""

    message: str
    context: ErrorContext


class Errored(msgspec.Struct, frozen=True):
    """Retries are exhausted: an error that still waits for its decision, in the order of the records.

    `reply` is what the stage's handler said of it; None where the tolerance policy decides, or the handler is
    asked later.
    """

    context: ErrorContext
    origin: Origin
    error: Exception
    tolerable: bool
    reply: Reply | None = None


class Interrupted(msgspec.Struct, frozen=True):
    """A wait was ended or would outlast the lease: the record is not processed yet.

    `wake_at` (ms) is when to try again; None for a stop request.
    """

    wake_at: int | None


End = Failed | Interrupted  # what ends a task's part of a lease
Verdict = End | RetriableError  # the last: begin again at the last commit


class Trouble(msgspec.Struct, frozen=True):
    """An operation between two attempts: failures so far, and the time of the first (ms)."""

    failures: int = 0
    first_ms: int = 0


class Raised(msgspec.Struct, frozen=True):
    """An operation raised: which stage, what it was given, and the exception."""

    index: int
    given: Any
    error: Exception


class Misstep(Exception):
    """Raised by a step that is several stages at once: which of them failed, and what that one was given."""

    def __init__(self, index: int, given: Any, error: Exception) -> None:
        self.raised = Raised(index, given, error)
