"""Every exception the engine raises; the class says who is at fault.

EngineError
├── ConfigError            the configuration (carries every problem found)
├── DataError              the record: its bytes or its shape
│   ├── ConversionError    a converter could not read or write it
│   └── TransformError     a transform or predicate could not apply
├── RecordError            the record, by name: a sink rejects single records of a batch
├── RetriableError         the world: the same call may succeed later
│   ├── LeaseLost          the worker of a lease died
│   ├── ClusterAway        a cluster beside the connector's own does not answer
│   └── Aborted            a transaction came to nothing: begin again at the last commit
├── ProduceFailed          the world: a record was not written; its type says whose fault that is (KIP-691)
├── AbortableError         the transaction: it can't be committed, but its producer can begin another
│   └── CommitFailed       its commit was refused, for a reason that is not fatal (KIP-691)
├── FatalError             the world: the client can't be used any longer
├── RequestError           the request
│   ├── NotFound           it names a connector or a task that does not exist
│   ├── BadRequest         it can't be met by anybody, as it stands
│   └── Conflict           it can't be met in the present state
└── TaskError              the task must stop
    ├── Fenced             a newer generation or leader owns the work
    └── OffsetsMissing     committed offsets that existed are gone
"""

from __future__ import annotations

from enum import StrEnum


class EngineError(Exception):
    """Root of all exceptions of the engine. Facts are positional, so that it pickles."""


class ConfigError(EngineError):
    """A configuration that can't be used; `problems` holds (option, value, message) rows."""

    def __init__(self, problems: tuple[tuple[str, str | None, str], ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "; ".join(f"{option}={value!r}: {message}" for option, value, message in self.problems)


class DataError(EngineError):
    """The record can't be processed as it is."""


class ConversionError(DataError):
    """A converter could not read or write the record."""


class TransformError(DataError):
    """A transform or a predicate could not be applied to the record."""


class RecordError(EngineError):
    """One record of a batch was rejected by a sink; the others were, or can be, delivered.

    `index` is the record's place in the batch given to `put`; `cause` the sink's own exception.
    """

    def __init__(self, index: int, cause: BaseException) -> None:
        super().__init__(index, cause)
        self.index = index
        self.cause = cause

    def __str__(self) -> str:
        return f"record {self.index} of the batch was rejected: {self.cause}"


class RetriableError(EngineError):
    """The same call may succeed later: a time-out, a lost connection, a busy database."""


class LeaseLost(RetriableError):
    """The worker of a lease died before it could report."""


class ClusterAway(RetriableError):
    """A cluster beside the connector's own, as of its dead letters, does not answer: to be asked less often."""


class Aborted(RetriableError):
    """The open transaction was aborted with all that was written in it: begin again at the last commit, in small steps,
    so that a record which the brokers reject is found."""


class FailureType(StrEnum):
    """Whose fault it is that a record was not written (KIP-691)."""

    MESSAGE_REJECTED = "MESSAGE_REJECTED"  # the record's: too large, invalid
    DELIVERY_FAILED = "DELIVERY_FAILED"  # the brokers': a time-out, too few replicas; it may be written later
    TRANSACTION_FAILED = "TRANSACTION_FAILED"  # its transaction's: what was written in it came to nothing


class ProduceFailed(EngineError):
    """Records could not be written to Kafka; `failures` holds (topic, reason) rows, of the same order as `ordinals`.

    `ordinals` says which ones: the place of each among the records produced since the last flush. `type` is
    MESSAGE_REJECTED if one of them is at fault itself. `guilty` are those of the ordinals that failed by themselves:
    in a transaction the others are lost with them. Where it is empty, nobody knows which ones.
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
        """May the same records be written later?"""
        return self.type is not FailureType.MESSAGE_REJECTED

    def __str__(self) -> str:
        return "; ".join(f"{topic}: {reason}" for topic, reason in self.failures)


class AbortableError(EngineError):
    """The open transaction can't be committed; abort it, and begin again."""


class CommitFailed(AbortableError):
    """A transaction was not committed, for a reason that is not fatal: abort it. `__cause__` is that reason, once."""


class FatalError(EngineError):
    """The client is beyond repair; close it."""


class RequestError(EngineError):
    """A request that can't be met; the message says why."""


class NotFound(RequestError):
    """The connector or task does not exist."""


class BadRequest(RequestError):
    """It can't be met as it stands: a body of another form, a connector that would have to be stopped."""


class Conflict(RequestError):
    """Not in the present state: the name is taken, the connector stopped, another worker leads."""


class NotLeading(Conflict):
    """Another driver leads: its REST API answers at `url`, or nobody knows where."""

    def __init__(self, url: str = "") -> None:
        super().__init__(url)
        self.url = url

    def __str__(self) -> str:
        return f"another worker leads, at {self.url}" if self.url else "no worker leads at the moment; try again soon"


class TaskError(EngineError):
    """The task must stop."""


class Fenced(TaskError):
    """A newer generation or leader owns this work; end quietly."""


class OffsetsMissing(TaskError):
    """Offsets were committed once and are gone; never start over silently."""
