"""KIP-298 as Kafka's own tests assert it, case by case; where the KIP differs from shipped Kafka, the test says so.

The KIP gives sources dead letters too, which Kafka never shipped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import orjson
import pytest

from engine.config.errors_policy import read_errors
from engine.errors import ConversionError, ProduceFailed, RecordError, RetriableError
from engine.pipeline.outcome import Failed
from engine.pipeline.source_steps import source_steps
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Headers, Record, TopicPartition
from engine.record.schema import Schema
from engine.reporting.deadletter import HEADER_PREFIX, connect_headers
from engine.reporting.log import LogReporter
from tests.engine.pipeline.rig import Apply, Rig, flaky, letter_reporter
from tests.engine.pipeline.source_rig import SourceRig, Text
from tests.fakes import BatchingProducer, Producer, Sink, Source, raw

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


def reject_all(records: Sequence[Record]) -> None:
    raise ExceptionGroup("rejected", [RecordError(index, ValueError("bad")) for index in range(len(records))])


def failing(step: str, error: Exception) -> dict[str, Any]:
    """Return the rig's option for a step that raises this error."""
    return {step: raising(error) if step == "transform" else Converter(error)}


@pytest.mark.parametrize("step", ["transform", "value", "key"])
def test_any_exception_of_a_step_is_tolerated(step: str) -> None:
    """C-03, RetryWithToleranceOperatorTest#testHandleExceptionInTransformations;
    C-05, RetryWithToleranceOperatorTest#testHandleExceptionInValueConverter;
    C-06, RetryWithToleranceOperatorTest#testHandleExceptionInKeyConverter."""
    rig = Rig([raw()], tolerance=ALL, **failing(step, ValueError()))
    assert (rig.run(), rig.reporter.offsets, rig.count("total-record-errors")) == (None, [0], 1)


@pytest.mark.parametrize("step", ["transform", "value", "key"])
def test_a_retriable_error_that_is_not_retried_fails_the_task_and_is_never_dropped(step: str) -> None:
    """C-07, RetryWithToleranceOperatorTest#testHandleRetriableExceptionInTransformationsToleranceNone;
    C-09, RetryWithToleranceOperatorTest#testHandleRetriableExceptionInValueConverterToleranceNone;
    C-10, RetryWithToleranceOperatorTest#testHandleRetriableExceptionInKeyConverterToleranceNone;
    C-53, WorkerSinkTaskTest#testRaisesFailedRetriableExceptionFromConvert;
    C-54, WorkerSinkTaskTest#testRaisesFailedRetriableExceptionFromTransform."""
    rig = Rig([raw()], tolerance=NONE, **failing(step, RetriableError()))
    assert isinstance(rig.run(), Failed)
    assert (rig.committed(), rig.count("records-consumed")) == (0, 0)


def test_a_record_that_can_not_be_converted_is_skipped() -> None:
    """C-55, WorkerSinkTaskTest#testSkipsFailedRetriableExceptionFromConvert: shipped Kafka puts an empty list, we
    put nothing."""
    rig = Rig([raw()], value=Converter(RetriableError()), tolerance=ALL)
    assert (rig.run(), rig.sink.puts, rig.committed()) == (None, [], 1)


def test_positions_are_those_of_the_topic_that_was_read() -> None:
    """C-58, WorkerSinkTaskTest#testDeliveryWithMutatingTransform."""
    rig = Rig([raw(0, GOOD)])

    class Prefix:
        def apply(self, record: Record) -> Record:
            return msgspec.structs.replace(record, topic=f"newtopic_{record.topic}")

    rig.task.steps = (*rig.task.steps[:1], (2, Prefix().apply))
    assert rig.run() is None
    assert {name: one.offset for name, one in rig.consumer.group.items()} == {TopicPartition("t", 0): 1}


def test_a_commit_waits_until_the_report_is_durable() -> None:
    """C-27, RetryWithToleranceOperatorTest#testReportWithSingleReporter: waiting for a future is `flush` here."""
    producer = Producer()
    rig = Rig([raw(0, BROKEN)], letters=partial(letter_reporter, producer, include_messages=True))
    committed: list[int] = []
    rig.consumer.on_commit = lambda: committed.append(len(producer.records))
    rig.run()
    assert committed == [1]


def test_a_commit_waits_until_every_report_is_durable() -> None:
    """C-28, RetryWithToleranceOperatorTest#testReportWithMultipleReporters: dead letters, and outcomes of replays."""
    producer = Producer()
    record = msgspec.structs.replace(raw(0, BROKEN), headers=(("dlq.replay.item", b"1"),))
    rig = Rig([record], letters=partial(letter_reporter, producer, include_messages=True))
    durable: list[tuple[int, int]] = []
    rig.consumer.on_commit = lambda: durable.append((len(producer.records), len(rig.producer.records)))
    rig.run()
    assert durable == [(1, 1)]


