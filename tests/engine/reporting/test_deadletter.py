from __future__ import annotations

import logging
from typing import Any

import msgspec
import orjson
import pytest

from engine.errors import ProduceFailed
from engine.policy.retry import RetryPolicy
from engine.record.context import ErrorContext
from engine.record.record import RawRecord, Record
from engine.record.stage import Stage, StageType
from engine.reporting.deadletter import BATCH_LETTERS, DeadLetterReporter, PendingLetters
from engine.reporting.log import LogReporter
from engine.reporting.metrics import Metric, zeros
from tests.fakes import Clock, Producer, raw

STAGES = (Stage(StageType.VALUE_CONVERTER, "Json"), Stage(StageType.TASK_PUT, "Sink", {"file": "/tmp/x"}))


def context(original: RawRecord) -> ErrorContext:
    return ErrorContext(
        record=None,
        original=original,
        stages=STAGES,
        index=0,
        exception="ValueError: bad\n  at a.py:f:1",
        exception_class="ValueError",
        message="bad",
        root_class="ValueError",
        root_message="bad",
        attempt=2,
        task_id="my-connector-3",
        connector="my-connector",
        time_of_error=77,
        first_failure_time=70,
        elapsed_ms=7,
    )


class Letters:
    """A reporter over a fake producer."""

    def __init__(self, clock: Clock | None = None, retry: RetryPolicy | None = None, **more: Any) -> None:
        self.producer, self.metrics, self.clock = Producer(), zeros(), clock or Clock()
        defaults = {
            "include_configs": True,
            "include_messages": True,
            "context_headers": False,
            "max_bytes": 1_000_000,
            "patience_ms": lambda _: 10**9,
        }
        self.reporter = DeadLetterReporter(
            producer=self.producer,
            topic="dlq",
            metrics=self.metrics,
            retry=retry or RetryPolicy(),
            clock=self.clock,
            jitter=lambda: 1.0,
            **{**defaults, **more},
        )

    def report(self, *records: RawRecord) -> None:
        for record in records:
            self.reporter.report(context(record), record)

    def written(self) -> list[tuple[Any, ...]]:
        self.reporter.flush()
        return self.producer.records


def with_headers(*headers: tuple[str, bytes | None]) -> RawRecord:
    return msgspec.structs.replace(raw(5), headers=headers)


def test_a_dead_letter_has_the_original_key_headers_and_the_time_of_the_error() -> None:
    letters = Letters()
    headers = (("a", b"1"), ("a", None), ("b", b""))
    letters.report(with_headers(*headers))
    ((topic, key, value, written, timestamp),) = letters.written()
    assert (topic, key, written, timestamp) == ("dlq", b"k", headers, 77)
    assert orjson.loads(value)["task_id"] == "my-connector-3"


def test_letters_are_written_in_the_order_of_their_errors_however_many_there_are() -> None:
    letters = Letters()
    letters.report(*(raw(offset, key=b"%d" % offset) for offset in range(2 * BATCH_LETTERS + 1)))
    assert len(letters.producer.queue) == 2 * BATCH_LETTERS
    assert [key for _, key, _, _, _ in letters.written()] == [b"%d" % number for number in range(2 * BATCH_LETTERS + 1)]


def test_of_letters_that_are_forgotten_the_last_ones_are_written() -> None:
    letters = Letters()
    letters.report(*(raw(offset, key=b"%d" % offset) for offset in range(BATCH_LETTERS + 2)))
    letters.producer.queue.clear()
    letters.reporter.keep_last(3)
    assert [key for _, key, _, _, _ in letters.written()] == [b"%d" % (BATCH_LETTERS + number) for number in (-1, 0, 1)]


def test_the_key_is_null_when_messages_are_excluded() -> None:
    letters = Letters(include_messages=False)
    letters.report(raw(5))
    assert letters.written()[0][1] is None


def test_kafka_connects_headers_follow_the_original_ones() -> None:
    letters = Letters(context_headers=True)
    letters.report(with_headers(("mine", b"1")))
    names = [name for name, _ in letters.written()[0][3]]
    assert names[0] == "mine"
    assert dict(letters.written()[0][3])["__connect.errors.task.id"] == b"3"
    assert len(names) == 11


