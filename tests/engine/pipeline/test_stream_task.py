from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.config.exception_handlers import HandlerRole
from engine.pipeline.outcome import Failed, FailedAttempts, Interrupted
from engine.pipeline.task_state import MAX_MARKS, OperationId, ParkedRetry, ReportedError
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import TopicPartition
from engine.record.replay import ITEM
from engine.reporting.metrics import is_balanced
from engine.steps.processors import ProcessorContext
from engine.steps.schedules import PunctuationType
from tests.engine.pipeline.rig import rows
from tests.engine.pipeline.stream_rig import NODE, Asked, StreamRig, passing, raising_at, scheduling
from tests.fakes import BatchingProducer, Clock, raw
from tests.support.examples import examples

CONTINUE = {role: Asked() for role in HandlerRole}
LINE = {"input": ["a"], "a": ["b"], "b": ["out"]}


def test_a_record_goes_through_every_node_to_every_sink_and_is_delivered_once() -> None:
    tree = {"input": ["a", "tap"], "a": ["b", "left"], "b": ["out"]}
    rig = StreamRig(rows(b"1", b"2"), {"a": passing(lambda n: n + 10), "b": passing(lambda n: n * 2)}, tree)
    assert rig.run() is None
    assert [rig.written(name) for name in ("tap", "left", "out")] == [["1", "2"], ["11", "12"], ["22", "24"]]
    assert (rig.committed(), rig.count("records-delivered"), rig.count("records-consumed")) == (2, 2, 2)


def test_children_are_served_in_their_order_each_with_all_its_descendants() -> None:
    seen: list[str] = []

    def noting(name: str) -> Any:
        def note(context: ProcessorContext, record: Any) -> None:
            seen.append(name)
            context.forward(record)

        return note

    tree = {"input": ["a"], "a": ["b", "d"], "b": ["c"], "c": [], "d": []}
    StreamRig(rows(b"1"), {name: noting(name) for name in "abcd"}, tree).run()
    assert seen == ["a", "b", "c", "d"]


def test_forward_to_one_child_leaves_the_others_out() -> None:
    tree = {"input": ["a"], "a": ["left", "right"]}
    rig = StreamRig(rows(b"1", b"2"), {"a": lambda one, record: one.forward(record, "right")}, tree)
    rig.run()
    assert (rig.written("left"), rig.written("right")) == ([], ["1", "2"])


def test_a_record_that_no_processor_forwards_is_delivered() -> None:
    rig = StreamRig(rows(b"1"), {"a": lambda _context, _record: None}, {"input": ["a"], "a": ["out"]})
    rig.run()
    assert (rig.written(), rig.count("records-delivered"), rig.committed()) == ([], 1, 1)


def test_a_record_that_a_transform_leaves_out_is_filtered() -> None:
    rig = StreamRig(rows(b"1", b"2"), {}, {"input": ["out"]}, transform=lambda n: None if n == 1 else n)
    rig.run()
    assert (rig.written(), rig.count("records-filtered"), rig.count("records-consumed")) == (["2"], 1, 2)


def test_by_default_the_first_error_stops_the_task_before_its_record() -> None:
    """S-01,
    ProcessingExceptionHandlerIntegrationTest#shouldFailWhenProcessingExceptionOccursIfExceptionHandlerReturnsFail;
    S-18, ProcessorNodeTest#shouldThrowFailedProcessingExceptionWhenProcessingExceptionHandlerRepliesWithFail;
    S-10, DeadLetterQueueIntegrationTest#shouldSendToDlqAndFailFromDsl;
    S-12, DeadLetterQueueIntegrationTest#shouldSendToDlqAndFailFromProcessorAPI;
    S-23, ProcessorNodeTest#shouldBuildDeadLetterQueueRecordsInDefaultProcessingExceptionHandler.

    There is no DSL, and the dead letter is KIP-298's: the record's own bytes are in its context."""
    rig = StreamRig(rows(b"1", b"2", b"3"), {"a": raising_at(2), "b": passing()}, LINE)
    end = rig.run()
    assert isinstance(end, Failed)
    assert (
        "LogAndFailProcessingExceptionHandler returned FAIL: PROCESSOR (a) failed on t-0 at offset 1: no 2"
        in end.message
    )
    [(context, origin)] = rig.reporter.reports
    assert (context.exception_class, context.message, origin.key, origin.value) == ("ValueError", "no 2", b"k", b"2")
    assert (rig.written(), rig.committed(), origin.offset) == (["1"], 1, 1)
    assert (rig.count("records-consumed"), rig.count("dropped-records-total")) == (1, 0)


