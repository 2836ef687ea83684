"""A node that is tried again: what a wait holds up, and what it leaves."""

from __future__ import annotations

import pytest

from engine.errors import RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.retry import RetryPolicy
from engine.record.record import Record
from engine.steps.processors import ProcessorContext
from tests.engine.pipeline.stream_rig import NODE, StreamRig, raising_at, rows
from tests.fakes import BatchingProducer, Clock


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


class Dying(Clock):
    """The worker dies in the wait that is this long."""

    def wait(self, ms: int) -> bool:
        if ms == 2_400:
            raise SystemExit
        return super().wait(ms)


def test_attempts_go_on_counting_after_a_worker_that_died_in_a_wait() -> None:
    first = StreamRig(rows(b"1", b"2"), {"a": raising_at(2)}, NODE, retry=RetryPolicy(4), clock=Dying())
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
