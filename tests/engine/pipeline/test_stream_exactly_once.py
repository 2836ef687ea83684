"""A stream's transactions: whatever stops, waits, is refused or killed, each output and each letter is there once."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config.exception_handlers import HandlerRole
from engine.errors import AbortableError, GenerationFenced, ProduceFailed, RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.handlers import Response
from engine.policy.retry import RetryPolicy
from engine.record.record import Record, TopicPartition
from engine.record.replay import ITEM
from engine.reporting.metrics import Metric
from engine.steps.processors import ProcessorContext
from engine.steps.schedules import PunctuationType
from tests.engine.pipeline.once_rig import GROUP, OnceRig, committed, fill, letters, written
from tests.engine.pipeline.stream_rig import Asked, forwarding, passing, raising_at, scheduling
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka, Fault

TWO = {"input": ["x", "y"]}
LARGE = 5


def kafka_with(*values: bytes, small: str = "", clock: Clock | None = None) -> FakeKafka:
    """A broker with these records; the topic of sink `small` takes no more than a few bytes a record."""
    kafka = FakeKafka(clock or Clock())
    for name in "xyz":
        kafka.create(f"to-{name}", 1, LARGE if name == small else None)
    kafka.create("t")
    kafka.create("dlq")
    fill(kafka, *values)
    return kafka


def away_with(kafka: FakeKafka, value: bytes | None = None) -> Any:
    """Let the partition of sink `y` be away for this value, or for all; return the method that produced before."""
    produce = kafka.produce

    def refusing(identity: Any, partition: TopicPartition, batch: Any) -> None:
        if partition.topic == "to-y" and any(value in (None, one) for _, one, *_ in batch):
            raise RetriableError("NOT_ENOUGH_REPLICAS")
        produce(identity, partition, batch)

    kafka.produce = refusing  # type: ignore[method-assign] # of a fake
    return produce


def numbers(count: int) -> tuple[bytes, ...]:
    return tuple(b"%d" % number for number in range(count))


def test_what_is_not_committed_is_seen_by_nobody_and_then_all_of_it_at_once() -> None:
    clock = Clock()
    kafka = kafka_with(*numbers(3), clock=clock)
    rig = OnceRig(kafka, {}, TWO)
    assert rig.task.step(0) is None
    assert (written(kafka, "x"), written(kafka, "y"), committed(kafka)) == ([], [], 0)
    clock.time_ms += 500
    assert rig.task.step(0) is None
    assert (written(kafka, "x"), written(kafka, "y"), committed(kafka)) == (["0", "1", "2"], ["0", "1", "2"], 3)


@pytest.mark.parametrize("small", ["x", "y"])
def test_a_refused_record_fails_the_task_and_no_end_has_anything_of_it_nor_behind_it(small: str) -> None:
    kafka = kafka_with(b"1", b"2", b"3333333", b"4", small=small)
    for _ in range(3):
        rig = OnceRig(kafka, {}, TWO)
        end = rig.run()
        rig.close()
        assert isinstance(end, Failed)
        assert f"KAFKA_PRODUCE ({small}) failed on t-0 at offset 2" in end.message
    assert (written(kafka, "x"), written(kafka, "y"), committed(kafka)) == (["1", "2"], ["1", "2"], 2)
    assert letters(kafka, rig.stages) == [(small, 0, 2)]


@pytest.mark.parametrize("small", ["x", "y"])
def test_a_refused_record_that_is_let_go_leaves_its_other_end_its_record(small: str) -> None:
    kafka = kafka_with(b"1", b"2222222", b"3", b"4444444", b"5", small=small)
    rig = OnceRig(kafka, {}, TWO, answers={HandlerRole.PRODUCTION: Asked()})
    assert rig.run() is None
    whole = ["1", "2222222", "3", "4444444", "5"]
    other = "y" if small == "x" else "x"
    assert (written(kafka, small), written(kafka, other), committed(kafka)) == (["1", "3", "5"], whole, 5)
    assert letters(kafka, rig.stages) == [(small, 0, 1), (small, 0, 3)]


def test_only_ends_that_can_not_be_written_have_errors_once_retries_are_exhausted() -> None:
    kafka = kafka_with(*numbers(3))
    away_with(kafka)
    rig = OnceRig(kafka, {}, TWO, answers={HandlerRole.PRODUCTION: Asked()}, retry=RetryPolicy(2))
    assert rig.run() is None
    assert (written(kafka, "x"), written(kafka, "y"), committed(kafka)) == (["0", "1", "2"], [], 3)
    assert letters(kafka, rig.stages) == [("y", 0, 0), ("y", 0, 1), ("y", 0, 2)]


def test_before_a_long_wait_what_is_done_is_committed_and_nothing_of_what_waits() -> None:
    seen: list[tuple[list[str], list[str], int]] = []

    class Watching(Clock):
        def wait(self, ms: int) -> bool:
            seen.append((written(kafka, "x"), written(kafka, "y"), committed(kafka)))
            return super().wait(ms)

    clock = Watching(stop_at=1_020_000)
    kafka = kafka_with(*numbers(4), clock=clock)
    produce = away_with(kafka, b"2")
    rig = OnceRig(kafka, {}, TWO, retry=RetryPolicy(-1))
    assert rig.run() == Interrupted(None)
    rig.close()
    assert (written(kafka, "x"), written(kafka, "y"), committed(kafka)) == ([], [], 0)
    assert seen
    assert all(row == ([], [], 0) for row in seen)
    kafka.produce = produce  # type: ignore[method-assign] # of a fake
    clock.stop_at = None
    assert OnceRig(kafka, {}, TWO).run() is None
    assert written(kafka, "x") == written(kafka, "y") == ["0", "1", "2", "3"]


def test_of_a_record_that_is_half_written_when_a_long_wait_comes_nothing_is_committed_until_all_of_it_is() -> None:
    seen: list[tuple[list[str], list[str], int]] = []

    class Watching(Clock):
        def wait(self, ms: int) -> bool:
            seen.append((written(kafka, "x"), written(kafka, "y"), committed(kafka)))
            return super().wait(ms)

    clock = Watching()
    kafka = kafka_with(*numbers(4), clock=clock)
    produce, away = kafka.produce, [True] * 5

    def moody(identity: Any, partition: TopicPartition, batch: Any) -> None:
        if away and partition.topic == "to-y" and any(value == b"1" for _, value, *_ in batch):
            if len(batch) > 1:
                raise ProduceFailed((("to-y", "INVALID_RECORD"),))
            away.pop()
            raise RetriableError("NOT_ENOUGH_REPLICAS")
        produce(identity, partition, batch)

    kafka.produce = moody  # type: ignore[method-assign] # of a fake
    assert OnceRig(kafka, {}, TWO, retry=RetryPolicy(-1)).run() is None
    assert seen[-1] == (["0"], ["0"], 1)
    assert (written(kafka, "x"), written(kafka, "y"), committed(kafka)) == (["0", "1", "2", "3"],) * 2 + (4,)


def test_where_a_handler_wants_another_attempt_nothing_of_the_record_is_committed() -> None:
    kafka = kafka_with(*numbers(3))
    produce = away_with(kafka, b"1")
    for _ in range(2):
        rig = OnceRig(kafka, {}, TWO)
        with pytest.raises(RetriableError, match="RETRY"):
            rig.run()
        rig.close()
    assert (written(kafka, "x"), letters(kafka, rig.stages), rig.state.metrics[Metric.TOTAL_RECORD_ERRORS]) == (
        [],
        [],
        0,
    )
    kafka.produce = produce  # type: ignore[method-assign] # of a fake
    assert OnceRig(kafka, {}, TWO).run() is None
    assert written(kafka, "x") == written(kafka, "y") == ["0", "1", "2"]


def abort_in(kafka: FakeKafka, times: int) -> None:
    """Let the broker abort the transactions of the next batches, through no fault of a record."""
    produce, left = kafka.produce, [True] * times

    def aborting(identity: Any, partition: TopicPartition, batch: Any) -> None:
        if left:
            left.pop()
            raise AbortableError("TRANSACTION_ABORTABLE")
        produce(identity, partition, batch)

    kafka.produce = aborting  # type: ignore[method-assign] # of a fake


@pytest.mark.parametrize("answer", [Response.CONTINUE, Response.FAIL])
def test_no_handler_is_asked_about_a_transaction_that_was_aborted(answer: Response) -> None:
    """S-55,
    RecordCollectorTest#shouldSwallowTransactionAbortedExceptionAndNotCallProductionExceptionHandler."""
    asked = Asked(answer)
    kafka = kafka_with(*numbers(3))
    rig = OnceRig(kafka, {}, TWO, answers={HandlerRole.PRODUCTION: asked})
    assert rig.task.step(0) is None
    fill(kafka, b"3")
    abort_in(kafka, 1)
    assert (rig.run(), asked.seen) == (None, [])
    assert written(kafka, "x") == written(kafka, "y") == ["0", "1", "2", "3"]
    assert (letters(kafka, rig.stages), rig.state.metrics[Metric.TOTAL_RECORD_ERRORS]) == ([], 0)