@pytest.mark.parametrize("tree", [LINE, {"input": ["a", "b"], "a": [], "b": []}], ids=["child", "sibling"])
def test_nothing_behind_an_error_that_stops_the_task_is_processed(tree: dict[str, list[str]]) -> None:
    """S-05,
    ProcessingExceptionHandlerIntegrationTest#shouldStopOnFailedProcessorWhenProcessingExceptionOccursInFailProcessingExceptionHandler."""
    seen: list[Any] = []
    StreamRig(rows(b"1", b"2", b"3"), {"a": raising_at(2), "b": passing(seen.append)}, tree).run()
    assert seen == [1]


def test_where_a_node_fails_its_descendants_see_nothing_and_its_siblings_go_on() -> None:
    """S-06,
    ProcessingExceptionHandlerIntegrationTest#shouldStopOnFailedProcessorWhenProcessingExceptionOccursInContinueProcessingExceptionHandler;
    S-19, ProcessorNodeTest#shouldNotThrowFailedProcessingExceptionWhenProcessingExceptionHandlerRepliesWithContinue;
    S-24, ProcessorNodeTest#shouldBuildDeadLetterQueueRecordsInLogAndContinueProcessingExceptionHandler."""
    tree = {"input": ["a"], "a": ["b", "c", "out"], "b": ["under-b"], "c": ["under-c"]}
    nodes = {"a": passing(), "b": raising_at(2), "c": passing()}
    rig = StreamRig(rows(b"1", b"2"), nodes, tree, answers=CONTINUE)
    assert rig.run() is None
    assert [rig.written(name) for name in ("under-b", "under-c", "out")] == [["1"], ["1", "2"], ["1", "2"]]
    assert (rig.count("records-dead-lettered"), rig.count("records-delivered"), rig.committed()) == (1, 1, 2)
    assert (rig.dropped(), rig.count("dropped-records-total"), rig.reporter.offsets) == ({"b": 1}, 1, [1])


def test_two_failing_branches_are_two_errors_of_one_record() -> None:
    tree = {"input": ["a", "b"], "a": ["out"], "b": ["out"]}
    rig = StreamRig(rows(b"2"), {"a": raising_at(2), "b": raising_at(2)}, tree, answers=CONTINUE)
    rig.run()
    assert (rig.count("total-record-errors"), rig.count("records-dead-lettered"), rig.reporter.offsets) == (
        2,
        1,
        [0, 0],
    )
    assert is_balanced(rig.state.metrics)


def test_what_became_of_a_replayed_record_is_told() -> None:
    records = [replace(one, headers=((ITEM, b"%d" % one.offset),)) for one in rows(b"1", b"2", b"3", b"9")]
    tree = {"input": ["a"], "a": ["out"]}
    rig = StreamRig(
        records, {"a": raising_at(2)}, tree, answers=CONTINUE, transform=lambda value: None if value == 3 else value
    )
    rig.run()
    told = [orjson.loads(value or b"null")["outcome"] for _, _, value, *_ in rig.outcomes.records]
    assert told == ["delivered", "dead_lettered", "filtered", "delivered"]


def test_without_a_dead_letter_topic_what_is_let_go_is_skipped() -> None:
    rig = StreamRig(rows(b"2"), {"a": raising_at(2)}, NODE, answers=CONTINUE, dead_letters=False)
    rig.run()
    assert (rig.count("records-skipped"), rig.count("records-dead-lettered"), rig.committed()) == (1, 0, 1)


def test_without_a_handler_the_tolerance_policy_decides() -> None:
    """S-20, ProcessorNodeTest#shouldRethrowExceptionWhenProcessingExceptionHandlerIsNull."""
    rig = StreamRig(rows(*[b"2"] * 4), {"a": raising_at(2), "b": passing()}, LINE, tolerance=TolerancePolicy(2, -1))
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message.startswith("Tolerance exceeded: PROCESSOR (a) failed")
    assert (rig.committed(), rig.count("records-dead-lettered"), rig.count("dropped-records-total")) == (2, 2, 0)