def test_closing_the_producer_ends_it() -> None:
    """C-35, ErrorReporterTest#testCloseDLQ: the producer is closed with the task's other clients."""
    from engine.errors import FatalError
    from engine.kafka.producer import KafkaProducer

    producer = KafkaProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
    producer.produce("t", None, b"1")
    producer.close()
    with pytest.raises((ProduceFailed, FatalError)):
        producer.flush()


def logged(caplog: pytest.LogCaptureFixture, *, enabled: bool, messages: bool = False) -> Rig:
    rig = Rig([raw(100, BROKEN, partition=5)], dead_letters=False)
    rig.task.guard.reporters = (LogReporter(include_configs=False, include_messages=messages),) if enabled else ()
    with caplog.at_level(logging.ERROR):
        rig.run()
    return rig


def test_a_log_that_is_off_counts_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """C-36, ErrorReporterTest#testLogOnDisabledLogReporter."""
    rig = logged(caplog, enabled=False)
    assert (rig.count("total-failures-logged"), caplog.messages) == (0, [])


def test_a_log_that_is_on_counts_each_error(caplog: pytest.LogCaptureFixture) -> None:
    """C-37, ErrorReporterTest#testLogOnEnabledLogReporter; the KIP's name is total-failures-logged."""
    rig = logged(caplog, enabled=True)
    assert (rig.count("total-failures-logged"), len(caplog.messages)) == (1, 1)


def test_a_logged_error_names_the_records_place(caplog: pytest.LogCaptureFixture) -> None:
    """C-39, ErrorReporterTest#testLogMessageWithSinkRecords. The KIP logs the context as JSON, coordinates included;
    with messages the record too, where shipped Kafka shows coordinates only."""
    logged(caplog, enabled=True, messages=True)
    record = orjson.loads(caplog.messages[0])["record"]
    assert (record["topic"], record["partition"], record["offset"]) == ("t", 5, 100)
    assert record["value"]["schema"] == "BYTES"


def test_a_log_report_is_done_when_it_returns(caplog: pytest.LogCaptureFixture) -> None:
    """C-40, ErrorReporterTest#testLogReportAndReturnFuture."""
    rig = Rig([raw(0, BROKEN)], dead_letters=False)
    lines: list[int] = []

    class After:
        def report(self, context: Any, origin: Any) -> None:
            lines.append(len(caplog.messages))

    rig.task.guard.reporters = (LogReporter(include_configs=False, include_messages=False), After())
    with caplog.at_level(logging.ERROR):
        rig.run()
    assert lines == [1]


def test_a_sink_task_retries_skips_and_counts() -> None:
    """C-41, ErrorHandlingTaskTest#testErrorHandlingInSinkTasks. A chunk that has nothing to deliver is not put."""
    rig = Rig(
        [raw(0, GOOD), raw(1, BROKEN)], transform=passing_every_third(), retry=RetryPolicy(-1, 5_000, 60_000),
        tolerance=ALL, retry_on="retriable",
    )  # fmt: skip
    assert rig.run() is None
    names = ("records-consumed", "records-delivered", "total-record-errors", "total-record-failures")
    assert [rig.count(name) for name in names] == [2, 1, 1, 3]
    assert (rig.count("total-records-skipped"), rig.count("total-retries"), rig.sink.puts) == (1, 2, [1])


def rig_of(properties: dict[str, str], values: Sequence[bytes], **options: Any) -> Rig:
    """A task with the error policy of a connector that has these properties."""
    errors, problems, _ = read_errors(properties)
    assert not problems
    return Rig(
        [raw(offset, value) for offset, value in enumerate(values)], retry_on=errors.retry_on,
        retry=RetryPolicy(errors.retry_limit, errors.retry_delay_max_ms, errors.retry_timeout_ms),
        tolerance=TolerancePolicy(errors.tolerance_limit, errors.tolerance_rate_limit), **options,
    )  # fmt: skip


@pytest.mark.parametrize("timeout_ms", ["4000", "-1"])
def test_bad_records_of_a_file_for_kafka_connect_cost_no_wait(timeout_ms: str) -> None:
    properties = {"errors.tolerance": "all", "errors.retry.timeout": timeout_ms}
    rig = rig_of(properties, [BROKEN, GOOD, BROKEN, BROKEN])
    assert rig.run() is None
    assert (rig.clock.waits, rig.reporter.offsets, rig.count("total-retries")) == ([], [0, 2, 3], 0)


