from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProduceFailed, RetriableError
from engine.record.record import Headers
from engine.record.replay import ATTEMPT, ID, ITEM
from engine.reporting.replay_outcomes import Outcome, ReplayReporter
from tests.fakes import Clock, Producer, raw


class Replays:
    """A reporter over a fake producer."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.producer, self.clock = Producer(), clock or Clock()
        self.reporter = ReplayReporter(
            open_producer=lambda: self.producer,
            topic="outcomes",
            connector="c",
            task=3,
            clock=self.clock,
            jitter=lambda: 1.0,
        )

    def report(self, *headers: tuple[str, bytes | None], offset: int = 7) -> None:
        record = msgspec.structs.replace(raw(offset, partition=2), headers=headers)
        self.reporter.report(record, Outcome.DELIVERED)

    def lines(self) -> list[dict[str, Any]]:
        """What is written once flushed."""
        assert self.reporter.flush()
        return [orjson.loads(value or b"null") for _, _, value, _, _ in self.producer.records]


def test_a_report_says_which_item_of_which_replay_ended_how_where_and_when() -> None:
    replays = Replays()
    replays.report(("h", b"x"), (ID, b"r"), (ITEM, b"r/12"), (ATTEMPT, b"2"))
    (line,) = replays.lines()
    assert line == {
        "item": "r/12",
        "attempt": 2,
        "replay": "r",
        "connector": "c",
        "task": 3,
        "topic": "t",
        "partition": 2,
        "offset": 7,
        "outcome": "delivered",
        "time": 1_000_000,
    }
    assert replays.producer.records[0][:2] == ("outcomes", b"r/12")


def test_the_last_header_of_a_name_counts() -> None:
    replays = Replays()
    replays.report((ITEM, b"old/1"), (ATTEMPT, b"1"), (ITEM, b"new/2"), (ATTEMPT, b"5"))
    (line,) = replays.lines()
    assert (line["item"], line["attempt"], line["replay"]) == ("new/2", 5, "")


@pytest.mark.parametrize("attempt", [None, b"", b"x", b"-1", b"1.5", b"\xff", b"9" * 10])
def test_an_attempt_that_is_no_number_is_zero(attempt: bytes | None) -> None:
    replays = Replays()
    replays.report((ITEM, b"r/1"), (ATTEMPT, attempt))
    assert replays.lines()[0]["attempt"] == 0


@given(st.lists(st.tuples(st.sampled_from([ID, ITEM, ATTEMPT]), st.none() | st.binary(max_size=2000))))
def test_whatever_the_headers_say_a_report_is_small(headers: list[tuple[str, bytes | None]]) -> None:
    replays = Replays()
    rows: Headers = (*headers, (ITEM, b"\xff\x00\xf0\x9f" * 5000))
    replays.report(*rows)
    assert replays.lines()[0]["item"].startswith("\ufffd")
    _, key, value, _, _ = replays.producer.records[0]
    assert len(key or b"") == 200
    assert len(value or b"") < 4000


def test_only_reports_that_were_not_written_are_written_again() -> None:
    replays = Replays()
    replays.producer.retriable, replays.producer.fail_next = True, [{1}, {0}]
    for offset in (1, 2, 3):
        replays.report((ITEM, b"r/1"), offset=offset)
    assert [line["offset"] for line in replays.lines()] == [1, 3, 2]
    assert replays.clock.waits == [300, 600]
    assert replays.reporter.flush()
    assert len(replays.producer.records) == 3


def test_brokers_that_stay_away_are_the_worlds_fault() -> None:
    replays = Replays()
    replays.producer.retriable, replays.producer.fail_next = True, [{0}] * 100
    replays.report((ITEM, b"r/1"))
    with pytest.raises(RetriableError, match="were not written: outcomes: no room"):
        replays.reporter.flush()
    assert sum(replays.clock.waits) == 15_000


def test_a_refused_report_is_not_tried_again() -> None:
    replays = Replays()
    replays.producer.fail_next = [{0}]
    replays.report((ITEM, b"r/1"))
    with pytest.raises(ProduceFailed):
        replays.reporter.flush()
    assert replays.clock.waits == []


def test_a_stop_request_ends_the_wait() -> None:
    replays = Replays(Clock(stop_at=1_000_100))
    replays.producer.retriable, replays.producer.fail_next = True, [{0}]
    replays.report((ITEM, b"r/1"))
    assert not replays.reporter.flush()
