"""What a pool does with commits that are made aside."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from engine.errors import GenerationFenced, RetriableError
from engine.record.record import Record
from engine.worker_messages import LeaseEnd
from tests.engine.pipeline.test_lease_linger import Lane
from tests.fakes import Sink

DUE_MS = 500
TELLING_MS = 1200


class Bound(Sink):
    """Notes on which threads it is put to and flushed; it may be bound to one."""

    def __init__(self) -> None:
        super().__init__()
        self.put_on: set[int] = set()
        self.flushed_on: set[int] = set()

    def put(self, records: Sequence[Record]) -> None:
        self.put_on.add(threading.get_ident())
        super().put(records)

    def flush(self) -> None:
        self.flushed_on.add(threading.get_ident())
        super().flush()


def pool(sink: Sink | None = None, *, aside: bool = True) -> Lane:
    """Two tasks; the first puts into `sink`, and may commit aside."""
    lane = Lane("ab")
    task = lane.rigs["a"].task
    task.commits_in_background = aside
    if sink is not None:
        task.put_stage.sink = sink
        lane.rigs["a"].commit.flush_sink = sink.flush
    return lane


@pytest.mark.parametrize("aside", [True, False])
def test_only_a_commit_that_may_is_made_aside_and_never_a_put(aside: bool) -> None:
    sink = Bound()
    lane = pool(sink, aside=aside)
    lane.run(lane.every(1000, "ab", until_ms=10_000))
    assert sink.put_on == {threading.get_ident()}
    assert (sink.flushed_on != sink.put_on) is aside
    assert lane.rigs["a"].sink.delivered == []
    assert list(lane.rigs["a"].task.committed.values()) == [len(sink.delivered)]


def test_what_came_of_a_commit_counts_although_the_config_topic_went_away_meanwhile() -> None:
    lane, begun, go_on = pool(), threading.Event(), threading.Event()

    def fenced() -> None:
        begun.set()
        assert go_on.wait(60)
        raise GenerationFenced("somebody else's")

    def during(now: int) -> None:
        if now > DUE_MS + 100:
            assert begun.wait(60)
            go_on.set()
            raise RetriableError("_TRANSPORT")

    lane.rigs["a"].consumer.on_commit = fenced
    assert lane.run(during) == {"a": LeaseEnd.FENCED, "b": LeaseEnd.PARKED}


def test_where_a_task_has_ended_meanwhile_the_lease_ends_and_tells_nothing() -> None:
    lane = pool()

    def fenced() -> None:
        while lane.lived_ms < TELLING_MS:
            time.sleep(0.001)
        raise GenerationFenced("somebody else's")

    lane.rigs["a"].consumer.on_commit = fenced
    assert lane.run() == {"a": LeaseEnd.FENCED, "b": LeaseEnd.CAUGHT_UP}
    assert TELLING_MS <= lane.lived_ms <= TELLING_MS + 300
    assert lane.told.rows == []


def test_a_task_whose_commit_takes_long_holds_up_no_other() -> None:
    lane, begun, go_on = pool(), threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        assert go_on.wait(60)

    def during(now: int) -> None:
        delivered = lane.rigs["b"].sink.delivered
        if now > DUE_MS + 100 and len(delivered) == 1:
            assert begun.wait(60)
            lane.add("b")
        elif len(delivered) > 1:
            go_on.set()

    lane.rigs["a"].consumer.on_commit = slow
    assert set(lane.run(during).values()) == {LeaseEnd.CAUGHT_UP}
    assert go_on.is_set()
