"""The error context of KIP-298 as a value; `codec.py` writes and reads it."""

from __future__ import annotations

import msgspec

from engine.record.record import RawRecord, Record
from engine.record.stage import Stage

TOLERANCE_NAME = "errors.tolerance"  # decides where no handler does; the option, and how the names of its limits begin


class ErrorContext(msgspec.Struct, frozen=True):
    """Why one record failed. Times are epoch milliseconds.

    `record` is the input of the failed operation; `original` the record as consumed. `exception` is
    the trace as text (cause chain included), rendered where it was raised; `exception_class` and
    `message` belong to the raised exception, `root_class` and `root_message` to the last of its
    cause chain. `attempt` counts re-attempts (a first failure that is not retried is 0).
    """

    record: Record | None
    original: RawRecord | None
    stages: tuple[Stage, ...]
    index: int
    exception: str
    exception_class: str
    message: str
    root_class: str
    root_message: str
    attempt: int
    task_id: str  # "<connector>-<task>"
    connector: str
    time_of_error: int
    first_failure_time: int
    elapsed_ms: int
    handler: str = TOLERANCE_NAME

    @property
    def stage(self) -> Stage:
        return self.stages[self.index]