def test_a_task_whose_transactions_are_always_aborted_begins_again_at_its_last_commit() -> None:
    asked = Asked(Response.CONTINUE)
    kafka = kafka_with(*numbers(3))
    rig = OnceRig(kafka, {}, TWO, answers={HandlerRole.PRODUCTION: asked})
    abort_in(kafka, 100)
    with pytest.raises(RetriableError, match="the transaction was aborted 4 times"):
        rig.run()
    assert (asked.seen, committed(kafka), letters(kafka, rig.stages)) == ([], 0, [])


def test_nothing_is_processed_again_when_a_transaction_is_written_again() -> None:
    seen: list[Any] = []
    kafka = kafka_with(*numbers(5))

    def noting(value: Any) -> Any:
        seen.append(value)
        return value

    tree = {"input": ["a"], "a": ["x", "y"]}
    rig = OnceRig(kafka, {"a": passing(noting)}, tree, retry=RetryPolicy(1))
    assert rig.task.step(0) is None
    fill(kafka, b"5", b"6")
    faults = [Fault.AFTER]
    kafka.faults = lambda call: faults.pop() if faults and call == "produce" else None
    assert rig.run() is None
    assert (seen, committed(kafka)) == (list(range(7)), 7)
    assert written(kafka, "x") == written(kafka, "y") == [str(number) for number in range(7)]


