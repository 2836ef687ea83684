from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record
from engine.record.stage import StageType
from tests.engine.pipeline.rig import Rig, flaky, refusing, rows
from tests.fakes import Sink, raw


def test_a_parked_put_goes_on_counting_though_its_batch_begins_with_another_record() -> None:
    first = Rig([raw(0, b"1", partition=1)], sink=Sink(flaky(9)), retry=RetryPolicy(1), patience_ms=100)
    assert first.run() == Interrupted(first.clock.now_ms() + 300)
    records = [raw(0, b"1", partition=1), raw(0, b"2")]
    again = Rig(records, sink=Sink(flaky(9)), retry=RetryPolicy(1), group=first.consumer.group, patience_ms=100)
    assert isinstance(again.run(), Failed)
    assert again.sink.puts == [2]


def test_a_retriable_put_is_retried_as_a_batch() -> None:
    rig = Rig(rows(b"1", b"2"), sink=Sink(flaky(2)), retry=RetryPolicy(2))
    assert rig.run() is None
    assert (rig.sink.puts, rig.sink.delivered) == ([2, 2, 2], [1, 2])


def test_only_rejected_records_become_errors_and_the_others_are_put_again() -> None:
    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=Sink(refusing(2, 3)))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1, 4], [1, 2], 4)
    assert rig.reporter.reports[0][0].stage.type is StageType.TASK_PUT
    assert rig.reporter.reports[0][0].message == "no 2"


def test_nothing_behind_an_untolerated_put_error_is_delivered() -> None:
    rig = Rig(rows(b"1", b"2", b"3"), sink=Sink(refusing(2)), tolerance=TolerancePolicy(0, 0))
    assert isinstance(rig.run(), Failed)
    assert (rig.sink.delivered, rig.committed()) == ([1], 1)


def test_a_sink_that_names_no_record_and_is_not_idempotent_fails_the_task() -> None:
    rig = Rig(rows(b"1", b"2"), sink=Sink(flaky(99)), retry=RetryPolicy(1))
    assert isinstance(rig.run(), Failed)
    assert (rig.sink.delivered, rig.count("records-consumed"), rig.reporter.offsets) == ([], 0, [])


def test_an_idempotent_sink_is_bisected() -> None:
    def trouble(records: Sequence[Record]) -> None:
        if any(record.value == 5 for record in records):
            raise ValueError("somewhere in here")

    values = [str(value).encode() for value in range(8)]
    rig = Rig(rows(*values), sink=Sink(trouble, put_is_idempotent=True))
    assert rig.run() is None
    assert (sorted(rig.sink.delivered), rig.reporter.offsets) == ([0, 1, 2, 3, 4, 6, 7], [5])


def test_errors_are_decided_in_the_order_of_the_records() -> None:
    rig = Rig(rows(b"1", b"2", b"{", b"3"), sink=Sink(refusing(1, 3)))
    rig.run()
    assert rig.reporter.offsets == [0, 2, 3]


def test_a_put_that_fails_without_a_guilty_record_is_logged_and_not_dead_lettered() -> None:
    def broken(_: Any) -> None:
        raise ValueError("no table")

    logged = Rig(rows(b"1"), sink=Sink(broken), dead_letters=False)
    assert isinstance(logged.run(), Failed)
    assert (logged.reporter.offsets, logged.count("total-failures-logged")) == ([0], 1)
    lettered = Rig(rows(b"1"), sink=Sink(broken))
    assert isinstance(lettered.run(), Failed)
    assert lettered.reporter.offsets == []


def test_a_bisected_batch_ends_where_an_error_behind_the_guilty_record_fails_the_task() -> None:
    def trouble(records: Sequence[Record]) -> None:
        if any(record.value == 1 for record in records):
            raise ValueError("somewhere in here")

    values = [b"0", b"1", b"2", b"{", b"4", b"5"]
    rig = Rig(rows(*values), sink=Sink(trouble, put_is_idempotent=True), tolerance=TolerancePolicy(1, -1))
    assert isinstance(rig.run(), Failed)
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([0, 2], [1, 3], 3)
