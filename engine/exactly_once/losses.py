"""What it means for the records of a transaction that it came to nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import EngineError, FailureType, ProduceFailed, RetriableError
from engine.ports import Row


def is_rejected(error: EngineError) -> bool:
    """Did the brokers refuse a record, for what it is?"""
    cause = error if isinstance(error, ProduceFailed) else error.__cause__
    return isinstance(cause, ProduceFailed) and cause.type is FailureType.MESSAGE_REJECTED


def of_all(lost: Sequence[Row], error: EngineError) -> ProduceFailed:
    """The failure of everything that was produced since the last flush, and who is guilty of it."""
    cause = error.__cause__
    kind, reasons = FailureType.TRANSACTION_FAILED, dict[int, str]()
    if isinstance(error, RetriableError):
        kind = FailureType.DELIVERY_FAILED
    elif isinstance(cause, ProduceFailed):
        kind = cause.type
        reasons = {at: row[1] for at, row in zip(cause.ordinals, cause.failures, strict=False) if at < len(lost)}
    rows = tuple((topic, reasons.get(at, str(error))) for at, (topic, *_) in enumerate(lost))
    return ProduceFailed(rows, tuple(range(len(lost))), kind, tuple(reasons))