def test_what_a_punctuation_wrote_is_committed_though_no_position_moves() -> None:
    clock = Clock()
    kafka = kafka_with(b"1", clock=clock)
    rig = OnceRig(
        kafka, {"a": passing()}, {"input": ["a"], "a": ["x"]},
        init=scheduling(PunctuationType.WALL_CLOCK_TIME, 1_000, forwarding),
    )  # fmt: skip
    assert rig.run() is None
    clock.time_ms += 1_000
    assert rig.task.step(0) is None
    clock.time_ms += 500
    assert rig.task.step(0) is None
    assert written(kafka, "x") == ["1", f"at {clock.time_ms - 500}"]


def test_a_lease_that_is_killed_leaves_nothing_and_the_next_one_begins_at_the_last_commit() -> None:
    kafka = kafka_with(*numbers(3))
    killed = OnceRig(kafka, {}, TWO)
    killed.task.step(0)
    assert OnceRig(kafka, {}, TWO).run() is None
    assert written(kafka, "x") == written(kafka, "y") == ["0", "1", "2"]
    with pytest.raises(GenerationFenced):
        killed.run()
    assert written(kafka, "x") == written(kafka, "y") == ["0", "1", "2"]


def test_a_zombie_whose_transaction_was_aborted_does_not_write_it_again_behind_its_successor() -> None:
    kafka = kafka_with(*numbers(3))
    zombie = OnceRig(kafka, {}, TWO)
    zombie.task.step(0)
    zombie.transaction.replace_after(0, zombie.transaction._kept)  # as if it had been lost
    assert OnceRig(kafka, {}, TWO).run() is None
    with pytest.raises(GenerationFenced, match="another process has committed offsets for group"):
        zombie.run()
    assert written(kafka, "x") == written(kafka, "y") == ["0", "1", "2"]