def test_a_record_with_an_error_let_go_and_one_that_is_not_gets_each_dead_letter_once() -> None:
    tree = {"input": ["a", "b"], "a": ["out"], "b": ["out"]}
    nodes = {"a": raising_at(2), "b": raising_at(2)}
    first = StreamRig(rows(b"2"), nodes, tree, tolerance=TolerancePolicy(1, -1))
    assert isinstance(first.run(), Failed)
    assert [context.stage.name for context, _ in first.reporter.reports] == ["a", "b"]
    for restarts in (1, 2):
        again = StreamRig(
            rows(b"2"), nodes, tree, tolerance=TolerancePolicy(1, -1), group=first.consumer.group, restarts=restarts
        )
        assert isinstance(again.run(), Failed)
        assert again.reporter.reports == []


def test_bad_bytes_are_the_deserialization_handlers() -> None:
    asked = Asked()
    rig = StreamRig(rows(b"{", b"2"), {}, {"input": ["out"]}, answers={HandlerRole.DESERIALIZATION: asked})
    assert rig.run() is None
    [(context, record, _)] = asked.seen
    assert (record, context.offset, context.source_raw_value) == (raw(0, b"{"), 0, b"{")
    assert (rig.written(), rig.count("dropped-records-total")) == (["2"], 1)


def test_what_can_not_be_written_is_the_production_handlers_with_its_origin() -> None:
    asked = Asked()
    rig = StreamRig(rows(b'"bad"', b"2"), {}, {"input": ["out"]}, answers={HandlerRole.PRODUCTION: asked})
    assert rig.run() is None
    [(context, (record, origin), error)] = asked.seen
    assert (record.value, record.topic, origin, str(error)) == ("bad", "to-out", "VALUE", "no bytes for to-out")
    assert (context.processor_node_id, context.source_raw_value) == ("out", b'"bad"')
    assert (rig.written(), rig.dropped()) == (["2"], {"out": 1})


def test_a_record_the_broker_refuses_is_the_production_handlers_and_its_neighbours_are_written() -> None:
    """S-43,
    RecordCollectorTest#shouldNotThrowStreamsExceptionOnSubsequentCallIfASendFailsWithContinueExceptionHandler;
    S-58, RecordCollectorTest#shouldFreeRawRecordsInContextBeforeSending.

    Shipped Kafka lets go of the source's bytes before it sends, to save memory; here the handler gets them."""
    asked = Asked()
    producer = BatchingProducer(10, lambda value: value == b"2")
    rig = StreamRig(
        rows(b"1", b"2", b"3"), {}, {"input": ["out"]}, producer=producer, answers={HandlerRole.PRODUCTION: asked}
    )
    assert rig.run() is None
    assert producer.log == {TopicPartition("to-out", 0): [b"1", b"3"]}
    [(context, record, _)] = asked.seen
    assert (record.value, record.topic, context.offset) == (b"2", "to-out", 1)
    assert (context.source_raw_key, context.source_raw_value) == (b"k", b"2")
    assert (rig.count("records-dead-lettered"), rig.committed(), rig.dropped()) == (1, 3, {"out": 1})


def test_a_refused_record_fails_the_task_by_default_after_everything_before_it() -> None:
    """S-35, RecordCollectorTest#shouldThrowStreamsExceptionOnSubsequentSendIfASendFailsWithDefaultExceptionHandler;
    S-57, RecordCollectorTest#shouldBuildDeadLetterQueueRecordsInDefaultExceptionHandler."""
    producer = BatchingProducer(1, lambda value: value == b"2")
    rig = StreamRig(rows(b"1", b"2", b"3"), {}, {"input": ["out", "too"]}, producer=producer)
    end = rig.run()
    assert isinstance(end, Failed)
    assert "DefaultProductionExceptionHandler returned FAIL: KAFKA_PRODUCE (out)" in end.message
    assert (rig.committed(), rig.reporter.offsets, producer.log[TopicPartition("to-too", 0)][0]) == (1, [1], b"1")


@pytest.mark.parametrize(("answer", "text"), [(None, "it returned None"), (KeyError("its own"), "KeyError: 'its own'")])
def test_a_handler_that_fails_itself_fails_the_task_and_says_so(answer: Any, text: str) -> None:
    """S-07, ProcessingExceptionHandlerIntegrationTest#shouldStopProcessingWhenProcessingExceptionHandlerReturnsNull;
    S-22, ProcessorNodeTest#shouldThrowFailedProcessingExceptionWhenProcessingExceptionHandlerThrowsAnException."""
    rig = StreamRig(
        rows(b"2"), {"a": raising_at(2)}, {"input": ["a"], "a": []}, answers={HandlerRole.PROCESSING: Asked(answer)}
    )
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message.startswith(f"Fatal user code error in processing error callback, test: {text}")
    assert ("tests/engine/pipeline/stream_rig.py:handle" in end.message) is (answer is not None)  # with its trace
    assert (rig.committed(), rig.reporter.offsets, rig.count("dropped-records-total")) == (0, [0], 0)


