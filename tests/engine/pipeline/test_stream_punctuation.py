from __future__ import annotations

import weakref
from typing import Any

import pytest
from msgspec.structs import replace

from engine.config.exception_handlers import HandlerRole
from engine.pipeline.outcome import Failed
from engine.record.record import Record
from engine.steps.processors import ProcessorContext
from engine.steps.schedules import PunctuationType, Schedules
from tests.engine.pipeline.rig import rows
from tests.engine.pipeline.stream_rig import Asked, StreamRig, forwarding, passing, scheduling
from tests.fakes import Clock, raw

CONTINUE = {role: Asked() for role in HandlerRole}


def test_stream_time_punctuates_with_the_first_record_and_then_at_multiples_of_the_interval() -> None:
    times = [5, 7, 12, 11, 20, 45]
    records = [replace(raw(offset, b"1"), timestamp=time) for offset, time in enumerate(times)]
    init = scheduling(PunctuationType.STREAM_TIME, 10, forwarding)
    rig = StreamRig(records, {"a": passing()}, {"input": ["a"], "a": ["out"]}, init=init)
    rig.run()
    assert rig.written() == ["1", "at 5", "1", "1", "at 12", "1", "1", "at 20", "1", "at 45"]
    assert (rig.count("records-delivered"), rig.count("records-consumed")) == (6, 6)


def test_stream_time_is_the_largest_timestamp_seen() -> None:
    seen: list[int] = []
    times = [5, 12, 11, -1, 13]
    records = [replace(raw(offset, b"1"), timestamp=time) for offset, time in enumerate(times)]
    nodes = {"a": lambda context, _: seen.append(context.stream_time_ms)}
    StreamRig(records, nodes, {"input": ["a"], "a": []}).run()
    assert seen == [5, 12, 12, 12, 13]


def test_what_a_failed_attempt_scheduled_is_not_called() -> None:
    called: list[int] = []

    def process(context: ProcessorContext, record: Record) -> None:
        context.schedule(1, "STREAM_TIME", called.append)
        if record.value == 2:
            raise ValueError("after it has scheduled")

    rig = StreamRig(rows(b"2", b"1"), {"a": process}, {"input": ["a"], "a": []}, answers=CONTINUE)
    rig.run()
    assert called == [1_001]


def test_the_clock_punctuates_without_records() -> None:
    clock = Clock(1_000)
    init = scheduling(PunctuationType.WALL_CLOCK_TIME, 100, forwarding)
    rig = StreamRig([raw()], {"a": passing()}, {"input": ["a"], "a": ["out"]}, init=init, clock=clock)
    rig.run()
    for now in (1_050, 1_100, 1_150, 1_330, 1_400):
        clock.time_ms = now
        rig.run()
    assert rig.written() == ["1", "at 1100", "at 1330", "at 1400"]


def test_a_cancelled_schedule_is_not_called_again() -> None:
    handles: list[Any] = []

    def init(context: ProcessorContext) -> None:
        handles.append(context.schedule(1, PunctuationType.STREAM_TIME, lambda _: handles[0].cancel()))
        context.schedule(1, "STREAM_TIME", lambda time: forwarding(context, time))

    rig = StreamRig(rows(b"1", b"2"), {"a": lambda *_: None}, {"input": ["a"], "a": ["out"]}, init=init)
    rig.run()
    assert (rig.written(), handles[0].cancelled) == (["at 1000", "at 1001"], True)


def test_schedules_that_were_cancelled_are_not_kept_for_ever() -> None:
    schedules = Schedules()
    kept = schedules.add("a", 1, PunctuationType.WALL_CLOCK_TIME, print, 0)
    gone = []
    for _ in range(1_000):
        handle = schedules.add("a", 3_600_000, PunctuationType.WALL_CLOCK_TIME, print, 0)
        handle.cancel()
        gone.append(weakref.ref(handle))
    del handle
    assert sum(one() is not None for one in gone) < 100
    assert list(schedules.due(PunctuationType.WALL_CLOCK_TIME, 5)) == [kept]


