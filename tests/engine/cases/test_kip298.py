"""KIP-298 as Kafka's own tests assert it, case by case; where the KIP differs from shipped Kafka, the test says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.errors import RetriableError
from engine.pipeline.outcome import Failed
from engine.policy.classification import Verdict, classify
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy, ToleranceState
from engine.record.record import Record, TopicPartition
from engine.record.stage import StageType
from tests.engine.cases.faults import ALL, GOOD, NONE, Converter, busy, config, raising, reject_all
from tests.engine.cases.kip298 import CASES, NOT_PORTED
from tests.engine.pipeline.rig import Rig
from tests.fakes import Sink, raw
from tests.support.permissions import open_worker


def test_a_record_that_a_sink_reports_is_tolerated() -> None:
    """C-01, RetryWithToleranceOperatorTest#testExecuteFailed: here the sink raises RecordError."""
    assert Rig([raw()], sink=Sink(reject_all), tolerance=ALL).run() is None


def test_a_record_that_a_sink_reports_fails_a_task_that_tolerates_nothing() -> None:
    """C-02, RetryWithToleranceOperatorTest#testExecuteFailedNoTolerance."""
    end = Rig([raw()], sink=Sink(reject_all), tolerance=NONE).run()
    assert isinstance(end, Failed)
    assert end.message.startswith("Tolerance exceeded")


PLAIN = [{"transform": raising(ValueError())}, {"value": Converter(ValueError())}, {"key": Converter(ValueError())}]


@pytest.mark.parametrize("step", PLAIN, ids=["transform", "value", "key"])
def test_any_exception_of_a_step_is_tolerated(step: dict[str, Any]) -> None:
    """C-03, RetryWithToleranceOperatorTest#testHandleExceptionInTransformations;
    C-05, RetryWithToleranceOperatorTest#testHandleExceptionInValueConverter;
    C-06, RetryWithToleranceOperatorTest#testHandleExceptionInKeyConverter."""
    rig = Rig([raw()], tolerance=ALL, **step)
    assert (rig.run(), rig.reporter.offsets, rig.count("total-record-errors")) == (None, [0], 1)


MARKED = [
    {"transform": raising(RetriableError())}, {"value": Converter(RetriableError())},
    {"key": Converter(RetriableError())},
]  # fmt: skip


@pytest.mark.parametrize("step", MARKED, ids=["transform", "value", "key"])
def test_a_retriable_error_that_is_not_retried_fails_the_task_and_is_never_dropped(step: dict[str, Any]) -> None:
    """C-07, RetryWithToleranceOperatorTest#testHandleRetriableExceptionInTransformationsToleranceNone;
    C-09, RetryWithToleranceOperatorTest#testHandleRetriableExceptionInValueConverterToleranceNone;
    C-10, RetryWithToleranceOperatorTest#testHandleRetriableExceptionInKeyConverterToleranceNone."""
    rig = Rig([raw()], tolerance=NONE, **step)
    assert isinstance(rig.run(), Failed)
    assert (rig.committed(), rig.count("records-consumed")) == (0, 0)


def test_a_plain_exception_of_put_is_not_tolerable() -> None:
    """C-13, RetryWithToleranceOperatorTest#testThrowExceptionInTaskPut."""
    end = Rig([raw()], sink=Sink(raising(ValueError("bug"))), tolerance=ALL).run()
    assert isinstance(end, Failed)
    assert end.context.stage.type is StageType.TASK_PUT


@pytest.mark.parametrize("stage", [StageType.TASK_POLL, StageType.KAFKA_CONSUME, StageType.KAFKA_PRODUCE])
def test_a_plain_exception_of_poll_consume_and_produce_is_not_tolerable(stage: StageType) -> None:
    """C-14, RetryWithToleranceOperatorTest#testThrowExceptionInTaskPoll;
    C-15, RetryWithToleranceOperatorTest#testThrowExceptionInKafkaConsume;
    C-16, RetryWithToleranceOperatorTest#testThrowExceptionInKafkaProduce."""
    assert classify(stage, ValueError()) == Verdict(retry=False, tolerate=False)


