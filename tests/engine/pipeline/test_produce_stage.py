from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProduceFailed, RetriableError
from engine.pipeline.guard import Guard
from engine.pipeline.outcome import Interrupted, PendingError
from engine.pipeline.produce_stage import WRITTEN, OutputRecord, RecordWriter
from engine.pipeline.task_state import ParkedRetry, TaskState
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record
from engine.record.stage import Stage, StageType
from engine.record.trace import DISCREET
from engine.reporting.metrics import Metric
from tests.engine.pipeline.rig import guard_for
from tests.fakes import BatchingProducer, Clock, Producer, Reporter, raw

STAGES = (Stage(StageType.TRANSFORMATION, "Test"), Stage(StageType.KAFKA_PRODUCE, "KafkaProducer"))
BAD = b"bad"


def guard(
    retry: RetryPolicy | None = None, limit: int = -1, patience_ms: int = 1_000_000, clock: Clock | None = None
) -> Guard:
    return guard_for(
        STAGES, TaskState(0, 1, 0, STAGES), clock or Clock(), retry=retry, tolerance=TolerancePolicy(limit, -1),
        dead_letters=Reporter(), patience_ms=lambda _: patience_ms, content_policy=DISCREET,
    )  # fmt: skip


def outgoing(values: Sequence[bytes], partitions: int = 1) -> list[OutputRecord]:
    return [
        OutputRecord(
            "out", place % partitions, None, None, value, (), raw(place), Record("out", None, None, None, value)
        )
        for place, value in enumerate(values)
    ]


def is_bad(value: bytes | None) -> bool:
    return value is not None and value.startswith(BAD)


def test_every_record_is_written_in_order() -> None:
    producer = BatchingProducer(10, is_bad)
    answers = RecordWriter(producer, guard(), 1).write(outgoing([b"%d" % number for number in range(25)]))
    assert answers == [WRITTEN] * 25
    assert [*producer.log.values()] == [[b"%d" % number for number in range(25)]]
    assert producer.flushes == 1


def test_only_the_guilty_record_of_a_rejected_batch_becomes_an_error() -> None:
    values = [b"%d" % number for number in range(100)]
    values[37] = BAD
    judge = guard(RetryPolicy(limit=5))
    answers = RecordWriter(BatchingProducer(50, is_bad), judge, 1).write(outgoing(values))
    (place,) = [place for place, answer in enumerate(answers) if answer is not WRITTEN]
    error = answers[place]
    assert place == 37
    assert isinstance(error, PendingError)
    assert isinstance(error.error, ProduceFailed)
    assert error.tolerable
    assert (error.origin, error.context.index, error.context.attempt) == (raw(37), 1, 0)
    assert judge.state.metrics[Metric.TOTAL_RECORD_FAILURES] == 1
    assert judge.state.metrics[Metric.TOTAL_RETRIES] == 0


def test_a_broker_that_is_away_is_tried_again_with_back_off() -> None:
    clock = Clock()
    judge = guard(RetryPolicy(limit=3), clock=clock)
    producer = BatchingProducer(10, is_bad, away=(1, 1))
    assert RecordWriter(producer, judge, 1).write(outgoing([b"1", b"2"])) == [WRITTEN] * 2
    assert clock.waits == [300, 600]
    assert judge.state.metrics[Metric.TOTAL_RETRIES] == 2


def test_a_broker_that_stays_away_makes_an_error_of_each_record() -> None:
    judge = guard(RetryPolicy(limit=1))
    producer = BatchingProducer(2, is_bad, away=(1, 1))
    answers = RecordWriter(producer, judge, 1).write(outgoing([b"1", b"2", b"3"]))
    errors = [answer for answer in answers if isinstance(answer, PendingError)]
    assert answers[2] is WRITTEN
    assert [error.origin for error in errors] == [raw(0), raw(1)]
    assert all(isinstance(error.error, RetriableError) and error.context.attempt == 1 for error in errors)