def test_a_handler_is_asked_once_of_each_error() -> None:
    asked = Asked()
    rig = StreamRig(
        rows(*[b"2"] * 3), {"a": raising_at(2)}, {"input": ["a"], "a": []}, answers={HandlerRole.PROCESSING: asked}
    )
    rig.run()
    assert [context.offset for context, *_ in asked.seen] == [0, 1, 2]


def test_headers_that_are_no_bytes_are_an_error_of_the_sink() -> None:
    asked = Asked()
    nodes = {"a": lambda one, record: one.forward(replace(record, headers=(("h", None, 5),)))}
    rig = StreamRig(rows(b"1"), nodes, {"input": ["a"], "a": ["out"]}, answers={HandlerRole.PRODUCTION: asked})
    rig.run()
    assert [str(error) for *_, error in asked.seen] == ["ByteArrayConverter writes only bytes, not int"]


def test_thirty_nodes_keep_their_memory_within_what_a_commit_may_carry() -> None:
    names = [f"node-{number}" for number in range(30)]
    tree: dict[str, list[str]] = {"input": ["node-0"]}
    tree |= {name: [after] for name, after in zip(names, [*names[1:], "out"], strict=True)}
    rig = StreamRig(rows(b"1"), dict.fromkeys(names, passing()), tree)
    rig.state.stage_failures = [10**9] * len(rig.stages)
    rig.state.stage_dropped = [10**9] * len(rig.stages)
    rig.run()
    state, window = rig.state, TolerancePolicy(-1, 10**6, 86_400_000)
    for errors in range(2000):
        state.tolerance = window.add(state.tolerance, 1_700_000_000_000 + errors * 43_000)
    place = OperationId("t" * 249, 9_999, 10**12, 30)
    state.parked = ParkedRetry(place, FailedAttempts(10**6, 1_700_000_000_000), 1_700_000_000_000)
    state.reported = (ReportedError.of(place, "dlq"),) * MAX_MARKS
    assert len(rig.consumer.group[TopicPartition("t", 0)].metadata) < len(state.to_metadata()) < 4096


VALUES = [b"1", b"2", b"3", b"{", b'"bad"', b"null", b"7"]


@examples(75, 300)
def test_each_record_lies_in_exactly_one_bucket_and_none_is_passed_by(count: int) -> None:
    @settings(max_examples=count)
    @given(
        st.lists(st.tuples(st.sampled_from(VALUES), st.integers(0, 2)), max_size=30),
        st.integers(-1, 4),
        st.booleans(),
        st.integers(1, 4),
        st.integers(0, 4),
        st.integers(0, 60_000),
    )
    def check(
        values: list[tuple[bytes, int]], limit: int, handled: bool, size: int, retries: int, stop_after_ms: int
    ) -> None:
        offsets = [0, 0, 0]
        records = []
        for value, partition in values:
            records.append(raw(offsets[partition], value, partition=partition))
            offsets[partition] += 1

        def fail(context: ProcessorContext, _time: int) -> None:
            if context.stream_time_ms % 3 == 0:
                raise ValueError("KABOOM!")

        rig = StreamRig(
            records,
            {"a": raising_at(2), "b": raising_at(3)},
            {"input": ["a", "b"], "a": ["out", "b"], "b": ["out", "too"]},
            tolerance=None if handled else TolerancePolicy(limit, -1),
            answers=CONTINUE if handled else None,
            init=scheduling(PunctuationType.STREAM_TIME, 2, fail),
            producer=BatchingProducer(size, lambda value: value == b"7"),
            retry=RetryPolicy(retries),
            clock=Clock(stop_at=1_000_000 + stop_after_ms),
        )
        end = rig.run()
        assert is_balanced(rig.state.metrics)
        assert rig.count("records-consumed") == sum(rig.committed(number) for number in range(3))
        written = rig.producer.log.get(TopicPartition("to-too", 0), [])
        passed = sum(one.value == b"1" and one.offset < rig.committed(one.partition) for one in records)
        assert written.count(b"1") >= 2 * passed
        if end is None:
            assert written.count(b"1") == 2 * passed
            assert [rig.committed(number) for number in range(3)] == offsets
        else:
            assert (isinstance(end, Failed) and not handled) or (end == Interrupted(None) and retries > 0)

    check()