@pytest.mark.parametrize("kind", list(PunctuationType))
def test_a_punctuation_that_fails_asks_the_processing_handler_without_a_record(kind: PunctuationType) -> None:
    def fail(_context: ProcessorContext, _time: int) -> None:
        raise ValueError("KABOOM!")

    asked, clock = Asked(), Clock(5_000)
    rig = StreamRig(
        rows(b"1"), {"a": passing()}, {"input": ["a"], "a": ["out"]},
        init=scheduling(kind, 100, fail), answers={HandlerRole.PROCESSING: asked}, clock=clock,
    )  # fmt: skip
    rig.run()
    clock.time_ms += 100
    assert rig.run() is None
    [(context, record, _)] = asked.seen
    assert (context.topic, context.partition, context.offset, context.headers) == (None, -1, -1, ())
    assert (record, context.timestamp, context.processor_node_id) == (None, 1_000, "a")
    assert (rig.count("dropped-records-total"), rig.count("records-consumed"), rig.committed()) == (1, 1, 1)


def test_a_punctuation_that_is_not_let_go_fails_the_task_behind_the_records_before_it() -> None:
    def fail(_context: ProcessorContext, time: int) -> None:
        if time == 1_001:
            raise ValueError("KABOOM!")

    init = scheduling(PunctuationType.STREAM_TIME, 1, fail)
    rig = StreamRig(rows(b"1", b"2", b"3"), {"a": passing()}, {"input": ["a"], "a": ["out"]}, init=init)
    end = rig.run()
    assert isinstance(end, Failed)
    assert "PROCESSOR (a) failed on the punctuation at 1001: KABOOM!" in end.message
    assert (rig.committed(), rig.written()) == (2, ["1", "2"])


def test_what_a_punctuation_forwards_has_no_origin_at_any_node() -> None:
    asked = Asked()

    def init(context: ProcessorContext) -> None:
        if context.node == "a":
            context.schedule(1, "STREAM_TIME", lambda time: forwarding(context, time))

    def under(context: ProcessorContext, record: Record) -> None:
        assert (context.topic, context.partition, context.offset) == (None, -1, -1)
        raise ValueError(record.value)

    rig = StreamRig(
        rows(b"1"), {"a": lambda *_: None, "b": under}, {"input": ["a"], "a": ["b"], "b": []},
        init=init,
        answers={HandlerRole.PROCESSING: asked},
    )  # fmt: skip
    rig.run()
    [(context, record, error)] = asked.seen
    assert (context.topic, context.offset, record.value, str(error)) == (None, -1, "at 1000", "at 1000")


@pytest.mark.parametrize(
    ("misuse", "text"),
    [
        (lambda one, record: one.forward(record, "nobody"), "'<withheld>' is not a child of a; its children: out"),
        (lambda one, record: one.forward(record.value), "forward needs a Record, not a int"),
        (lambda one, record: one.schedule(0, "STREAM_TIME", print), "the interval must be at least 1 ms"),
        (lambda one, record: one.schedule(1, "SOMETIMES", print), "SOMETIMES"),
    ],
)
def test_misuse_of_a_context_is_an_error_of_its_record(misuse: Any, text: str) -> None:
    rig = StreamRig(rows(b"1"), {"a": misuse}, {"input": ["a"], "a": ["out"]}, answers=CONTINUE)
    rig.run()
    assert text in rig.reporter.reports[0][0].message


def test_forward_outside_of_a_call_is_refused() -> None:
    rig = StreamRig(rows(b"1"), {"a": passing()}, {"input": ["a"], "a": ["out"]})
    rig.run()
    with pytest.raises(RuntimeError, match="forward can be called only from process"):
        rig.contexts["a"][1].forward(Record("", None, None, None, 1))
