from __future__ import annotations

from typing import Any

import pytest

from engine.config.exception_handlers import HandlerRole
from engine.errors import FailureType, ProduceFailed, RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.handler_calls import named_handler
from engine.policy.handlers import Response
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Punctuation, Record
from engine.record.stage import StageType
from engine.reporting.metrics import is_balanced
from tests.engine.pipeline.rig import failing_at
from tests.engine.pipeline.source_rig import SourceRig
from tests.engine.pipeline.stream_rig import Asked
from tests.fakes import BatchingProducer, Clock, Source

NONE_TOLERATED = TolerancePolicy(0, 0)


def times(count: int, error: Exception) -> Any:
    """Raises so often, then no more."""
    left = [count]

    def trouble() -> None:
        if left[0]:
            left[0] -= 1
            raise error

    return trouble


def test_what_is_polled_is_written_committed_and_confirmed() -> None:
    rig = SourceRig(Source(25))
    assert rig.run() is None
    assert rig.written() == list(range(25))
    assert rig.position() == 25
    assert rig.source.confirmed == list(range(25))
    assert rig.source.commits >= 1
    assert rig.task.has_progressed
    assert (rig.count("records-consumed"), rig.count("records-delivered")) == (25, 25)
    assert rig.task.wake_at() == rig.clock.now_ms() + Source.idle_ms


def test_the_next_lease_goes_on_where_the_last_one_committed() -> None:
    first = SourceRig(Source(5))
    first.run()
    second = SourceRig(Source(8), store=first.store, producer=first.producer)
    second.run()
    assert second.written() == list(range(8))
    assert second.count("records-consumed") == 8


def test_a_filtered_record_is_passed_as_well() -> None:
    rig = SourceRig(Source(4), transform=lambda value: None if value == 3 else value)
    rig.run()
    assert rig.written() == [0, 1, 2]
    assert rig.position() == 4
    assert rig.source.confirmed == [0, 1, 2, 3]
    assert rig.count("records-filtered") == 1


def test_a_tolerated_error_is_dead_lettered_with_its_source_offset_and_passed() -> None:
    rig = SourceRig(Source(10), transform=failing_at(4))
    assert rig.run() is None
    assert rig.written() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    [(context, origin)] = rig.reporter.reports
    assert origin.source_offset == {"next": 5}
    assert context.original is None
    assert (context.record.source_partition, context.record.source_offset) == ({"file": "f"}, {"next": 5})
    assert (context.index, context.message) == (1, "4 is bad")
    assert rig.position() == 10
    assert is_balanced(rig.state.metrics)


def test_an_error_that_is_not_tolerated_commits_what_lies_before_it() -> None:
    rig = SourceRig(Source(10), transform=failing_at(4), tolerance=NONE_TOLERATED)
    end = rig.run()
    assert isinstance(end, Failed)
    assert "TRANSFORMATION (Test) failed on source partition {'file': 'f'} at {'next': 5}: 4 is bad" in end.message
    assert rig.written() == [0, 1, 2, 3]
    assert rig.position() == 4
    assert rig.source.confirmed == [0, 1, 2, 3]
    assert rig.source.commits == 0  # what was polled is not all settled


def test_a_failing_record_is_dead_lettered_once_however_often_the_task_is_restarted() -> None:
    rig = SourceRig(Source(10), transform=failing_at(4), tolerance=NONE_TOLERATED)
    assert isinstance(rig.run(), Failed)
    for restarts in (1, 2, 3):
        rig = SourceRig(
            Source(10),
            transform=failing_at(4),
            tolerance=NONE_TOLERATED,
            store=rig.store,
            reporter=rig.reporter,
            producer=rig.producer,
            restarts=restarts,
        )
        assert isinstance(rig.run(), Failed)
    assert rig.reported() == [4]
    mended = SourceRig(Source(10), store=rig.store, reporter=rig.reporter, producer=rig.producer, restarts=4)
    assert mended.run() is None
    assert mended.written() == list(range(10))
    assert mended.state.reported == ()
    again = SourceRig(
        Source(12), transform=failing_at(11), tolerance=NONE_TOLERATED, store=mended.store, reporter=rig.reporter
    )
    again.run()
    assert again.reported() == [4, 11]


