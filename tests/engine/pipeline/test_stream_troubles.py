"""What a stream does when something is in its way: it waits where it stands, and neither loses nor doubles anything."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from engine.config.exception_handlers import HandlerRole
from engine.errors import RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.handlers import Response
from engine.policy.retry import RetryPolicy
from engine.ports import Committed
from engine.record.record import Record, TopicPartition
from engine.steps.processors import ProcessorContext
from engine.steps.schedules import PunctuationType
from tests.engine.pipeline.rig import failing_at, rows
from tests.engine.pipeline.stream_rig import (
    NODE,
    Asked,
    DyingIn,
    StreamRig,
    forwarding,
    passing,
    raising_at,
    scheduling,
)
from tests.fakes import BatchingProducer, Clock, Consumer, Producer


def test_an_error_let_go_beside_one_that_begins_again_is_told_and_counted_once() -> None:
    tree = {"input": ["a", "b"], "a": [], "b": ["out"]}
    producer = Producer()
    producer.retriable = True
    letters: list[int] = []
    group: dict[TopicPartition, Committed] = {}
    for away in (True, True, False):
        producer.fail_next = [{0}] if away else []
        rig = StreamRig(
            rows(b"1"), {"a": raising_at(1), "b": passing()}, tree,
            answers={HandlerRole.PROCESSING: Asked()}, producer=producer, group=group,
        )  # fmt: skip
        if away:
            with pytest.raises(RetriableError, match="RETRY"):
                rig.run()
        else:
            assert rig.run() is None
        letters += rig.reporter.offsets
    assert (letters, rig.committed()) == ([0], 1)
    assert (rig.count("total-record-errors"), rig.count("dropped-records-total"), rig.dropped()) == (1, 1, {"a": 1})


@pytest.mark.parametrize("bad", [b"3", b"{"])
def test_while_a_record_can_not_be_converted_those_before_it_are_written_and_committed(bad: bytes) -> None:
    seen: list[tuple[list[str], int]] = []

    class Watching(Clock):
        def wait(self, ms: int) -> bool:
            seen.append((rig.written(), rig.committed()))
            return super().wait(ms)

    rig = StreamRig(
        rows(b"1", b"2", bad, b"4"), {"a": passing()}, NODE,
        transform=failing_at(3), retry=RetryPolicy(-1, 60_000), clock=Watching(stop_at=1_100_000),
    )  # fmt: skip
    assert rig.run() == Interrupted(None)
    assert seen[:3] == [([], 0), ([], 0), (["1", "2"], 2)]
    assert (rig.written(), rig.committed(), rig.count("records-consumed")) == (["1", "2"], 2, 2)


def test_nobody_is_asked_about_bytes_behind_a_record_that_stops_the_task() -> None:
    asked = Asked(Response.CONTINUE)
    rig = StreamRig(rows(b"1", b"{"), {"a": raising_at(1)}, NODE, answers={HandlerRole.DESERIALIZATION: asked})
    assert isinstance(rig.run(), Failed)
    assert (asked.seen, rig.count("total-record-failures")) == ([], 1)


def test_two_errors_of_one_node_have_each_its_dead_letter_once() -> None:
    def twice(context: ProcessorContext, record: Record) -> None:
        context.forward(replace(record, value="x"))
        context.forward(replace(record, value="y"))

    class Decider(Asked):
        def handle(self, context: Any, record: Any, exception: Exception) -> Any:
            return Response.FAIL if context.processor_node_id == "z" else Response.CONTINUE

    tree = {"input": ["a", "z"], "a": ["b"], "b": [], "z": []}
    nodes = {"a": twice, "b": raising_at("x", "y"), "z": raising_at(1)}
    letters: list[Any] = []
    group: dict[TopicPartition, Committed] = {}
    for _ in range(3):
        rig = StreamRig(rows(b"1"), nodes, tree, answers={HandlerRole.PROCESSING: Decider()}, group=group)
        assert isinstance(rig.run(), Failed)
        letters += [(context.stage.name, context.record.value) for context, _ in rig.reporter.reports]
    assert letters == [("b", "x"), ("b", "y"), ("z", 1)]


def test_a_punctuation_that_is_tried_again_is_waited_for_as_a_record_is() -> None:
    calls: list[int] = []

    def call(context: ProcessorContext, time: int) -> None:
        calls.append(time)
        if len(calls) < 5:
            raise ValueError("busy")
        forwarding(context, time)

    kept: list[Any] = []

    class Watching(Clock):
        def wait(self, ms: int) -> bool:
            found = Consumer((), rig.consumer.group).committed([TopicPartition("t", 0)])[TopicPartition("t", 0)]
            is_kept = found is not None and f'"failures":{len(calls)}' in found.metadata
            kept.append((rig.state.describe_parked(), is_kept))
            return super().wait(ms)

    rig = StreamRig(
        rows(b"1"), {"a": passing()}, NODE, retry=RetryPolicy(9), clock=Watching(),
        init=scheduling(PunctuationType.STREAM_TIME, 10_000_000, call),
    )  # fmt: skip
    assert rig.run() is None
    assert kept[-1] == ("PROCESSOR (a) failed 4 times; waiting to retry", True)
    assert (rig.count("total-record-failures"), rig.count("total-retries"), rig.state.parked) == (4, 4, None)
    assert rig.written() == ["1", "at 1000"]


def test_what_waited_for_a_punctuation_ends_with_the_memory_that_called_it() -> None:
    def call(_context: ProcessorContext, _time: int) -> None:
        raise ValueError("busy")

    first = StreamRig(
        rows(b"1"), {"a": passing()}, NODE, retry=RetryPolicy(9), clock=DyingIn(2_400),
        init=scheduling(PunctuationType.STREAM_TIME, 10_000_000, call),
    )  # fmt: skip
    with pytest.raises(SystemExit):
        first.run()
    again = StreamRig(rows(b"1"), {"a": passing()}, NODE, group=first.consumer.group)
    assert (again.run(), again.state.parked, again.state.describe_parked()) == (None, None, None)


def test_a_record_is_skipped_once_however_many_errors_it_has_and_a_punctuation_is_no_record() -> None:
    def call(_context: ProcessorContext, _time: int) -> None:
        raise ValueError("no time")

    tree = {"input": ["a", "b"], "a": [], "b": []}
    rig = StreamRig(
        rows(b"1", b"2"), {"a": raising_at(1), "b": raising_at(1)}, tree, answers={HandlerRole.PROCESSING: Asked()},
        init=scheduling(PunctuationType.STREAM_TIME, 10_000_000, call),
    )  # fmt: skip
    assert rig.run() is None
    assert (rig.count("total-records-skipped"), rig.count("total-record-errors")) == (1, 4)


def test_a_retried_node_forwards_once() -> None:
    calls: list[int] = []

    def flaky(context: ProcessorContext, record: Record) -> None:
        context.forward(record)
        calls.append(1)
        if len(calls) < 3:
            raise RetriableError("busy")

    rig = StreamRig(rows(b"1"), {"a": flaky}, {"input": ["a"], "a": ["out"]}, retry=RetryPolicy(5))
    assert rig.run() is None
    assert (rig.written(), rig.clock.waits, rig.count("total-retries")) == (["1"], [300, 600], 2)


def test_before_a_long_wait_everything_before_it_is_written_and_committed() -> None:
    seen: list[tuple[int, list[str]]] = []

    def process(context: ProcessorContext, record: Record) -> None:
        if record.value == 2:
            seen.append((rig.committed(), rig.written("out")))
            if len(seen) < 5:
                raise RetriableError("busy")
        context.forward(record)

    tree = {"input": ["tap", "a"], "a": ["out"]}
    rig = StreamRig(rows(b"1", b"2", b"3"), {"a": process}, tree, retry=RetryPolicy(9))
    assert rig.run() is None
    assert seen == [(0, []), (0, []), (0, []), (1, ["1"]), (1, ["1"])]
    assert (rig.written("out"), rig.written("tap"), rig.committed()) == (["1", "2", "3"], ["1", "2", "3"], 3)
    assert (rig.count("records-consumed"), rig.count("total-retries")) == (3, 4)


def test_attempts_go_on_counting_after_a_worker_that_died_in_a_wait() -> None:
    first = StreamRig(rows(b"1", b"2"), {"a": raising_at(2)}, NODE, retry=RetryPolicy(4), clock=DyingIn(2_400))
    with pytest.raises(SystemExit):
        first.run()
    assert first.committed() == 1
    later = Clock(first.clock.now_ms() + 2_400)
    again = StreamRig(
        rows(b"1", b"2"), {"a": raising_at(2)}, NODE, retry=RetryPolicy(4), clock=later, group=first.consumer.group
    )
    assert isinstance(again.run(), Failed)
    context = again.reporter.reports[0][0]
    assert (context.attempt, context.first_failure_time, again.clock.waits) == (4, 1_000_000, [])
    assert again.count("total-retries") == 4


def test_what_fails_the_task_before_a_long_wait_ends_the_wait() -> None:
    def process(context: ProcessorContext, record: Record) -> None:
        if record.value == 3:
            raise RetriableError("busy")
        context.forward(record)

    producer = BatchingProducer(1, lambda value: value == b"2")
    rig = StreamRig(rows(b"1", b"2", b"3", b"4"), {"a": process}, NODE, producer=producer, retry=RetryPolicy(-1))
    end = rig.run()
    assert isinstance(end, Failed)
    assert "KAFKA_PRODUCE (out) failed on t-0 at offset 1" in end.message
    assert (rig.clock.waits, rig.committed()) == ([300, 600], 1)


def test_while_bad_bytes_are_tried_again_nothing_is_lost_of_what_came_before() -> None:
    clock = Clock(stop_at=1_010_000)
    rig = StreamRig(rows(b"1", b"{", b"3"), {}, {"input": ["out"]}, retry=RetryPolicy(-1), clock=clock)
    assert rig.run() == Interrupted(None)
    assert (rig.written(), rig.committed()) == (["1"], 1)


def test_a_stop_request_ends_a_wait_and_the_record_is_not_processed() -> None:
    rig = StreamRig(
        rows(b"1", b"2"), {"a": raising_at(2)}, {"input": ["a"], "a": ["out"]},
        retry=RetryPolicy(-1), clock=Clock(stop_at=1_000_100),
    )  # fmt: skip
    assert rig.run() == Interrupted(None)
    assert (rig.written(), rig.committed()) == (["1"], 1)