def test_size_never_fails_a_task() -> None:
    letters = Letters(max_bytes=20_000)
    letters.report(raw(1, b"v" * 50_000, key=b"k" * 50_000))
    ((_, key, value, _, _),) = letters.written()
    assert (key, len(value) <= 20_000) == (None, True)


def test_a_long_trace_in_a_header_costs_a_record_none_of_its_own() -> None:
    letters = Letters(max_bytes=20_000, context_headers=True)
    record = with_headers(("mine", b"1"))
    letters.reporter.report(msgspec.structs.replace(context(record), exception="E: " + "x" * 20_000), record)
    ((_, key, value, headers, _),) = letters.written()
    assert (key, headers, orjson.loads(value)["truncated"]) == (b"k", (("mine", b"1"),), "trace")


def test_a_letter_that_had_to_leave_out_headers_says_how_large_they_were() -> None:
    letters = Letters(max_bytes=20_000)
    letters.report(with_headers(("mine", b"1" * 30_000)))
    ((_, key, value, headers, _),) = letters.written()
    body = orjson.loads(value)
    assert (key, headers, body["truncated"]) == (None, (), "pointer")
    assert (body["original_record"]["headers_size"], body["original_record"]["offset"]) == (30_004, 5)


def test_letters_count_as_produced_when_they_are_durable() -> None:
    letters = Letters()
    letters.report(raw(1), raw(2))
    assert letters.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] == 0
    letters.written()
    assert letters.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] == 2


def test_only_letters_that_failed_are_produced_again() -> None:
    letters = Letters(retry=RetryPolicy(3))
    letters.producer.fail_next, letters.producer.retriable = [{1}, {0}], True
    letters.report(raw(1), raw(2, key=b"second"), raw(3))
    assert [record[1] for record in letters.written()] == [b"k", b"k", b"second"]
    assert letters.clock.waits == [300, 600]
    assert letters.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] == 3
    assert letters.metrics[Metric.DEADLETTERQUEUE_PRODUCE_FAILURES] == 0
    assert letters.metrics[Metric.TOTAL_RETRIES] == 2


def test_a_letter_that_can_not_be_written_fails_the_task_when_its_retries_are_exhausted() -> None:
    letters = Letters(retry=RetryPolicy(2))
    letters.producer.fail_next, letters.producer.retriable = [{0}] * 3, True
    letters.report(raw(1))
    with pytest.raises(ProduceFailed):
        letters.reporter.flush()
    assert (letters.clock.waits, letters.producer.records) == ([300, 600], [])


@pytest.mark.parametrize(("failing", "written"), [([{0, 1}, {0, 1}, {0, 1}], 1), ([{0, 1}, {1}, {0}], 2)])
def test_letters_that_could_not_be_written_are_counted_once_and_not_for_each_try(
    failing: list[set[int]], written: int
) -> None:
    letters = Letters(retry=RetryPolicy(2))
    letters.producer.fail_next, letters.producer.retriable = failing, True
    letters.report(raw(1), raw(2), raw(3))
    with pytest.raises(ProduceFailed):
        letters.reporter.flush()
    assert letters.metrics[Metric.DEADLETTERQUEUE_PRODUCE_FAILURES] == 3 - written
    assert letters.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] == written


def test_a_letter_that_the_broker_will_never_take_is_not_tried_again() -> None:
    letters = Letters(retry=RetryPolicy(-1))
    letters.producer.fail_next = [{0}]
    letters.report(raw(1))
    with pytest.raises(ProduceFailed):
        letters.reporter.flush()
    assert letters.clock.waits == []


def test_a_stop_request_ends_the_wait_for_another_attempt() -> None:
    letters = Letters(clock=Clock(stop_at=1_000_100), retry=RetryPolicy(3))
    letters.producer.fail_next, letters.producer.retriable = [{0}], True
    letters.report(raw(1))
    assert letters.reporter.flush() == PendingLetters(None)


def test_a_wait_longer_than_the_patience_is_left_to_a_later_lease_which_goes_on_counting() -> None:
    first = Letters(retry=RetryPolicy(2), patience_ms=lambda _: 50)
    first.producer.fail_next, first.producer.retriable = [{0}], True
    first.report(raw(1))
    now = first.clock.now_ms()
    assert first.reporter.flush() == PendingLetters(now + 300)
    assert (first.clock.waits, first.reporter.failures, first.reporter.first_ms) == ([], 1, now)
    later = Letters(Clock(now + 300), retry=RetryPolicy(2), failures=1, first_ms=now)
    later.producer.fail_next, later.producer.retriable = [{0}] * 2, True
    later.report(raw(1))
    with pytest.raises(ProduceFailed):
        later.reporter.flush()
    assert later.clock.waits == [600]


