"""A sink that delivers a part of a batch names it, and the part is neither put again nor blamed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from engine.errors import ConfigError, EngineError, PartialPut, RecordError, RetriableError, Throttling
from engine.pipeline.outcome import Failed, Interrupted
from engine.pipeline.sink_task import SLOW_MS
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record
from tests.engine.pipeline.rig import Rig, rows
from tests.fakes import Clock, Sink

NONE = TolerancePolicy(0, 0)


class PartSink(Sink):
    """Delivers records one by one. `answer` is asked before each and may return or raise what happens instead."""

    def __init__(self, answer: Callable[[int], Exception | None], *, put_is_idempotent: bool = False) -> None:
        super().__init__(put_is_idempotent=put_is_idempotent)
        self.answer = answer

    def put(self, records: Sequence[Record]) -> None:
        self.puts.append(len(records))
        done: tuple[int, ...] = ()
        for index, record in enumerate(records):
            trouble = self.answer(record.value)
            if isinstance(trouble, EngineError):
                raise PartialPut(done, (), trouble)
            if trouble is not None:
                raise PartialPut(done, (RecordError(index, trouble),))
            self.delivered.append(record.value)
            done = (*done, index)


def failing(value: int, *errors: Exception) -> Callable[[int], Exception | None]:
    """An answer that gives these errors for one value, one each time, and none afterwards."""
    left = list(errors)
    return lambda one: left.pop(0) if one == value and left else None


@pytest.mark.parametrize("idempotent", [False, True])
def test_only_the_rest_is_retried_after_a_pause(idempotent: bool) -> None:
    sink = PartSink(failing(3, RetriableError("busy"), RetriableError("busy")), put_is_idempotent=idempotent)
    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=sink, retry=RetryPolicy(2))
    assert rig.run() is None
    assert (sink.puts, sink.delivered, rig.committed()) == ([4, 2, 2], [1, 2, 3, 4], 4)
    assert rig.clock.waits == [300, 600]


@pytest.mark.parametrize("idempotent", [False, True])
def test_only_the_rest_is_blamed_when_the_retries_are_used_up(idempotent: bool) -> None:
    sink = PartSink(failing(3, *[RetriableError("busy")] * 9), put_is_idempotent=idempotent)
    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=sink, retry=RetryPolicy(1))
    assert rig.run() is None
    assert (sink.delivered, rig.reporter.offsets, rig.committed()) == ([1, 2], [2, 3], 4)
    assert rig.count("records-delivered") == 2


def test_progress_begins_a_new_count_of_retries() -> None:
    busy = {1: 1, 2: 1, 3: 1}

    def answer(value: int) -> Exception | None:
        busy[value] -= 1
        return RetriableError("busy") if busy[value] >= 0 else None

    sink = PartSink(answer)
    rig = Rig(rows(b"1", b"2", b"3"), sink=sink, retry=RetryPolicy(1), tolerance=NONE)
    assert rig.run() is None
    assert (sink.delivered, rig.committed()) == ([1, 2, 3], 3)


def test_nothing_behind_a_rejected_record_is_delivered_if_it_stops_the_task() -> None:
    sink = PartSink(lambda value: ValueError("no") if value == 2 else None)
    rig = Rig(rows(b"1", b"2", b"3"), sink=sink, tolerance=NONE)
    assert isinstance(rig.run(), Failed)
    assert (sink.delivered, rig.committed(), rig.reporter.offsets) == ([1], 1, [1])


def test_a_tolerated_rejection_costs_no_second_delivery() -> None:
    sink = PartSink(lambda value: ValueError("no") if value in {1, 3} else None)
    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=sink)
    assert rig.run() is None
    assert (sink.delivered, rig.reporter.offsets, rig.committed()) == ([2, 4], [0, 2], 4)


def test_the_delivered_part_is_committed_before_a_long_wait_and_before_a_fatal_error() -> None:
    busy = PartSink(failing(3, Throttling("busy", 60_000)))
    rig = Rig(rows(b"1", b"2", b"3"), sink=busy, retry=RetryPolicy(-1), patience_ms=1000)
    assert rig.run() == Interrupted(rig.clock.now_ms() + 60_000)
    assert (busy.delivered, rig.committed()) == ([1, 2], 2)
    denied = PartSink(failing(3, ConfigError((("token", None, "is not accepted"),))))
    rig = Rig(rows(b"1", b"2", b"3"), sink=denied, retry=RetryPolicy(-1))
    assert isinstance(rig.run(), Failed)
    assert (denied.delivered, rig.committed()) == ([1, 2], 2)


def test_the_pause_that_the_target_asks_for_is_kept() -> None:
    sink = PartSink(failing(1, Throttling("busy", 90_000)))
    rig = Rig(rows(b"1"), sink=sink, retry=RetryPolicy(-1))
    assert rig.run() is None
    assert rig.clock.waits == [90_000]


def test_the_pause_does_not_exceed_the_deadline() -> None:
    assert RetryPolicy(-1, 60_000, 10_000).decide(1, 4_000, 1.0, pause_ms=90_000) == 6_000


def test_a_slow_sink_that_stops_by_itself_is_committed_in_part() -> None:
    clock = Clock()
    commits: list[int] = []

    class Slow(Sink):
        def put(self, records: Sequence[Record]) -> None:
            clock.time_ms += SLOW_MS
            self.puts.append(len(records))
            self.delivered.append(records[0].value)
            if len(records) > 1:
                raise PartialPut((0,))

    sink = Slow()
    rig = Rig(rows(b"1", b"2", b"3"), sink=sink, clock=clock)
    rig.consumer.on_commit = lambda: commits.append(len(sink.delivered))
    assert rig.run() is None
    assert (sink.delivered, sink.puts, rig.committed()) == ([1, 2, 3], [3, 2, 1], 3)
    assert commits == [1, 2, 3]


@pytest.mark.parametrize(
    "wrong", [PartialPut(()), PartialPut((9,)), PartialPut((0,), (RecordError(0, ValueError("no")),))]
)
def test_an_answer_that_contradicts_itself_fails_the_task(wrong: PartialPut) -> None:
    def answer(_: object) -> None:
        raise wrong

    rig = Rig(rows(b"1", b"2"), sink=Sink(answer), retry=RetryPolicy(3))
    assert isinstance(rig.run(), Failed)
    assert rig.count("records-delivered") == 0
