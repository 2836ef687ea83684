"""What a stream does when something is in its way: it waits where it stands, and neither loses nor doubles anything."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from engine.config.handlers import Role
from engine.errors import RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.handlers import Response
from engine.policy.retry import RetryPolicy
from engine.ports import Committed
from engine.record.record import Record, TopicPartition
from engine.steps.processors import ProcessorContext
from engine.steps.schedules import PunctuationType
from tests.engine.pipeline.stream_rig import NODE, Asked, StreamRig, forwarding, passing, raising_at, rows, scheduling
from tests.fakes import Clock, Consumer, Producer


class DyingIn(Clock):
    """The worker dies in the wait that is this long."""

    def __init__(self, ms: int) -> None:
        super().__init__()
        self.ms = ms

    def wait(self, ms: int) -> bool:
        if ms == self.ms:
            raise SystemExit
        return super().wait(ms)


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
            answers={Role.PROCESSING: Asked()}, producer=producer, group=group,
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
    def transform(value: Any) -> Any:
        if value == 3:
            raise ValueError("bad")
        return value

    seen: list[tuple[list[str], int]] = []

    class Watching(Clock):
        def wait(self, ms: int) -> bool:
            seen.append((rig.written(), rig.committed()))
            return super().wait(ms)

    rig = StreamRig(
        rows(b"1", b"2", bad, b"4"), {"a": passing()}, NODE,
        transform=transform, retry=RetryPolicy(-1, 60_000), clock=Watching(stop_at=1_100_000),
    )  # fmt: skip
    assert rig.run() == Interrupted(None)
    assert seen[:3] == [([], 0), ([], 0), (["1", "2"], 2)]
    assert (rig.written(), rig.committed(), rig.count("records-consumed")) == (["1", "2"], 2, 2)


def test_nobody_is_asked_about_bytes_behind_a_record_that_stops_the_task() -> None:
    asked = Asked(Response.CONTINUE)
    rig = StreamRig(rows(b"1", b"{"), {"a": raising_at(1)}, NODE, answers={Role.DESERIALIZATION: asked})
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
        rig = StreamRig(rows(b"1"), nodes, tree, answers={Role.PROCESSING: Decider()}, group=group)
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
            kept.append((rig.state.why_parked(), is_kept))
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
    assert (again.run(), again.state.parked, again.state.why_parked()) == (None, None, None)


def test_a_record_is_skipped_once_however_many_errors_it_has_and_a_punctuation_is_no_record() -> None:
    def call(_context: ProcessorContext, _time: int) -> None:
        raise ValueError("no time")

    tree = {"input": ["a", "b"], "a": [], "b": []}
    rig = StreamRig(
        rows(b"1", b"2"), {"a": raising_at(1), "b": raising_at(1)}, tree, answers={Role.PROCESSING: Asked()},
        init=scheduling(PunctuationType.STREAM_TIME, 10_000_000, call),
    )  # fmt: skip
    assert rig.run() is None
    assert (rig.count("total-records-skipped"), rig.count("total-record-errors")) == (1, 4)
