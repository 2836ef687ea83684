"""One chunk is written while the caller does something else, and how many records the next one may hold."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, get_ident

import pytest

from dlqadmin.broker.transactions import ChunkProducer, OutboundRecord, ProgressCommit, RecordsRejected, WrittenRecord
from dlqadmin.replays.sending.transaction_thread import LEAST_RECORDS, MOST_RECORDS, Flight, Size

PROGRESS = ProgressCommit("group", "topic", 1)
SHORT_S, MIDDLE_S, LONG_S = 0.05, 0.15, 0.3


def after(*took: tuple[int, float]) -> int:
    size = Size()
    for records, seconds in took:
        size.took(records, seconds)
    return size.most


def test_short_transactions_grow_up_to_a_limit_and_long_ones_shrink() -> None:
    assert after() == LEAST_RECORDS
    assert after((500, SHORT_S)) == 1000
    assert after((500, SHORT_S), (1000, SHORT_S), (2000, SHORT_S)) == MOST_RECORDS
    assert after((500, SHORT_S), (1000, LONG_S)) == LEAST_RECORDS
    assert after((500, LONG_S)) == LEAST_RECORDS


def test_a_transaction_that_was_not_full_or_not_short_says_nothing() -> None:
    assert after((499, SHORT_S), (500, MIDDLE_S)) == LEAST_RECORDS


class Slow(ChunkProducer):
    """Writes when it is told to."""

    def __init__(self, answer: Sequence[WrittenRecord] | RecordsRejected) -> None:
        self.go, self.thread, self.answer = Event(), 0, answer

    def write(self, records: Sequence[OutboundRecord], progress: ProgressCommit) -> list[WrittenRecord]:
        assert self.go.wait(10)
        self.thread = get_ident()
        if isinstance(self.answer, RecordsRejected):
            raise self.answer
        return list(self.answer)


def test_the_caller_goes_on_while_a_chunk_is_written() -> None:
    slow = Slow([WrittenRecord(0, 7)])
    with Flight(slow) as flight:
        writing = flight.start([], PROGRESS)
        assert not writing.done()
        slow.go.set()
        assert writing.result(10) == [WrittenRecord(0, 7)]
    assert slow.thread != get_ident()


def test_what_the_writing_raises_is_told_to_who_asks_for_its_result() -> None:
    slow = Slow(RecordsRejected({0: "too large"}))
    slow.go.set()
    with Flight(slow) as flight, pytest.raises(RecordsRejected):
        flight.start([], PROGRESS).result(10)


def test_nothing_is_being_written_any_more_when_it_is_left() -> None:
    slow = Slow([])
    with Flight(slow) as flight:
        flight.start([], PROGRESS)
        slow.go.set()
    assert slow.thread