def retried(failures: int, retry: RetryPolicy) -> Rig:
    left = [failures]

    def transform(value: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise RetriableError("not yet")
        return value

    rig = Rig([raw(0, GOOD)], transform=transform, retry=retry, patience_ms=10**9)
    rig.run()
    assert (rig.sink.delivered, rig.count("total-record-errors")) == ([{"a": 1}], 0)
    return rig


def test_one_retriable_failure_waits_300_ms() -> None:
    """C-17, RetryWithToleranceOperatorTest#testExecAndHandleRetriableErrorOnce."""
    rig = retried(1, RetryPolicy(-1, 60_000, 6_000))
    assert (rig.clock.waits, rig.count("total-record-failures")) == ([300], 1)


def test_three_retriable_failures_wait_twice_as_long_each_time() -> None:
    """C-18, RetryWithToleranceOperatorTest#testExecAndHandleRetriableErrorThrice."""
    assert retried(3, RetryPolicy(-1, 60_000, 6_000)).clock.waits == [300, 600, 1200]


def test_retries_without_a_deadline_go_on_for_ever() -> None:
    """C-19, RetryWithToleranceOperatorTest#testExecAndHandleRetriableErrorWithInfiniteRetries. The KIP caps a wait at
    the maximum, where shipped Kafka draws a random one."""
    whole = [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400]
    assert retried(8, RetryPolicy(-1, 60_000, -1)).clock.waits == whole
    assert retried(10, RetryPolicy(-1, 60_000, -1)).clock.waits == [*whole, 60_000, 60_000]


@pytest.mark.parametrize(("policy", "failures", "within"), [(NONE, 1, False), (ALL, 2, True), (NONE, 0, True)])
def test_tolerance_is_all_or_none(policy: TolerancePolicy, failures: int, within: bool) -> None:
    """C-24, RetryWithToleranceOperatorTest#testToleranceLimit: none and all are limits of 0 and -1 in the KIP."""
    state = ToleranceState()
    for _ in range(failures):
        state = policy.add(state, 0)
    assert policy.exceeded(state, 0) is not within


def test_without_options_nothing_is_retried_or_tolerated() -> None:
    """C-25, RetryWithToleranceOperatorTest#testDefaultConfigs: the KIP's counts and limits, not a time-out."""
    found = config()
    assert (found.retry_limit, found.retry_timeout_ms, found.retry_delay_max_ms) == (0, None, 60_000)
    assert (found.tolerance_limit, found.tolerance_rate_limit) == (0, 0)


def test_shipped_options_are_read() -> None:
    """C-26, RetryWithToleranceOperatorTest#testSetConfigs."""
    found = config(errors_retry_timeout="100", errors_retry_delay_max_ms="100", errors_tolerance="none")
    assert (found.retry_timeout_ms, found.retry_delay_max_ms, found.tolerance_limit) == (100, 100, 0)


def test_a_retriable_error_of_a_converter_fails_the_task() -> None:
    """C-53, WorkerSinkTaskTest#testRaisesFailedRetriableExceptionFromConvert."""
    assert isinstance(Rig([raw()], value=Converter(RetriableError()), tolerance=NONE).run(), Failed)


def test_a_retriable_error_of_a_transform_fails_the_task() -> None:
    """C-54, WorkerSinkTaskTest#testRaisesFailedRetriableExceptionFromTransform."""
    assert isinstance(Rig([raw()], transform=raising(RetriableError()), tolerance=NONE).run(), Failed)


def test_a_record_that_can_not_be_converted_is_skipped() -> None:
    """C-55, WorkerSinkTaskTest#testSkipsFailedRetriableExceptionFromConvert: shipped Kafka puts an empty list, we
    put nothing."""
    rig = Rig([raw()], value=Converter(RetriableError()), tolerance=ALL)
    assert (rig.run(), rig.sink.puts, rig.committed()) == (None, [], 1)


def test_a_batch_that_a_sink_refused_is_put_again() -> None:
    """C-57, WorkerSinkTaskTest#testPollRedelivery. Nothing is polled in between, so that no partition need be paused;
    and the KIP bounds the retries."""
    rig = Rig([raw(0, GOOD)], sink=Sink(busy(1)), retry=RetryPolicy(1))
    assert rig.run() is None
    assert (rig.sink.puts, rig.count("records-delivered"), rig.committed()) == ([1, 1], 1, 1)


def test_positions_are_those_of_the_topic_that_was_read() -> None:
    """C-58, WorkerSinkTaskTest#testDeliveryWithMutatingTransform."""
    rig = Rig([raw(0, GOOD)])

    class Prefix:
        def apply(self, record: Record) -> Record:
            return msgspec.structs.replace(record, topic=f"newtopic_{record.topic}")

    rig.task.steps = (*rig.task.steps[:1], (2, Prefix().apply))
    assert rig.run() is None
    assert {name: one.offset for name, one in rig.consumer.group.items()} == {TopicPartition("t", 0): 1}


@pytest.mark.parametrize(("option", "topics"), [("topics", "a,dlq"), ("topics.regex", "a|dl.*")])
def test_the_dead_letter_topic_is_none_of_the_connectors_own(option: str, topics: str) -> None:
    """C-71, ConnectorValidationIntegrationTest#testSinkConnectorDeadLetterQueueTopicInTopicsList;
    C-72, ConnectorValidationIntegrationTest#testSinkConnectorDeadLetterQueueTopicMatchesTopicsRegex."""
    from engine.assembly.validation import validate
    from engine.errors import ConfigError

    props = {"name": "c", "connector.class": "FileStreamSink", "file": "/out", "errors.dlq.topic.name": "dlq"}
    with pytest.raises(ConfigError) as raised:
        validate({**props, option: topics}, open_worker({}))
    assert [problem[0] for problem in raised.value.problems] == ["errors.deadletterqueue.topic.name"]


def test_every_case_is_ported_or_says_why_not() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_kip298*.py"))
    ported = {match[1]: match[2] for match in re.finditer(r"\b(C-\d\d), (\w+#\w+)", text)}
    assert ported.keys() | NOT_PORTED.keys() == CASES.keys()
    assert ported.keys() & NOT_PORTED.keys() == set()
    assert {name: CASES[name] for name in ported} == ported
