"""What goes wrong in the cases: steps, sinks and reporters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.config.errors_policy import ErrorsConfig, read_errors
from engine.errors import RecordError, RetriableError
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.metrics import zeros
from tests.fakes import Clock, Producer

NONE, ALL = TolerancePolicy(0, 0), TolerancePolicy(-1, -1)
GOOD, BROKEN = b'{"a":1}', b'{"a: 10}'


def raising(error: Exception) -> Callable[[Any], Any]:
    def transform(_: Any) -> Any:
        raise error

    return transform


class Converter:
    """Raises what it is given."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def to_connect(self, topic: str, data: bytes | None, headers: Any) -> Any:
        raise self.error


def passing_every_third() -> Callable[[Any], Any]:
    """A transform that raises a retriable error on two of three calls."""
    calls = [0]

    def transform(value: Any) -> Any:
        calls[0] += 1
        if calls[0] % 3:
            raise RetriableError("not yet")
        return value

    return transform


def letters(producer: Producer) -> DeadLetterReporter:
    return DeadLetterReporter(
        producer=producer, topic="dlq", include_configs=False, include_messages=True, context_headers=False,
        max_bytes=1_000_000, metrics=zeros(), retry=RetryPolicy(), clock=Clock(), jitter=lambda: 1.0,
        patience_ms=lambda _: 10**9,
    )  # fmt: skip


def reject_all(records: Sequence[Record]) -> None:
    raise ExceptionGroup("rejected", [RecordError(index, ValueError("bad")) for index in range(len(records))])


def busy(times: int) -> Callable[[Any], None]:
    left = [times]

    def trouble(_: Any) -> None:
        if left[0]:
            left[0] -= 1
            raise RetriableError("busy")

    return trouble


def config(**options: str) -> ErrorsConfig:
    found, problems, _ = read_errors({name.replace("_", "."): value for name, value in options.items()})
    assert problems == []
    return found
