"""Translate the loss of a transaction to failures of its records. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import EngineError, FailureType, ProduceFailed, RetriableError
from engine.ports import Row


def is_rejected(error: EngineError) -> bool:
    """Return whether brokers rejected a record because of its content."""
    cause = error if isinstance(error, ProduceFailed) else error.__cause__
    return isinstance(cause, ProduceFailed) and cause.type is FailureType.MESSAGE_REJECTED


def fail_all(lost: Sequence[Row], error: EngineError) -> ProduceFailed:
    """Return the failure of all records produced since the last flush, with the guilty ones."""
    cause = error.__cause__
    kind, reasons = FailureType.TRANSACTION_FAILED, dict[int, str]()
    if isinstance(error, RetriableError):
        kind = FailureType.DELIVERY_FAILED
    elif isinstance(cause, ProduceFailed):
        kind = cause.type
        reasons = {at: row[1] for at, row in zip(cause.ordinals, cause.failures, strict=False) if at < len(lost)}
    rows = tuple((topic, reasons.get(at, str(error))) for at, (topic, *_) in enumerate(lost))
    return ProduceFailed(rows, tuple(range(len(lost))), kind, tuple(reasons))