def test_letters_that_are_written_at_last_end_the_row_of_failures() -> None:
    letters = Letters(failures=3, first_ms=7)
    letters.report(raw(1))
    assert len(letters.written()) == 1
    assert (letters.reporter.failures, letters.metrics[Metric.TOTAL_RETRIES]) == (0, 3)


def test_brokers_that_are_away_are_waited_for_as_long_as_a_producer_would_though_no_retry_is_allowed() -> None:
    letters = Letters(retry=RetryPolicy(0, delay_max_ms=1_000), least_ms=2_000)
    letters.producer.fail_next, letters.producer.retriable = [{0}] * 9, True
    letters.report(raw(1))
    with pytest.raises(ProduceFailed):
        letters.reporter.flush()
    assert letters.clock.waits == [300, 600, 1_000, 1_000]


def test_a_letter_that_is_refused_is_not_waited_for() -> None:
    letters = Letters(least_ms=2_000)
    letters.producer.fail_next = [{0}]
    letters.report(raw(1))
    with pytest.raises(ProduceFailed):
        letters.reporter.flush()
    assert letters.clock.waits == []


def test_text_that_is_no_unicode_is_written_all_the_same() -> None:
    letters, record = Letters(context_headers=True), raw(1)
    odd = msgspec.structs.replace(context(record), message="\ud800", exception="E: \ud800", connector="\udfff")
    letters.reporter.report(odd, record)
    assert dict(letters.written()[0][3])["__connect.errors.exception.message"] == b"?"


def test_a_source_record_has_no_key_no_headers_and_no_coordinates() -> None:
    letters = Letters(context_headers=True)
    record = Record("t", None, 5, "k", {"a": 1}, source_partition={"file": "a"}, source_offset={"line": 7})
    letters.reporter.report(msgspec.structs.replace(context(raw(1)), record=record, original=None), record)
    ((_, key, value, headers, timestamp),) = letters.written()
    body = orjson.loads(value)
    assert (key, timestamp, "__connect.errors.offset" in dict(headers)) == (None, 77, False)
    assert (body["record"]["source_partition"], body["record"]["source_offset"]) == ({"file": "a"}, {"line": "7"})


@pytest.mark.parametrize("max_bytes", [5_000, 6_000, 9_000, 20_000, 100_000])
@pytest.mark.parametrize("size", [0, 3_000, 200_000])
def test_a_letter_is_never_larger_than_its_topic_takes(max_bytes: int, size: int) -> None:
    letters = Letters(max_bytes=max_bytes, context_headers=True)
    record = msgspec.structs.replace(raw(1, b"v" * size, key=b"k" * size), headers=(("h", b"h" * size),))
    letters.reporter.report(msgspec.structs.replace(context(record), exception="E: " + "é" * size), record)
    ((_, key, value, headers, _),) = letters.written()
    whole = len(key or b"") + len(value) + sum(len(name) + len(text or b"") for name, text in headers)
    assert whole <= max_bytes


@pytest.mark.parametrize("text", ["two\nlines\r\n", "\x00\x1b[31m", "\ud800", '"quoted"', "{not: json}"])
def test_a_logged_error_is_one_line_whatever_its_text(caplog: pytest.LogCaptureFixture, text: str) -> None:
    odd = msgspec.structs.replace(context(raw(5, text.encode("utf-8", "replace"))), message=text, exception=text)
    with caplog.at_level(logging.ERROR):
        LogReporter(include_configs=True, include_messages=True).report(odd, raw(5))
    (line,) = caplog.messages
    assert not {"\n", "\r", "\x1b", "\x00"} & set(line)
    assert orjson.loads(line)["original_record"]["offset"] == 5


def test_a_logged_error_is_one_line_of_json(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        LogReporter(include_configs=False, include_messages=False).report(context(raw(5)), raw(5))
    (line,) = caplog.messages
    assert "\n" not in line
    assert orjson.loads(line)["attempt"] == 2