def test_tolerance_is_counted_over_leases() -> None:
    rig = SourceRig(Source(5), transform=failing_at(1), tolerance=TolerancePolicy(1, -1))
    assert rig.run() is None
    rig = SourceRig(Source(9), transform=failing_at(6), tolerance=TolerancePolicy(1, -1), store=rig.store)
    assert isinstance(rig.run(), Failed)


def test_a_poll_that_may_succeed_later_is_tried_again() -> None:
    rig = SourceRig(Source(3, trouble=times(2, RetriableError("busy"))), retry=RetryPolicy(limit=2))
    assert rig.run() is None
    assert rig.written() == [0, 1, 2]
    assert rig.clock.waits == [300, 600]
    assert rig.count("total-retries") == 2
    assert rig.count("total-record-errors") == 0


def test_a_poll_that_stays_away_is_tolerated_as_an_error_of_no_record() -> None:
    rig = SourceRig(Source(3, trouble=times(1, RetriableError("busy"))))
    assert rig.task.step(0) is None
    assert rig.count("total-record-errors") == 1
    [(context, origin)] = rig.reporter.reports
    assert (context.record, context.original, type(origin)) == (None, None, Punctuation)
    assert (context.stage.type, context.message) == (StageType.TASK_POLL, "busy")
    assert rig.count("total-failures-logged") == 1
    assert rig.run() is None
    assert rig.written() == [0, 1, 2]
    assert is_balanced(rig.state.metrics)


def test_a_tolerated_poll_that_nothing_else_tells_of_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Only with no dead letter topic and without `errors.log.enable`."""
    rig = SourceRig(Source(3, trouble=times(1, RetriableError("busy"))), reported=False)
    assert rig.run() is None
    assert [(row.levelname, row.getMessage()) for row in caplog.records] == [
        (
            "WARNING",
            (
                "c-0: TASK_POLL (Source) failed without a record, and the error was tolerated: "
                "engine.errors.RetriableError: busy"
            ),
        )
    ]
    caplog.clear()
    for dead_letters in (True, False):
        SourceRig(Source(3, trouble=times(1, RetriableError("busy"))), dead_letters=dead_letters).run()
    assert caplog.records == []


def test_a_poll_that_fails_at_each_start_has_one_dead_letter_until_it_succeeds() -> None:
    rig = SourceRig(Source(3, trouble=times(9, KeyError("oops"))))
    for restarts in (1, 2):
        assert isinstance(rig.run(), Failed)
        source = Source(3, trouble=times(9, KeyError("oops")))
        rig = SourceRig(source, store=rig.store, reporter=rig.reporter, restarts=restarts)
    assert len(rig.reporter.reports) == 1
    mended = SourceRig(Source(3), store=rig.store, reporter=rig.reporter, restarts=3)
    assert mended.run() is None
    assert mended.state.reported == ()


def test_a_poll_that_is_not_tolerated_fails_the_task() -> None:
    rig = SourceRig(Source(3, trouble=times(9, RetriableError("busy"))), tolerance=NONE_TOLERATED)
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message == "Tolerance exceeded: TASK_POLL (Source) failed on a poll: busy"
    assert len(rig.reporter.reports) == 1


def test_a_poll_that_is_broken_is_neither_tried_again_nor_tolerated() -> None:
    rig = SourceRig(Source(3, trouble=times(1, KeyError("oops"))), retry=RetryPolicy(limit=9))
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message.startswith("Not tolerable: TASK_POLL (Source) failed on a poll")
    assert rig.clock.waits == []


def test_a_poll_that_waits_longer_than_the_lease_goes_on_in_the_next_one() -> None:
    rig = SourceRig(Source(1, trouble=times(1, RetriableError("busy"))), retry=RetryPolicy(limit=1), patience_ms=10)
    end = rig.run()
    assert end == Interrupted(rig.clock.now_ms() + 300)
    source = Source(1, trouble=times(1, RetriableError("busy")))
    rig = SourceRig(source, retry=RetryPolicy(limit=1), patience_ms=10, store=rig.store)
    assert rig.task.step(0) is None
    assert (rig.count("total-retries"), rig.count("total-record-errors")) == (1, 1)


@pytest.mark.parametrize(
    "polled", [["text"], [{"value": 1}], [Record("t", 0, None, None, 1, source_offset={"a": {1}})]]
)
def test_a_source_that_answers_with_anything_else_fails_its_task(polled: Any) -> None:
    source = Source(1)
    source.poll = lambda: polled  # type: ignore[method-assign] # of a fake
    end = SourceRig(source).run()
    assert isinstance(end, Failed)
    assert "TASK_POLL (Source) failed on a poll" in end.message


def test_a_source_may_answer_with_none() -> None:
    source = Source(1)
    source.poll = lambda: None  # type: ignore[assignment, method-assign, return-value]  # a wrong answer, on purpose
    rig = SourceRig(source)
    assert rig.run() is None
    assert rig.task.is_idle()


def test_a_record_that_the_brokers_reject_is_an_error_and_the_others_are_written() -> None:
    """C-68, WorkerSourceTaskTest#testSourceTaskIgnoresProducerException."""
    rig = SourceRig(Source(10), producer=BatchingProducer(10, lambda value: value == b"6"))
    assert rig.run() is None
    assert rig.written() == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert rig.reported() == [6]
    [(context, _)] = rig.reporter.reports
    assert (context.index, context.record.value) == (5, b"6")
    assert (rig.position(), rig.source.confirmed) == (10, list(range(10)))
    assert is_balanced(rig.state.metrics)


