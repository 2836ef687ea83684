"""Every exception that the engine raises. The class identifies the cause.

EngineError
├── ConfigError            the configuration (carries every problem found)
├── DataError              the record: its bytes or its shape
│   ├── ConversionError    a converter could not read or write it
│   ├── TransformError     a transform or predicate could not apply
│   └── ExpectationFailed  a row of a DataFrame breaks an expectation
├── RecordError            the record, by its index: a sink rejects single records of a batch
├── PartialPut             a batch: a sink delivered some of its records, and names them
├── RetriableError         an external condition: the same call may succeed later
│   ├── LeaseLost          the worker of a lease died
│   ├── ClusterAway        a cluster beside the connector's own does not answer
│   ├── Throttling         the target asks for a pause before the next call
│   └── Aborted            a transaction was aborted: begin again at the last commit
├── ProduceFailed          an external condition: a record was not written; the type says why (KIP-691)
├── AbortableError         the transaction: it can't be committed, but its producer can begin another
│   └── CommitFailed       its commit was refused, for a reason that is not fatal (KIP-691)
├── FatalError             an external condition: the client can't be used any longer
├── RequestError           the request
│   ├── NotFound           it names a connector or a task that does not exist
│   ├── BadRequest         it is invalid
│   └── RequestConflict    it conflicts with the present state
└── TaskError              the task must stop
    ├── GenerationFenced   a newer generation or leader owns the work
    │   └── LeaderFailed   this driver's own producer can't write, so it can't lead
    ├── OffsetsMissing     committed offsets that existed are gone
    ├── NewerFormat        a newer version of the engine has stored the task's memory
    └── LimitExceeded      a guarded query has more errors than its limits allow
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import chain, repeat
from json import JSONDecodeError
from typing import Self

VALUE = "'<withheld>'"  # stands for a record's value; in quotes, so that errors are grouped as before


class Message(str):
    """A message without content of a record. `content` is the same message with it.

    `content` is made of `template` and `values`. Each `VALUE` in the text stands for the next of the values. If a value
    is an exception, the engine's own messages are shown and others are withheld. Any exception class accepts a Message:
    `ValueError(Message(...))`.
    """

    __slots__ = ("template", "values")
    template: str
    values: tuple[str, ...]

    def __new__(cls, text: str, *values: str | BaseException) -> Self:
        safe = text
        for value in values:  # a plain loop: nearly all are texts
            if type(value) is not str:
                safe, values = _filled(text, map(_safe, values)), tuple(map(_whole, values))
                break
        made = str.__new__(cls, safe)
        made.template, made.values = text, values  # type: ignore[assignment] # they are texts by now
        return made

    @classmethod
    def of(cls, safe: str, content: str) -> Self:
        """Return a message from the two texts."""
        made = cls(safe, content)
        made.template = VALUE
        return made

    @property
    def content(self) -> str:
        """Return the message with all values, for users who may see the record."""
        return _filled(self.template, self.values)


def _filled(template: str, values: Iterable[str]) -> str:
    """Return the template with the values filled in. A marker without a value stays."""
    first, *parts = template.split(VALUE)
    return first + "".join(value + part for value, part in zip(chain(values, repeat(VALUE)), parts, strict=False))


def _safe(value: str | BaseException) -> str:
    message = _message_of(value)
    if type(message) is Message or isinstance(value, EngineError | JSONDecodeError):
        return str(message)
    return VALUE


def _whole(value: str | BaseException) -> str:
    message = _message_of(value)
    return message.content if type(message) is Message else str(message)


def _message_of(value: str | BaseException) -> object:
    """Return the value, or an exception's only argument if it is a Message."""
    is_one = isinstance(value, BaseException) and len(value.args) == 1 and type(value.args[0]) is Message
    return value.args[0] if is_one else value  # type: ignore[union-attr] # only an exception has any


class EngineError(Exception):
    """The base of all exceptions of the engine. Its arguments are positional, so that it pickles.

    Its text holds no content of a record. A message with content is a `Message`.
    """


