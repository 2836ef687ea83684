"""A sink's handlers decide in place of its tolerance policy (KIP-1033)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from engine.errors import RecordError, RetriableError
from engine.pipeline.outcome import Failed
from engine.policy.handlers import Response
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record
from tests.engine.pipeline.rig import Rig, failing_at, rows
from tests.engine.pipeline.stream_rig import Asked
from tests.fakes import Sink


def naming(records: Sequence[Record]) -> None:
    for index, record in enumerate(records):
        if record.value == 2:
            raise RecordError(index, ValueError("no 2"))


def not_naming(records: Sequence[Record]) -> None:
    if any(record.value == 2 for record in records):
        raise ValueError("something in here")


def test_continue_goes_on_however_little_is_tolerated() -> None:
    asked = Asked()
    rig = Rig(rows(b"1", b"{", b"3", b"4"), transform=failing_at(3), tolerance=TolerancePolicy(0, 0), handler=asked)
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1, 4], [1, 2], 4)
    assert (rig.count("dropped-records-total"), rig.count("records-dead-lettered")) == (2, 2)
    assert rig.state.stage_dropped == [0, 1, 1, 0, 0]
    assert [context.offset for context, *_ in asked.seen] == [1, 2]


@pytest.mark.parametrize("sink", [Sink(naming), Sink(not_naming, put_is_idempotent=True)])
@pytest.mark.parametrize("answer", [Response.CONTINUE, Response.FAIL])
def test_nothing_behind_a_record_that_the_handler_will_not_let_go_is_put(sink: Sink, answer: Response) -> None:
    sink.delivered.clear()
    asked = Asked(answer)
    rig = Rig(rows(b"1", b"2", b"4"), sink=sink, handler=asked)
    failed = isinstance(rig.run(), Failed)
    assert failed is (answer is Response.FAIL)
    assert (sink.delivered, rig.committed()) == (([1], 1) if failed else ([1, 4], 3))
    assert [record.value for _, record, _ in asked.seen] == [2]


def away(_: Any) -> None:
    raise RetriableError("away")


def test_a_handler_is_asked_about_each_record_of_a_put_that_stays_retriable() -> None:
    asked = Asked()
    rig = Rig(rows(b"1", b"2"), sink=Sink(away), retry=RetryPolicy(1), handler=asked, tolerance=TolerancePolicy())
    assert rig.run() is None
    assert ([record.value for _, record, _ in asked.seen], rig.reporter.offsets) == ([1, 2], [0, 1])
    assert (rig.sink.puts, rig.committed()) == ([2, 2], 2)


def test_a_handler_that_says_fail_to_a_record_of_a_put_is_asked_about_no_other() -> None:
    asked = Asked(Response.FAIL)
    end = Rig(rows(b"1", b"2"), sink=Sink(away), handler=asked).run()
    assert isinstance(end, Failed)
    assert (len(asked.seen), "test returned FAIL" in end.message) == (1, True)


def test_a_batch_that_fails_with_a_plain_exception_is_asked_of_nobody() -> None:
    def broken(_: Any) -> None:
        raise ValueError("no table")

    asked = Asked()
    assert isinstance(Rig(rows(b"1", b"2"), sink=Sink(broken), handler=asked).run(), Failed)
    assert asked.seen == []


def test_errors_that_a_handler_decides_do_not_count_towards_the_limits_that_do_not_decide() -> None:
    rig = Rig(rows(b"{", b"{"), tolerance=TolerancePolicy(1, -1), handler=Asked())
    assert rig.run() is None
    assert (rig.state.tolerance.total, rig.count("total-record-errors")) == (0, 2)


def test_the_context_names_the_handler_that_decided() -> None:
    rig = Rig(rows(b"{"), handler=Asked())
    rig.run()
    assert rig.reporter.reports[0][0].handler == "test"