@pytest.mark.parametrize(("converting", "rejected", "before"), [(1, 3, [0, 2]), (5, 3, [0, 1, 2, 4])])
def test_errors_of_all_stages_count_in_the_order_of_the_records_before_anything_behind_is_written(
    converting: int, rejected: int, before: list[int]
) -> None:
    rig = SourceRig(
        Source(10),
        transform=failing_at(converting),
        producer=BatchingProducer(10, lambda value: value == b"%d" % rejected),
        tolerance=TolerancePolicy(1, -1),
    )
    assert isinstance(rig.run(), Failed)
    assert rig.written() == before
    assert rig.position() == max(converting, rejected)
    assert is_balanced(rig.state.metrics)


def test_a_handler_that_wants_another_attempt_begins_at_the_record_in_trouble() -> None:
    class FiveAway(BatchingProducer):
        def flush(self) -> None:
            away = [place for place, (_, value) in enumerate(self.queue) if value == b"5"]
            self.queue = [row for row in self.queue if row[1] != b"5"]
            super().flush()
            if away:
                raise ProduceFailed((("t", "away"),), tuple(away), FailureType.DELIVERY_FAILED)

    producer = FiveAway(1, lambda _: False)
    handlers = {5: named_handler("Retry", HandlerRole.PRODUCTION, Asked(Response.RETRY))}
    rig = SourceRig(Source(8, batch=8), producer=producer, handlers=handlers)
    for _ in range(3):
        with pytest.raises(RetriableError):
            rig.run()
        assert rig.position() == 5
        assert is_balanced(rig.state.metrics)
        rig = SourceRig(Source(8, batch=8), producer=producer, store=rig.store, handlers=handlers)
    assert [number for number in rig.written() if number < 5] == [0, 1, 2, 3, 4]


def test_a_record_without_an_offset_that_json_cannot_hold_is_an_error_like_others() -> None:
    odd = [Record("t", 0, None, None, value) for value in (2**70, "\ud800", {"deep": {1, 2**70}})]
    source = Source(1)
    source.poll = lambda: [odd.pop(0)] if odd else []  # type: ignore[method-assign] # of a fake

    def refuse(value: Any) -> Any:
        raise ValueError("is odd")

    rig = SourceRig(source, transform=refuse)
    assert rig.run() is None
    assert rig.count("records-dead-lettered") == 3


