from __future__ import annotations

import pytest

from engine.errors import ConfigError, GenerationFenced, RecordError, RetriableError
from engine.policy.classification import RULES, Classification, classify
from engine.record.stage import StageType

STEPS = [
    StageType.TRANSFORMATION, StageType.KEY_CONVERTER, StageType.VALUE_CONVERTER, StageType.HEADER_CONVERTER,
    StageType.PROCESSOR,
]  # fmt: skip
OTHERS = [StageType.TASK_PUT, StageType.TASK_POLL, StageType.KAFKA_CONSUME, StageType.KAFKA_PRODUCE]


@pytest.mark.parametrize("stage", STEPS)
def test_any_exception_of_a_step_is_tried_again_and_tolerable(stage: StageType) -> None:
    assert classify(stage, ValueError(), "all") == Classification(retry=True, tolerate=True)


@pytest.mark.parametrize("stage", STEPS)
@pytest.mark.parametrize("named", [(), ("retriable",)])
def test_by_default_only_retriable_failures_of_a_step_are_tried_again(stage: StageType, named: tuple[str, ...]) -> None:
    assert classify(stage, ValueError(), *named) == Classification(retry=False, tolerate=True)
    assert classify(stage, RetriableError(), *named) == Classification(retry=True, tolerate=True)


@pytest.mark.parametrize("stage", OTHERS)
def test_a_plain_exception_elsewhere_stops_the_task(stage: StageType) -> None:
    """C-13, RetryWithToleranceOperatorTest#testThrowExceptionInTaskPut;
    C-14, RetryWithToleranceOperatorTest#testThrowExceptionInTaskPoll;
    C-15, RetryWithToleranceOperatorTest#testThrowExceptionInKafkaConsume;
    C-16, RetryWithToleranceOperatorTest#testThrowExceptionInKafkaProduce."""
    assert classify(stage, ValueError(), "all") == Classification(retry=False, tolerate=False)


@pytest.mark.parametrize("stage", OTHERS)
def test_a_retriable_failure_elsewhere_is_tried_again_and_tolerable(stage: StageType) -> None:
    """C-01, RetryWithToleranceOperatorTest#testExecuteFailed."""
    assert classify(stage, RetriableError(), "all") == Classification(retry=True, tolerate=True)


def test_a_rejected_record_is_tolerable_and_not_tried_again() -> None:
    assert classify(StageType.TASK_PUT, RecordError(0, ValueError()), "all") == Classification(
        retry=False, tolerate=True
    )


@pytest.mark.parametrize("error", [GenerationFenced(), ConfigError(()), KeyboardInterrupt(), SystemExit()])
@pytest.mark.parametrize("stage", list(StageType))
def test_what_means_the_task_is_never_tolerated(stage: StageType, error: BaseException) -> None:
    assert classify(stage, error) == Classification(retry=False, tolerate=False)


def test_every_stage_that_runs_has_a_rule() -> None:
    assert RULES.keys() == set(StageType) - {StageType.UNKNOWN}
