"""The error context of KIP-298 as a value. `codec.py` writes and reads it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from engine.record.record import RawRecord, Record
from engine.record.stage import Stage
from engine.record.trace import ExceptionContent

# The decider where there is no handler: the option, and the prefix of its limits' options.
TOLERANCE_NAME = "errors.tolerance"


class ErrorContext(msgspec.Struct, frozen=True):
    """The description of a record's failure. Times are epoch milliseconds.

    - `record`: the input of the failed operation. `original`: the record as consumed.
    - `exception`: the trace as text, with its causes, rendered where it was raised.
    - `exception_class` and `message`: from the raised exception.
    - `root_class` and `root_message`: from the last exception of its cause chain.
    - `attempt`: the number of retries. A first failure that is not retried is 0.

    These texts hold nothing of the record's content. `content` holds the texts that do, or None if there are none.
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
    content: ExceptionContent | None = None

    def with_content(self, include: bool) -> ErrorContext:
        """Return the context with texts that include the record's content, if `include` is set."""
        if not include or self.content is None:
            return self
        told = self.content
        texts = {"exception": told.text, "message": told.message, "root_message": told.root_message}
        return replace(self, **texts, content=None)

    @property
    def stage(self) -> Stage:
        return self.stages[self.index]
