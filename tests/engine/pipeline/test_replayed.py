from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.errors import ProduceFailed
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import RawRecord
from engine.record.replay import ITEM
from tests.engine.pipeline.rig import Rig
from tests.fakes import Clock, raw


def replayed(offset: int, value: bytes, **more: Any) -> RawRecord:
    return msgspec.structs.replace(raw(offset, value, **more), headers=((ITEM, b"r/%d" % offset),))


def without(left_out: int) -> Any:
    return lambda value: None if value == left_out else value


def test_each_replayed_record_is_reported_with_its_bucket() -> None:
    rig = Rig([replayed(0, b"1"), replayed(1, b"2"), replayed(2, b"{")], transform=without(2))
    assert rig.run() is None
    assert rig.outcomes() == [(0, "delivered"), (1, "filtered"), (2, "dead_lettered")]


def test_an_error_that_is_tolerated_without_a_dead_letter_topic_is_reported_as_skipped() -> None:
    rig = Rig([replayed(0, b"{")], dead_letters=False)
    rig.run()
    assert rig.outcomes() == [(0, "skipped")]


def test_records_that_nobody_replayed_are_not_reported_and_open_no_producer() -> None:
    rig = Rig([raw(0, b"1"), msgspec.structs.replace(raw(1, b"2"), headers=(("h", b"1"), (ITEM, None)))])
    rig.run()
    assert (rig.outcomes(), rig.opened) == ([], 0)


def test_the_producer_is_opened_once() -> None:
    rig = Rig([replayed(0, b"1"), replayed(1, b"2")])
    rig.run()
    rig.consumer.append(replayed(2, b"3"))
    rig.run()
    assert (rig.outcomes(), rig.opened) == ([(0, "delivered"), (1, "delivered"), (2, "delivered")], 1)


def test_a_record_that_stops_the_task_is_not_reported_and_those_before_it_are() -> None:
    rig = Rig([replayed(0, b"1"), replayed(1, b"{"), replayed(2, b"3")], tolerance=TolerancePolicy())
    assert isinstance(rig.run(), Failed)
    assert (rig.outcomes(), rig.committed()) == ([(0, "delivered")], 1)


def test_a_record_that_waits_for_another_attempt_is_not_reported() -> None:
    rig = Rig([replayed(0, b"1"), replayed(1, b"{")], retry=RetryPolicy(limit=3), patience_ms=0)
    assert isinstance(rig.run(), Interrupted)
    assert (rig.outcomes(), rig.committed()) == ([(0, "delivered")], 1)


def test_nothing_is_reported_before_it_is_durable() -> None:
    rig = Rig([replayed(0, b"1")])
    rig.commit.flush_dead_letters = lambda: Interrupted(None)
    assert rig.run() == Interrupted(None)
    assert (rig.outcomes(), rig.producer.queue) == ([], [])


def test_offsets_are_not_committed_when_a_stop_ends_the_wait_for_the_outcome_topic() -> None:
    rig = Rig([replayed(0, b"1")], clock=Clock(stop_at=1_000_100))
    rig.producer.retriable, rig.producer.fail_next = True, [{0}]
    assert rig.run() == Interrupted(None)
    assert rig.consumer.commits == []


def test_offsets_are_not_committed_when_the_outcome_topic_refuses_a_report() -> None:
    rig = Rig([replayed(0, b"1")])
    rig.producer.fail_next = [{0}]
    with pytest.raises(ProduceFailed):
        rig.run()
    assert rig.consumer.commits == []


def test_a_record_read_again_is_reported_again() -> None:
    rig = Rig([replayed(0, b"1")])
    rig.task.process([replayed(0, b"1")])
    rig.run()
    assert rig.outcomes() == [(0, "delivered"), (0, "delivered")]