def test_records_behind_a_produce_that_waits_are_polled_again() -> None:
    producer = BatchingProducer(5, lambda _: False, away=(1,))
    rig = SourceRig(Source(10), producer=producer, retry=RetryPolicy(limit=3), patience_ms=10)
    assert rig.run() == Interrupted(rig.clock.now_ms() + 300)
    assert rig.position() == 0
    rig = SourceRig(Source(10), producer=producer, store=rig.store)
    assert rig.run() is None
    assert sorted(set(rig.written())) == list(range(10))
    assert rig.state.parked is None
    assert rig.count("records-consumed") == 10


def test_a_write_that_times_out_without_a_retry_budget_fails_the_task() -> None:
    producer = BatchingProducer(1, lambda _: False, away=(2,))
    rig = SourceRig(Source(5), producer=producer, retry=RetryPolicy(limit=0), tolerance=NONE_TOLERATED)
    end = rig.run()
    assert isinstance(end, Failed)
    assert "KAFKA_PRODUCE (KafkaProducer) failed on source partition {'file': 'f'} at {'next': 1}" in end.message
    assert producer.flushes == 1
    assert rig.position() == 0


def test_a_retry_that_succeeds_in_a_later_lease_is_forgotten() -> None:
    once = times(1, ValueError("not yet"))
    transform = lambda value: (once() if value == 2 else None) or value  # noqa: E731 (shorter than a function)
    rig = SourceRig(Source(5), transform=transform, retry=RetryPolicy(limit=3), patience_ms=10)
    assert isinstance(rig.run(), Interrupted)
    assert rig.position() == 2
    rig = SourceRig(Source(5), transform=transform, store=rig.store, producer=rig.producer)
    assert rig.run() is None
    assert rig.state.parked is None
    assert rig.count("total-retries") == 1
    assert rig.written() == list(range(5))


def test_nothing_is_committed_before_dead_letters_are_durable() -> None:
    rig = SourceRig(Source(5), transform=failing_at(1), flush_dead_letters=lambda: Interrupted(None))
    assert rig.run() == Interrupted(None)
    assert rig.store.writes == 0
    assert rig.source.confirmed == []


def test_nothing_is_confirmed_before_the_offsets_are_durable() -> None:
    rig = SourceRig(Source(5))
    rig.store.trouble = times(1, RetriableError("no broker"))
    with pytest.raises(RetriableError):
        rig.run()
    assert rig.source.confirmed == []
    assert rig.task.figures().metrics["records-consumed"] == 0


def test_an_offset_shared_with_a_record_that_is_not_settled_is_not_reached() -> None:
    class Pairs(Source):
        def poll(self) -> list[Record]:
            return [one for one in super().poll() for _ in range(2)]

    seen: list[int] = []

    def transform(value: int) -> int:
        seen.append(value)
        if seen.count(2) == 2:
            raise ValueError("the second of a pair")
        return value

    rig = SourceRig(Pairs(5), transform=transform, tolerance=NONE_TOLERATED)
    assert isinstance(rig.run(), Failed)
    assert rig.written() == [0, 0, 1, 1, 2]
    assert rig.position() == 2


def test_a_source_that_cannot_take_a_confirmation_goes_on() -> None:
    class Deaf(Source):
        def commit_record(self, record: Record) -> None:
            super().commit_record(record)
            raise OSError("deaf")

        def commit(self) -> None:
            super().commit()
            raise OSError("deaf")

    rig = SourceRig(Deaf(5))
    assert rig.run() is None
    assert rig.source.confirmed == [0, 1, 2, 3, 4]
    assert rig.source.commits >= 1
    assert rig.position() == 5


def test_a_stop_request_ends_a_wait_and_keeps_the_attempt() -> None:
    clock = Clock()
    clock.stop_at = clock.now_ms() + 100
    rig = SourceRig(Source(3), transform=failing_at(1), retry=RetryPolicy(limit=5), clock=clock)
    assert rig.run() == Interrupted(None)
    assert rig.position() == 1
    assert rig.state.parked is not None
    assert rig.state.parked.trouble.failures == 1