def test_outcomes_of_replayed_records_are_in_the_transaction() -> None:
    kafka = kafka_with()
    fill(kafka, b"1", headers=((ITEM, b"i"),))
    rig = OnceRig(kafka, {}, TWO)
    assert rig.task.step(0) is None
    assert kafka.read("outcomes", committed=False) == []
    assert rig.task.save() is None
    assert len(kafka.read("outcomes")) == 1


def test_an_error_of_processing_that_stops_the_task_leaves_its_letter_once() -> None:
    kafka = kafka_with(*numbers(4))
    tree = {"input": ["a", "x"], "a": ["y"]}
    for _ in range(2):
        rig = OnceRig(kafka, {"a": raising_at(2)}, tree)
        assert isinstance(rig.run(), Failed)
        rig.close()
    assert (written(kafka, "x"), written(kafka, "y")) == (["0", "1"], ["0", "1"])
    assert (letters(kafka, rig.stages), committed(kafka)) == ([("a", 0, 2)], 2)
    again = OnceRig(kafka, {"a": raising_at(2)}, tree, answers={HandlerRole.PROCESSING: Asked(Response.CONTINUE)})
    assert again.run() is None
    assert (written(kafka, "x"), written(kafka, "y")) == (["0", "1", "2", "3"], ["0", "1", "3"])
    assert (letters(kafka, rig.stages), committed(kafka)) == ([("a", 0, 2)], 4)


def test_a_chunk_that_takes_longer_than_the_interval_is_committed_on_the_way() -> None:
    clock = Clock()
    kafka = kafka_with(*numbers(5), clock=clock)
    seen: list[int] = []

    def slow(context: ProcessorContext, record: Any) -> None:
        clock.time_ms += 300
        seen.append(committed(kafka))
        context.forward(record)

    assert OnceRig(kafka, {"a": slow}, {"input": ["a"], "a": ["x"]}).run() is None
    assert seen == [0, 0, 2, 2, 4]
    assert (written(kafka, "x"), kafka.offsets(GROUP)) == (["0", "1", "2", "3", "4"], {TopicPartition("t", 0): 5})


@pytest.mark.parametrize("count", [2, 3, 10])
def test_several_errors_of_one_record_at_one_place_have_their_letters_once(count: int) -> None:
    class Last:
        """Lets all errors go but the last."""

        def __init__(self) -> None:
            self.asked = 0

        def handle(self, context: object, record: object, error: object) -> Response:
            self.asked += 1
            return Response.CONTINUE if self.asked < count else Response.FAIL

    def several(context: ProcessorContext, record: Record) -> None:
        for _ in range(count):
            context.forward(record)

    def refuse(context: ProcessorContext, record: Record) -> None:
        raise ValueError("no")

    kafka = kafka_with(b"0")
    tree = {"input": ["p"], "p": ["q"], "q": []}
    for _ in range(3):
        rig = OnceRig(kafka, {"p": several, "q": refuse}, tree, answers={HandlerRole.PROCESSING: Last()})
        rig.run()
        rig.close()
        kafka.settle()
        assert len(kafka.read("dlq")) == count
