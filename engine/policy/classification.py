"""The classification of failures: retry, tolerate or stop. One table of stage and exception class."""

from __future__ import annotations

from typing import NamedTuple

from engine.errors import ConfigError, FatalError, ProduceFailed, RecordError, RetriableError, TaskError
from engine.record.stage import StageType

Classes = tuple[type[BaseException], ...]

STOP: Classes = (TaskError, FatalError, ConfigError)  # these fail the task at any stage


class Classification(NamedTuple):
    """The permission to retry the operation, and to tolerate its error."""

    retry: bool
    tolerate: bool


class _Rule(NamedTuple):
    retry: Classes
    tolerate: Classes


_STEP = _Rule(retry=(Exception,), tolerate=(Exception,))
# A put or a poll may have had effects outside. It is repeated only if its error asks for that.
_TASK = _Rule(retry=(RetriableError,), tolerate=(RetriableError, RecordError))

RULES: dict[StageType, _Rule] = {
    StageType.TRANSFORMATION: _STEP,
    StageType.KEY_CONVERTER: _STEP,
    StageType.VALUE_CONVERTER: _STEP,
    StageType.HEADER_CONVERTER: _STEP,
    StageType.PROCESSOR: _STEP,
    StageType.KAFKA_CONSUME: _Rule(retry=(RetriableError,), tolerate=(RetriableError,)),
    StageType.KAFKA_PRODUCE: _Rule(retry=(RetriableError,), tolerate=(RetriableError,)),
    StageType.TASK_PUT: _TASK,
    StageType.TASK_POLL: _TASK,
}
_STOP_RULE = _Rule(retry=(), tolerate=())
_AGAIN, _TOLERATED = Classification(retry=True, tolerate=True), Classification(retry=False, tolerate=True)


def classify(stage: StageType, error: BaseException, retry_on: str = "retriable") -> Classification:
    """Return the verdict on one failure.

    `retry_on` is `errors.retry.on`: `retriable` (shipped Kafka) or `all` (KIP-298, "Proposed Changes").
    """
    if not isinstance(error, Exception) or isinstance(error, STOP):
        return Classification(retry=False, tolerate=False)
    if isinstance(error, ProduceFailed) and stage is StageType.KAFKA_PRODUCE:
        return Classification(retry=error.retriable, tolerate=False)
    rule = RULES.get(stage, _STOP_RULE)
    if rule is _STEP:
        return _AGAIN if retry_on == "all" or isinstance(error, RetriableError) else _TOLERATED
    return Classification(isinstance(error, rule.retry), isinstance(error, rule.tolerate))
