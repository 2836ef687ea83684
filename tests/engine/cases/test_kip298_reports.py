"""The reports of KIP-298, log and dead letters, as Kafka's own tests assert them."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import orjson
import pytest

from engine.errors import ProduceFailed
from engine.pipeline.outcome import Failed
from engine.policy.retry import RetryPolicy
from engine.reporting.deadletter import HEADER_PREFIX, connect_headers
from engine.reporting.log import LogReporter
from tests.engine.cases.faults import ALL, BROKEN, GOOD, NONE, config, letters, passing_every_third, raising, reject_all
from tests.engine.pipeline.rig import Rig
from tests.fakes import Producer, Sink, raw


def test_a_commit_waits_until_the_report_is_durable() -> None:
    """C-27, RetryWithToleranceOperatorTest#testReportWithSingleReporter: waiting for a future is `flush` here."""
    producer = Producer()
    rig = Rig([raw(0, BROKEN)], letters=lambda _: letters(producer))
    committed: list[int] = []
    rig.consumer.on_commit = lambda: committed.append(len(producer.records))
    rig.run()
    assert committed == [1]


def test_a_commit_waits_until_every_report_is_durable() -> None:
    """C-28, RetryWithToleranceOperatorTest#testReportWithMultipleReporters: dead letters, and outcomes of replays."""
    producer = Producer()
    record = msgspec.structs.replace(raw(0, BROKEN), headers=(("dlq.replay.item", b"1"),))
    rig = Rig([record], letters=lambda _: letters(producer))
    durable: list[tuple[int, int]] = []
    rig.consumer.on_commit = lambda: durable.append((len(producer.records), len(rig.producer.records)))
    rig.run()
    assert durable == [(1, 1)]


def test_an_empty_topic_name_reports_nothing() -> None:
    """C-32, ErrorReporterTest#testDLQConfigWithEmptyTopicName."""
    found = config(errors_deadletterqueue_topic_name="")
    assert (found.dlq_enable, found.dead_letters) == (False, None)


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
    """C-41, ErrorHandlingTaskTest#testErrorHandlingInSinkTasks: with `errors.retry.on=retriable`, since the KIP
    retries a broken record too. A chunk that has nothing to deliver is not put."""
    rig = Rig(
        [raw(0, GOOD), raw(1, BROKEN)], transform=passing_every_third(), retry=RetryPolicy(-1, 5_000, 60_000),
        tolerance=ALL, retry_on="retriable",
    )  # fmt: skip
    assert rig.run() is None
    names = ("records-consumed", "records-delivered", "total-record-errors", "total-record-failures")
    assert [rig.count(name) for name in names] == [2, 1, 1, 3]
    assert (rig.count("total-records-skipped"), rig.count("total-retries"), rig.sink.puts) == (1, 2, [1])


def test_dead_letter_options_are_read() -> None:
    """C-44, ErrorReporterTest#testSetDLQConfigs."""
    name = "errors_deadletterqueue_topic_"
    found = config(**{f"{name}name": "dlq", f"{name}replication_factor": "7"})
    assert (found.dlq_topic, found.dlq_replication_factor) == ("dlq", 7)


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
    rig = Rig(records, letters=lambda _: letters(producer))
    rig.run()
    assert rig.letters is not None
    assert (len(producer.records), producer.queue, rig.letters.flush(), len(producer.records)) == (4, [], None, 4)


def test_an_error_that_is_not_tolerated_is_reported_all_the_same() -> None:
    """C-50, WorkerErrantRecordReporterTest#testReportNoToleratedErrors."""
    rig = Rig([raw()], sink=Sink(reject_all), tolerance=NONE)
    assert isinstance(rig.run(), Failed)
    assert rig.reporter.offsets == [0]


def test_every_record_that_a_sink_reports_is_dead_lettered() -> None:
    """C-52, ErrorHandlingIntegrationTest#testErrantRecordReporter."""
    producer = Producer()
    records = [raw(offset, GOOD, key=str(offset).encode()) for offset in range(1000)]
    rig = Rig(records, sink=Sink(reject_all), letters=lambda _: letters(producer))
    rig.run()
    assert len({key for _, key, _, _, _ in producer.records}) == len(producer.records) == 1000
