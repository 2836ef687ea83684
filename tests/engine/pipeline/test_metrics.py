"""KIP-298, "Metrics": what each counter says after a story with everything in it."""

from __future__ import annotations

from engine.errors import RetriableError
from engine.pipeline.task_state import TaskState
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.log import LogReporter
from engine.reporting.metrics import BUCKETS, Metric, is_balanced
from tests.engine.pipeline.rig import Rig, letter_reporter
from tests.fakes import Clock, Producer, raw

KIP_298 = {
    "total-record-failures", "total-records-skipped", "total-retries", "total-failures-logged",
    "deadletterqueue-records-produced", "deadletterqueue-produce-failures", "last-failure-timestamp",
}  # fmt: skip
OURS = {
    "total-record-errors", "records-consumed", "records-delivered", "records-dead-lettered", "records-skipped",
    "records-filtered", "dropped-records-total",
}  # fmt: skip


def test_the_names_are_those_of_the_kip_and_a_few_more() -> None:
    assert {str(name) for name in Metric} == KIP_298 | OURS
    assert {str(name) for name in BUCKETS} <= OURS


def story() -> Rig:
    """Two good records, one filtered, one flaky that passes at the second attempt, one broken for good."""
    left, clock, producer = [1], Clock(), Producer()
    producer.fail_next, producer.retriable = [{0}], True

    def transform(value: int) -> int | None:
        if value == 7 and left[0]:
            left[0] -= 1
            raise RetriableError("not yet")
        return None if value == 0 else value

    def letters(state: TaskState) -> DeadLetterReporter:
        return letter_reporter(producer, state, clock, retry=RetryPolicy(1))

    values = [b"1", b"2", b"0", b"7", b"{"]
    records = [raw(offset, value) for offset, value in enumerate(values)]
    rig = Rig(
        records, transform=transform, retry=RetryPolicy(1), tolerance=TolerancePolicy(5, 5), clock=clock,
        letters=letters,
    )  # fmt: skip
    rig.task.guard.reporters = (LogReporter(include_configs=False, include_messages=False),)
    assert rig.run() is None
    return rig


def test_each_counter_counts_what_its_name_says() -> None:
    rig = story()
    assert {str(name): value for name, value in rig.state.metrics.items()} == {
        "total-record-failures": 3,  # the flaky record's, the broken record's and its retry's
        "total-record-errors": 1,
        "total-records-skipped": 1,
        "total-retries": 3,  # of the flaky record, of the broken one, of its dead letter
        "total-failures-logged": 1,
        "deadletterqueue-records-produced": 1,
        "deadletterqueue-produce-failures": 0,  # its retry was written
        "last-failure-timestamp": rig.state.metrics[Metric.LAST_FAILURE_TIMESTAMP],
        "records-consumed": 5,
        "records-delivered": 3,
        "records-dead-lettered": 1,
        "records-skipped": 0,
        "records-filtered": 1,
        "dropped-records-total": 0,
    }
    assert is_balanced(rig.state.metrics)


def test_the_last_failure_has_its_time() -> None:
    rig = story()
    waits = rig.clock.waits  # of the flaky record, of the broken one, then of its dead letter
    assert rig.state.metrics[Metric.LAST_FAILURE_TIMESTAMP] == Clock().now_ms() + sum(waits[:2])


def test_failures_are_counted_by_stage_too() -> None:
    assert story().task.figures().stage_failures == {
        "0:KEY_CONVERTER:Bytes": 0,
        "1:VALUE_CONVERTER:Json": 2,
        "2:TRANSFORMATION:Test": 1,
        "3:TASK_PUT:Sink": 0,
        "4:KAFKA_CONSUME:KafkaConsumer": 0,
    }


def test_a_record_in_two_buckets_is_noticed() -> None:
    metrics = story().state.metrics
    assert not is_balanced(metrics | {Metric.RECORDS_FILTERED: 2})