def test_a_wait_longer_than_the_lease_leaves_the_rest_for_later() -> None:
    judge = guard(RetryPolicy(limit=3), patience_ms=100)
    producer = BatchingProducer(1, is_bad, away=(1,))
    answers = RecordWriter(producer, judge, 1).write(outgoing([b"1", b"2"]))
    assert answers == [Interrupted(judge.clock.now_ms() + 300), WRITTEN]
    assert judge.state.parked is not None


def test_a_parked_produce_goes_on_where_it_stood_whichever_record_is_first() -> None:
    judge = guard(RetryPolicy(limit=1), patience_ms=100)
    RecordWriter(BatchingProducer(1, is_bad, away=(1,)), judge, 1).write(outgoing([b"1"]))
    parked = judge.state.parked
    assert isinstance(parked, ParkedRetry)
    (answer,) = RecordWriter(BatchingProducer(1, is_bad, away=(1,)), judge, 1).write(
        [OutputRecord("out", 0, None, None, b"2", (), raw(7), Record("out", None, None, None, b"2"))]
    )
    assert isinstance(answer, PendingError)
    assert answer.context.attempt == 1


def test_nothing_more_is_tried_behind_an_error_that_stops_the_task() -> None:
    producer = BatchingProducer(100, is_bad)
    answers = RecordWriter(producer, guard(limit=0), 1).write(outgoing([b"1", BAD, b"2", BAD]))
    assert [type(answer).__name__ for answer in answers] == ["Delivered", "PendingError", "Interrupted", "Interrupted"]
    assert [*producer.log.values()] == [[b"1"]]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (0, ["Delivered", "PendingError", "Interrupted", "Interrupted"]),
        (2, ["Delivered", "PendingError", "Interrupted", "Interrupted"]),
        (3, ["Delivered", "PendingError", "Delivered", "Interrupted"]),
        (4, ["Delivered", "PendingError", "Delivered", "Delivered"]),
    ],
)
def test_what_lies_behind_an_error_between_them_that_stops_the_task_is_not_written(
    before: int, expected: list[str]
) -> None:
    judge = guard(limit=1)
    (earlier,) = RecordWriter(BatchingProducer(1, is_bad), judge, 1).write(outgoing([BAD]))
    assert isinstance(earlier, PendingError)
    answers = RecordWriter(BatchingProducer(100, is_bad), judge, 1).write(
        outgoing([b"1", BAD, b"2", b"3"]), between=[(before, earlier)]
    )
    assert [type(answer).__name__ for answer in answers] == expected


def test_a_failure_of_no_record_in_particular_is_raised() -> None:
    class Broken(Producer):
        def flush(self) -> None:
            raise ProduceFailed((("", "the client's own"),))

    with pytest.raises(ProduceFailed):
        RecordWriter(Broken(), guard(), 1).write(outgoing([b"1"]))


@given(
    values=st.lists(st.booleans(), max_size=60),
    size=st.integers(1, 30),
    partitions=st.integers(1, 3),
    away=st.lists(st.integers(0, 3), max_size=4),
)
def test_whatever_the_batches_exactly_the_guilty_ones_fail_and_all_others_are_written_once(
    values: list[bool], size: int, partitions: int, away: list[int]
) -> None:
    records = outgoing([(BAD if bad else b"good") + b"%d" % place for place, bad in enumerate(values)], partitions)
    producer = BatchingProducer(size, is_bad, away)
    answers = RecordWriter(producer, guard(RetryPolicy(limit=-1)), 1).write(records)
    assert [isinstance(answer, PendingError) for answer in answers] == values
    written = sorted(value for rows in producer.log.values() for value in rows if value is not None)
    assert written == sorted(one.value or b"" for one in records if not is_bad(one.value))


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 3))
def test_in_one_batch_a_partition_the_order_is_kept(values: list[bool], partitions: int) -> None:
    records = outgoing([(BAD if bad else b"good") + b"%d" % place for place, bad in enumerate(values)], partitions)
    producer = BatchingProducer(1000, is_bad)
    RecordWriter(producer, guard(), 1).write(records)
    for name, rows in producer.log.items():
        assert rows == [one.value for one in records if one.partition == name.partition and not is_bad(one.value)]