class ConfigError(EngineError):
    """A configuration that can't be used. `problems` holds (option, value, message) rows."""

    def __init__(self, problems: tuple[tuple[str, str | None, str], ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "; ".join(
            f"{option}: {message}" if value is None else f"{option}={value!r}: {message}"
            for option, value, message in self.problems
        )


class DataError(EngineError):
    """The record can't be processed as it is."""


class ConversionError(DataError):
    """A converter could not read or write the record."""


class TransformError(DataError):
    """A transform or a predicate could not be applied to the record."""


class ExpectationFailed(DataError):
    """A row of a DataFrame breaks an expectation."""


class RecordError(EngineError):
    """A sink rejected one record of a batch. The others were delivered, or can be.

    `index` is the record's index in the batch given to `put`. `cause` is the sink's own exception.
    """

    def __init__(self, index: int, cause: BaseException) -> None:
        super().__init__(index, cause)
        self.index = index
        self.cause = cause

    def __str__(self) -> str:
        # Only the type, because the text of a sink's exception may hold the record's content.
        return f"the sink rejected record {self.index} of the batch: {type(self.cause).__name__}"


class PartialPut(EngineError):
    """A sink delivered some records of a batch, and not the others.

    `delivered` are indexes in the batch given to `put`. `rejected` are the records that the target refused. The rest is
    put again at once if `error` is None; otherwise `error` decides, as if the rest had been put alone.
    """

    def __init__(
        self,
        delivered: tuple[int, ...],
        rejected: tuple[RecordError, ...] = (),
        error: EngineError | None = None,
    ) -> None:
        super().__init__(delivered, rejected, error)
        self.delivered = delivered
        self.rejected = rejected
        self.error = error

    def __str__(self) -> str:
        left = f"; the rest failed: {self.error}" if self.error is not None else ""
        return f"the sink delivered {len(self.delivered)} records and rejected {len(self.rejected)}{left}"


class RetriableError(EngineError):
    """The same call may succeed later: a time-out, a lost connection, a busy database."""


class LeaseLost(RetriableError):
    """The worker of a lease died before it could report."""


class ClusterAway(RetriableError):
    """A cluster beside the connector's own, such as that of its dead letters, does not answer.

    It should be asked less often.
    """


class Throttling(RetriableError):
    """The target asks for a pause of `pause_ms` before the next call, as HTTP's `Retry-After` does."""

    def __init__(self, message: str, pause_ms: int) -> None:
        super().__init__(message, pause_ms)
        self.pause_ms = pause_ms

    def __str__(self) -> str:
        return str(self.args[0])


class Aborted(RetriableError):
    """The open transaction was aborted with all its writes: begin again at the last commit.

    The next transactions are small, so that a record that the brokers reject is found.
    """


class FailureType(StrEnum):
    """The cause of an unwritten record (KIP-691)."""

    MESSAGE_REJECTED = "MESSAGE_REJECTED"  # the record: too large, invalid
    DELIVERY_FAILED = "DELIVERY_FAILED"  # the brokers: a time-out, too few replicas; it may be written later
    TRANSACTION_FAILED = "TRANSACTION_FAILED"  # its transaction, which was aborted with all its writes


class ProduceFailed(EngineError):
    """Records could not be written to Kafka.

    `failures` holds (topic, reason) rows in the order of `ordinals`. `ordinals` are the indexes of the records among
    those produced since the last flush. `type` is MESSAGE_REJECTED if one of the records is invalid itself. `guilty`
    are the ordinals that failed by themselves; in a transaction the others are lost with them. If it is empty, the
    guilty ones are unknown.
    """

    def __init__(
        self,
        failures: tuple[tuple[str, str], ...],
        ordinals: tuple[int, ...] = (),
        type: FailureType = FailureType.MESSAGE_REJECTED,  # noqa: A002, KIP-691's word
        guilty: tuple[int, ...] = (),
    ) -> None:
        super().__init__(failures, ordinals, type, guilty)
        self.failures = failures
        self.ordinals = ordinals
        self.type = type
        self.guilty = guilty

    @property
    def retriable(self) -> bool:
        """Return whether the same records may be written later."""
        return self.type is not FailureType.MESSAGE_REJECTED

    def __str__(self) -> str:
        return "; ".join(f"{topic}: {reason}" for topic, reason in self.failures)


class AbortableError(EngineError):
    """The open transaction can't be committed. Abort it, and begin again."""


class CommitFailed(AbortableError):
    """A transaction was not committed, for a reason that is not fatal. Abort it.

    `__cause__` is that reason, once.
    """


class FatalError(EngineError):
    """The client can't be used any longer. Close it."""


class RequestError(EngineError):
    """A request that can't be fulfilled. The message says why."""


class NotFound(RequestError):
    """The connector or task does not exist."""


class BadRequest(RequestError):
    """The request is invalid: a malformed body, or a connector that would have to be stopped."""


class RequestConflict(RequestError):
    """The request conflicts with the state: the name is taken, it is stopped, another worker leads."""


class NotLeading(RequestConflict):
    """Another driver leads. Its REST API is at `url`, if known."""

    def __init__(self, url: str = "") -> None:
        super().__init__(url)
        self.url = url

    def __str__(self) -> str:
        if self.url:
            return f"this worker is not the leader; send the request to {self.url}"
        return "no worker is the leader at the moment; try again later"


class TaskError(EngineError):
    """The task must stop."""


class GenerationFenced(TaskError):
    """A newer generation or leader owns this work. End quietly."""


class LeaderFailed(GenerationFenced):
    """The producer of the leading driver can't be used any more, for example because a right is missing."""


class OffsetsMissing(TaskError):
    """Committed offsets have disappeared. Never start over silently."""


class NewerFormat(TaskError):
    """A newer version of the engine has stored the task's memory. Without it, dead letters could be doubled."""


class LimitExceeded(TaskError):
    """A guarded query has more errors than its limits allow, or an error that no limit tolerates.

    `context` is the context of the first error as JSON (KIP-298), or empty if the error is not known.
    """

    def __init__(self, message: str, context: str = "") -> None:
        super().__init__(message, context)
        self.context = context

    def __str__(self) -> str:
        return str(self.args[0])
