"""Streams on a real broker: topologies, punctuations, and handlers of all three kinds (KIP-1033)."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest

from engine.worker_messages import LeaseEnd
from tests.broker.stream import Stream, nodes
from tests.broker.test_lease import balance

KEEPING = "tests.broker.processors.Keeping"
BRANCHES = {
    **nodes(route="Route", odd="Through < route", even="Through < route", join="Through < odd, even"),
    "sinks": "out",
    "sinks.out.topic": "$out",
    "sinks.out.parents": "join",
}
LINE = {**nodes(a="Through"), "sinks": "out", "sinks.out.topic": "$out", "sinks.out.parents": "a"}


def handlers(*roles: str) -> dict[str, str]:
    return {f"{role}.exception.handler": KEEPING for role in roles}


def test_a_topology_branches_and_joins(broker: str) -> None:
    stream = Stream(broker, BRANCHES)
    stream.send([b'{"n":1}', b'{"n":2}', b'{"n":3}'], headers=(("h", b"\xff"), ("h", None)))
    report = stream.run_until(lambda: stream.has_committed(3))
    assert (report.end, balance(report.metrics)) == (LeaseEnd.STOPPED, (3, 3, 0, 0, 0))
    assert [value["seen"] for value in stream.values()] == [["odd", "join"], ["even", "join"], ["odd", "join"]]
    (record, *_) = stream.output()
    assert (record.key, record.headers) == (b"k", (("h", b"\xff"), ("h", None)))


def test_the_next_lease_goes_on_with_fresh_processors(broker: str) -> None:
    stream = Stream(broker, LINE)
    stream.send([b'{"n":1}'])
    stream.run_until(lambda: stream.has_committed(1))
    stream.send([b'{"n":2}'])
    report = stream.run_until(lambda: stream.has_committed(2))
    assert balance(report.metrics) == (2, 2, 0, 0, 0)
    assert [value["n"] for value in stream.values()] == [1, 2]


def test_by_default_an_error_fails_the_task_and_its_dead_letter_is_written_once(broker: str) -> None:
    stream = Stream(broker, BRANCHES)
    letters = {"errors.deadletterqueue.topic.name": stream.dlq, "errors.deadletterqueue.topic.partitions": "1"}
    stream.props |= letters
    stream.configure(1)
    stream.send([b'{"n":1}', b'{"n":2,"boom":"even"}', b'{"n":3}'])
    for _ in range(3):
        report = stream.run_until(lambda: False)
        assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{stream.topic}-0": 1})
        assert "PROCESSOR (even) failed" in str(report.trace)
        stream.restart()
    assert [value["seen"] for value in stream.values()] == [["odd", "join"]]
    (context,) = stream.contexts()
    assert (context["handler"], context["exception_class"]) == ("LogAndFailProcessingExceptionHandler", "ValueError")
    assert context["stages"][context["index"]]["type"] == "PROCESSOR"


def test_handlers_of_all_three_kinds_continue_and_are_told_where(broker: str) -> None:
    stream = Stream(
        broker,
        {**LINE, **handlers("processing", "deserialization", "production"), "output.value.converter": "LongConverter"},
    )
    stream.send([b'{"n":1,"boom":"a"}', b"{", b'{"n":3}'])
    report = stream.run_until(lambda: stream.has_committed(3))
    assert balance(report.metrics) == (3, 0, 0, 3, 0)
    assert report.metrics["dropped-records-total"] == 3
    dropped = {name.partition(":")[2]: count for name, count in report.stage_dropped.items() if count}
    assert dropped == {"VALUE_CONVERTER:JsonConverter": 1, "PROCESSOR:a": 1, "VALUE_CONVERTER:out": 1}
    reading, processing, writing = sorted(stream.told(), key=lambda row: [1, 0, 2].index(row[0].offset))
    assert (reading[0].processor_node_id, reading[1].value) == ("JsonConverter", b"{")
    assert (processing[0].processor_node_id, processing[1].value["n"]) == ("a", 1)
    assert (writing[0].processor_node_id, writing[1][1], writing[0].task_id) == ("out", "VALUE", f"{stream.name}-0")
    assert writing[0].source_raw_value == b'{"n":3}'


@pytest.mark.parametrize("continues", [True, False])
def test_a_record_that_is_too_large_for_its_topic_is_the_production_handlers(broker: str, continues: bool) -> None:
    more = handlers("production") if continues else {}
    stream = Stream(broker, {**LINE, **more}, max_message_bytes="2000")
    large = b'{"n":50,"x":"' + b"".join(b"%d" % (n * 7919) for n in range(2000)) + b'"}'
    stream.send([large if n == 50 else b'{"n":%d}' % n for n in range(100)])
    report = stream.run_until(lambda: stream.has_committed(100))
    if continues:
        assert [value["n"] for value in stream.values()] == [*range(50), *range(51, 100)]
        assert (balance(report.metrics), report.metrics["dropped-records-total"]) == ((100, 99, 0, 1, 0), 1)
        [(context, record, error)] = stream.told()
        assert (context.offset, record.topic, "MSG_SIZE_TOO_LARGE" in str(error)) == (50, stream.outputs["out"], True)
        assert record.value.startswith(b'{"n":50')
    else:
        assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{stream.topic}-0": 50})
        assert "DefaultProductionExceptionHandler returned FAIL: KAFKA_PRODUCE (out)" in str(report.trace)
        assert [value["n"] for value in stream.values()][:50] == list(range(50))


def counting(kind: str, interval_ms: int, **more: str) -> dict[str, str]:
    own = {"time": kind, "interval.ms": str(interval_ms), **more}
    count = {f"processors.count.{name}": value for name, value in own.items()}
    return {
        **nodes(count="Count"), **count, "sinks": "out", "sinks.out.topic": "$out", "sinks.out.parents": "count"
    }  # fmt: skip


def test_stream_time_punctuates_by_the_records_timestamps(broker: str) -> None:
    stream = Stream(broker, counting("STREAM_TIME", 100))
    stream.send_at(*[(time, {"n": time}) for time in (1010, 1020, 1110, 1050, 1400)])
    stream.run_until(lambda: stream.has_committed(5))
    rows = [(value["count"], value["time"], value["topic"]) for value in stream.values()]
    assert rows == [(1, 1010, None), (3, 1110, None), (5, 1400, None)]
    assert [record.timestamp for record in stream.output()] == [1010, 1110, 1400]


def test_the_clock_punctuates_without_any_record(broker: str) -> None:
    stream = Stream(broker, counting("WALL_CLOCK_TIME", 200))
    started = time.monotonic()
    stream.run_until(lambda: len(stream.values()) >= 4)
    assert time.monotonic() - started >= 0.8
    times = [value["time"] for value in stream.values()][:4]
    assert all(later - earlier >= 100 for earlier, later in pairwise(times))


@pytest.mark.parametrize("kind", ["STREAM_TIME", "WALL_CLOCK_TIME"])
def test_a_punctuation_that_raises_is_let_go_by_the_processing_handler(broker: str, kind: str) -> None:
    stream = Stream(broker, {**counting(kind, 50, fails="true"), **handlers("processing")})
    stream.send_at((1000, {"n": 1}))
    report = stream.run_until(lambda: stream.told() and stream.has_committed(1))
    context, record, error = stream.told()[-1]
    assert (context.topic, context.partition, context.offset, context.processor_node_id) == (None, -1, -1, "count")
    assert (record, context.timestamp, str(error)) == (None, 1000, "boom in a punctuation")
    assert report.metrics["dropped-records-total"] >= 1
    assert balance(report.metrics) == (1, 1, 0, 0, 0)


def test_a_punctuation_that_raises_fails_the_task_by_default(broker: str) -> None:
    stream = Stream(broker, counting("WALL_CLOCK_TIME", 50, fails="true"))
    report = stream.run_until(lambda: False)
    assert (report.end, "boom in a punctuation" in str(report.trace)) == (LeaseEnd.FAILED, True)


def test_figures_are_committed_while_the_lease_stands(broker: str) -> None:
    stream = Stream(broker, {**LINE, **handlers("processing")})
    stream.send([b'{"boom":"a"}', b'{"n":2}'])

    def dropped() -> Any:
        found = stream.committed()[stream.partitions[0]]
        return found is not None and found.offset == 2 and '"k":[' in found.metadata

    report = stream.run_until(dropped)
    assert report.metrics["dropped-records-total"] == 1


@pytest.mark.parametrize("name", ["init", "close"])
def test_a_processor_that_can_not_start_fails_its_task_and_one_that_can_not_close_does_no_harm(
    broker: str, name: str
) -> None:
    stream = Stream(broker, {**LINE, "processors.a.type": f"tests.broker.processors.Bad{name.title()}"})
    stream.send([b'{"n":1}'])
    report = stream.run_until(lambda: stream.has_committed(1))
    if name == "init":
        assert (report.end, "processor a could not be initialised: ValueError: boom" in str(report.trace)) == (
            LeaseEnd.FAILED,
            True,
        )
    else:
        assert (report.end, balance(report.metrics)) == (LeaseEnd.STOPPED, (1, 1, 0, 0, 0))


def test_a_topic_that_is_not_there_parks_the_task_until_it_is(broker: str) -> None:
    quick = {"producer.override.delivery.timeout.ms": "1500", "producer.override.request.timeout.ms": "1000"}
    stream = Stream(broker, {**LINE, **quick})
    stream.props["sinks.out.topic"] = missing = f"later-{stream.name}"
    stream.configure(1)
    stream.send([b'{"n":1}'])
    report = stream.run_until(lambda: False)
    assert (report.end, report.positions) == (LeaseEnd.PARKED, {f"{stream.topic}-0": 0})
    assert "DefaultProductionExceptionHandler returned RETRY" in str(report.trace)
    stream.admin.create_topic(missing, 1, 1)
    report = stream.run_until(lambda: stream.has_committed(1))
    assert (report.end, balance(report.metrics)) == (LeaseEnd.STOPPED, (1, 1, 0, 0, 0))


def test_a_stop_ends_a_wait_for_the_next_attempt_and_the_record_is_not_passed_by(broker: str) -> None:
    stream = Stream(broker, {**LINE, "errors.retry.limit": "-1", "errors.retry.on": "all"})
    stream.send([b'{"n":1}', b'{"boom":"a"}'])
    started = time.monotonic()
    report = stream.run_until(lambda: time.monotonic() > started + 3)
    assert (report.end, report.positions) == (LeaseEnd.STOPPED, {f"{stream.topic}-0": 1})
    assert report.metrics["total-retries"] >= 2
    assert [value["n"] for value in stream.values()] == [1]