def test_a_retriable_error_of_a_file_for_kafka_connect_is_retried_until_its_timeout() -> None:
    """The waits of RetryWithToleranceOperatorTest#testBackoffLimit: the last one ends at the time-out."""
    properties = {"errors.tolerance": "all", "errors.retry.timeout": "6000"}
    rig = rig_of(properties, [GOOD], transform=raising(RetriableError("away")))
    assert rig.run() is None
    assert (rig.clock.waits, rig.reporter.offsets) == ([300, 600, 1200, 2400, 1500], [0])


def test_every_failure_is_retried_as_the_kip_says_if_asked_for() -> None:
    properties = {"errors.tolerance": "all", "errors.retry.limit": "2", "errors.retry.on": "all"}
    rig = rig_of(properties, [BROKEN])
    assert rig.run() is None
    assert (rig.clock.waits, rig.reporter.reports[0][0].attempt) == ([300, 600], 2)


def context_headers(error: Exception) -> dict[str, bytes | None]:
    record = msgspec.structs.replace(raw(10, GOOD, partition=7), topic="t")
    rig = Rig([record], transform=raising(error))
    rig.run()
    context, origin = rig.reporter.reports[0]
    return {name.removeprefix(HEADER_PREFIX): value for name, value in connect_headers(context, origin)}


def test_a_dead_letter_may_carry_kafkas_ten_headers() -> None:
    """C-45, ErrorReporterTest#testDlqHeaderConsumerRecord."""
    headers = context_headers(ValueError("Test Exception"))
    trace = headers.pop("exception.stacktrace") or b""
    assert headers == {
        "topic": b"t", "partition": b"7", "offset": b"10", "connector.name": b"c", "task.id": b"0",
        "stage": b"TRANSFORMATION", "class.name": b"Test", "exception.class.name": b"ValueError",
        "exception.message": b"Test Exception",
    }  # fmt: skip
    assert trace.startswith(b"ValueError: Test Exception\n")


def test_an_exception_without_a_message_has_a_null_header() -> None:
    """C-46, ErrorReporterTest#testDlqHeaderOnNullExceptionMessage."""
    headers = context_headers(ValueError())
    assert ("exception.message" in headers, headers["exception.message"]) == (True, None)


def test_nothing_waits_once_all_reports_are_durable() -> None:
    """C-48, WorkerErrantRecordReporterTest#testGetFutures."""
    producer = Producer()
    records = [raw(0, BROKEN, partition=number) for number in range(4)]
    rig = Rig(records, letters=partial(letter_reporter, producer, include_messages=True))
    rig.run()
    assert rig.letters is not None
    assert (len(producer.records), producer.queue, rig.letters.flush(), len(producer.records)) == (4, [], None, 4)


def test_every_record_that_a_sink_reports_is_dead_lettered() -> None:
    """C-52, ErrorHandlingIntegrationTest#testErrantRecordReporter."""
    producer = Producer()
    records = [raw(offset, GOOD, key=str(offset).encode()) for offset in range(1000)]
    rig = Rig(records, sink=Sink(reject_all), letters=partial(letter_reporter, producer, include_messages=True))
    rig.run()
    assert len({key for _, key, _, _, _ in producer.records}) == len(producer.records) == 1000


FOR_EVER = RetryPolicy(-1, 5_000, 60_000)


class FlakyText(Text):
    """A converter that lets every third call pass."""

    def __init__(self) -> None:
        self.passing = passing_every_third()

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        return super().from_connect(topic, schema, self.passing(value), headers)


class BrokenText(Text):
    """A converter that never works."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        raise ConversionError("no key")


@pytest.mark.parametrize(("converter", "failures"), [(Text, 4), (FlakyText, 8)], ids=["transform", "and-converter"])
def test_flaky_steps_are_tried_again_and_nothing_is_skipped(converter: type[Text], failures: int) -> None:
    """C-42, ErrorHandlingTaskTest#testErrorHandlingInSourceTasks;
    C-43, ErrorHandlingTaskTest#testErrorHandlingInSourceTasksWithBadConverter."""
    rig = SourceRig(Source(2, batch=1), retry=FOR_EVER)
    rig.task.steps = tuple(source_steps([Apply(passing_every_third())], Text(), converter(), Text()))
    assert rig.run() is None
    assert (rig.written(), rig.count("total-record-failures")) == ([0, 1], failures)
    assert (rig.count("total-record-errors"), rig.count("total-records-skipped")) == (0, 0)


def test_a_record_whose_transform_failed_is_not_skipped_by_the_next_run() -> None:
    """C-60, AbstractWorkerSourceTaskTest#testSendRecordsFailedTransformationErrorToleranceNone."""
    transform = flaky(1)
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
