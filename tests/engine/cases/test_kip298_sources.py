"""KIP-298 in source tasks, as Kafka's own tests assert it. The KIP gives sources dead letters too, which Kafka never
shipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import ConversionError, RetriableError
from engine.pipeline.outcome import Failed
from engine.pipeline.source_steps import source_steps
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Headers
from engine.record.schema import Schema
from tests.engine.pipeline.rig import Apply
from tests.engine.pipeline.source_rig import SourceRig, Text
from tests.fakes import BatchingProducer, Source

NONE, FOR_EVER = TolerancePolicy(0, 0), RetryPolicy(-1, 5_000, 60_000)


class Flaky:
    """Lets every third call pass, as Kafka's FaultyPassthrough does."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, value: Any) -> Any:
        self.calls += 1
        if self.calls % 3:
            raise RetriableError("not yet")
        return value


class FlakyText(Text):
    """A converter that lets every third call pass."""

    def __init__(self) -> None:
        self.passing = Flaky()

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        return super().from_connect(topic, schema, self.passing(value), headers)


class BrokenText(Text):
    """A converter that never works."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        raise ConversionError("no key")


def once(error: Exception) -> Callable[[Any], Any]:
    left = [error]

    def transform(value: Any) -> Any:
        if left:
            raise left.pop()
        return value

    return transform


@pytest.mark.parametrize(("converter", "failures"), [(Text, 4), (FlakyText, 8)], ids=["transform", "and-converter"])
def test_flaky_steps_are_tried_again_and_nothing_is_skipped(converter: type[Text], failures: int) -> None:
    """C-42, ErrorHandlingTaskTest#testErrorHandlingInSourceTasks;
    C-43, ErrorHandlingTaskTest#testErrorHandlingInSourceTasksWithBadConverter."""
    rig = SourceRig(Source(2, batch=1), retry=FOR_EVER)
    rig.task.steps = tuple(source_steps([Apply(Flaky())], Text(), converter(), Text()))
    assert rig.run() is None
    assert (rig.written(), rig.count("total-record-failures")) == ([0, 1], failures)
    assert (rig.count("total-record-errors"), rig.count("total-records-skipped")) == (0, 0)


def test_a_record_whose_transform_failed_is_not_skipped_by_the_next_run() -> None:
    """C-60, AbstractWorkerSourceTaskTest#testSendRecordsFailedTransformationErrorToleranceNone."""
    transform = once(RetriableError("not yet"))
    rig = SourceRig(Source(1), transform=transform, tolerance=NONE)
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message.startswith("Tolerance exceeded")
    again = SourceRig(
        Source(1), transform=transform, tolerance=NONE, store=rig.store, producer=rig.producer, restarts=1
    )
    assert (again.run(), again.written(), again.count("total-records-skipped")) == (None, [0], 0)


def test_records_that_can_not_be_converted_are_skipped() -> None:
    """C-63, AbstractWorkerSourceTaskTest#testSendRecordsConversionExceptionErrorToleranceAll."""
    rig = SourceRig(Source(3))
    rig.task.steps = tuple(source_steps([], BrokenText(), Text(), Text()))
    assert (rig.run(), rig.written(), rig.count("total-records-skipped"), rig.position()) == (None, [], 3, 3)


def refusing(number: int) -> BatchingProducer:
    return BatchingProducer(1, lambda value: value == str(number).encode())


def test_a_record_that_the_broker_refuses_fails_a_task_that_tolerates_nothing() -> None:
    """C-65, WorkerSourceTaskTest#testSendRecordsProducerCallbackFail."""
    rig = SourceRig(Source(2), producer=refusing(1), tolerance=NONE)
    assert isinstance(rig.run(), Failed)
    assert (rig.written(), rig.position()) == ([0], 1)


def test_a_record_that_the_broker_refuses_is_passed_and_its_offset_committed() -> None:
    """C-68, WorkerSourceTaskTest#testSourceTaskIgnoresProducerException."""
    rig = SourceRig(Source(2), producer=refusing(1))
    assert rig.run() is None
    assert (rig.written(), rig.reported(), rig.position()) == ([0], [1], 2)
    assert rig.source.confirmed == [0, 1]
