"""A log that is read and written by the herder, and what it makes of trouble."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from engine.config.topic import LEASE_KEY, KeyValue
from engine.errors import RetriableError
from engine.herder import topic_log
from engine.herder.status import StatusTopic
from engine.herder.topic_log import TopicLog
from engine.record.record import RawRecord, TopicPartition
from engine.worker_messages import LeaseProgress
from tests import fakes

AT = TopicPartition("t", 0)
TOLD = LEASE_KEY, msgspec.json.encode(LeaseProgress("1-1", ()))


class Reader(fakes.Consumer):
    """Of a topic whose last `late` rows come after its end as it is told, some polls later."""

    def __init__(self, *rows: KeyValue, late: int = 0) -> None:
        super().__init__()
        self.late = late
        self.polls = 0
        self.trouble: RetriableError | None = None
        self.troubled_from = 0  # the first poll that meets the trouble
        for row in rows:
            self.add(row)

    def add(self, row: KeyValue) -> None:
        self.append(RawRecord("t", 0, len(self.log.get(AT, ())), 0, "CREATE_TIME", *row))

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {AT: super().end_offsets([AT])[AT] - self.late}

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        self.polls += 1
        if self.trouble is not None and self.polls >= self.troubled_from:
            raise self.trouble
        end = self.end_offsets([AT])[AT]
        if self.late and self.at[AT] == end and self.polls > 3:
            self.late, end = 0, end + self.late
        return super().poll(min(max_records, end - self.at.get(AT, 0)), timeout_s)


def log(reader: Reader) -> TopicLog:
    return TopicLog("t", reader, fakes.Producer())


def test_what_was_written_is_read_back_though_its_marker_comes_late() -> None:
    rows: list[KeyValue] = [(b"a", b"1"), (b"b", b"2")]
    assert log(Reader(*rows)).read_back(rows[1]) == rows
    assert log(Reader(*rows, late=1)).read_back(rows[1]) == rows


def test_what_never_comes_is_not_waited_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_log, "IDLE_TIMEOUT_S", 1)
    with pytest.raises(RetriableError, match="the record written last"):
        log(Reader((b"a", b"1"))).read_back((b"b", b"2"))


def test_after_a_rewind_everything_is_read_again() -> None:
    one = log(Reader((b"a", b"1")))
    assert [len(one.read_to_end()), len(one.read_to_end())] == [1, 0]
    one.rewind()
    assert len(one.read_to_end()) == 1


def test_trouble_with_what_leases_tell_stops_nobody_and_reads_nothing_twice() -> None:
    reader = Reader((b"status-connector-c", b"{}"), TOLD)
    status = StatusTopic(log(reader))
    assert list(status.read()) == ["status-connector-c"]
    reader.trouble = RetriableError("a broker is away")
    assert status.progress() == []
    reader.trouble = None
    assert status.progress() == []
    reader.add((b"status-connector-c", b"{}"))
    reader.add(TOLD)
    assert status.progress() == [LeaseProgress("1-1", ())]


OWN = b"status-task-c-0", b"{}"


def test_what_a_lease_told_is_heard_at_once_however_much_was_written_before_it() -> None:
    reader = Reader()
    status = StatusTopic(log(reader))
    status.read()
    for row in [*[OWN] * 2 * topic_log.POLL_ROWS, TOLD]:
        reader.add(row)
    assert status.progress() == [LeaseProgress("1-1", ())]


def test_what_was_heard_before_the_trouble_is_kept() -> None:
    reader = Reader()
    status = StatusTopic(log(reader))
    status.read()
    for row in [TOLD, *[OWN] * topic_log.POLL_ROWS]:
        reader.add(row)
    reader.trouble, reader.troubled_from = RetriableError("a broker is away"), reader.polls + 2
    assert status.progress() == [LeaseProgress("1-1", ())]


class Endless(Reader):
    """Of a topic that grows faster than it is read."""

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        self.polls += 1
        return [RawRecord("t", 0, self.polls, 0, "CREATE_TIME", *OWN)] * max_records


def test_who_writes_without_end_is_not_listened_to_without_end() -> None:
    reader = Endless()
    assert StatusTopic(log(reader)).progress() == []
    assert reader.polls == topic_log.MOST_POLLS
