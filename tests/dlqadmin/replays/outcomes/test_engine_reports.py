from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson
import pytest
from django.utils import timezone

from dlqadmin.metrics.models import StatusPosition
from dlqadmin.metrics.queries import collected_at
from dlqadmin.replays.models import OutcomeReport
from dlqadmin.replays.outcomes.engine_reports import collect
from dlqadmin.replays.outcomes.tasks import prune_reports
from engine.record.record import RawRecord

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
TOKEN = "0b0e6b9c-0000-4000-8000-000000000001/17"


def line(**known: object) -> bytes:
    body = {
        "item": TOKEN,
        "attempt": 1,
        "replay": TOKEN[:36],
        "connector": "usgs-to-sql",
        "task": 0,
        "topic": "usgs.earthquakes",
        "partition": 0,
        "offset": 900,
        "outcome": "delivered",
        "time": 1_795_230_750_000,
    }
    return orjson.dumps({name: value for name, value in {**body, **known}.items() if value is not ...})


class OutcomeTopic:
    """One partition of the engine's outcome topic."""

    def __init__(self, values: Sequence[bytes | None] = (), at_ms: int = 5) -> None:
        self.values, self.at_ms = list(values), at_ms

    def read(self, topic: str, partition: int, start: int) -> Iterator[RawRecord]:
        rows = enumerate(self.values[start:], start)
        return (RawRecord(topic, partition, offset, self.at_ms, "CREATE_TIME", b"k", value) for offset, value in rows)

    def collect(self) -> int | None:
        return collect(self.read, lambda name: 1)


def test_a_report_is_kept_with_its_place() -> None:
    assert OutcomeTopic([line(attempt=2)]).collect() == 1
    row = OutcomeReport.objects.get()
    assert (row.token, row.attempt, row.connector, row.outcome) == (TOKEN, 2, "usgs-to-sql", "delivered")
    assert (row.topic, row.partition, row.offset, row.at.year) == ("usgs.earthquakes", 0, 900, 2026)


def test_the_later_report_of_a_place_wins_in_one_stretch_and_across_two() -> None:
    topic = OutcomeTopic([line(outcome="dead_lettered"), line(outcome="skipped")])
    topic.collect()
    assert OutcomeReport.objects.get().outcome == "skipped"
    topic.values.append(line())
    assert topic.collect() == 1
    assert OutcomeReport.objects.get().outcome == "delivered"


def test_two_connectors_report_the_same_record_apart() -> None:
    OutcomeTopic([line(), line(connector="usgs-to-file", outcome="skipped")]).collect()
    assert set(OutcomeReport.objects.values_list("connector", "outcome")) == {
        ("usgs-to-sql", "delivered"),
        ("usgs-to-file", "skipped"),
    }


def test_collecting_again_changes_nothing() -> None:
    topic = OutcomeTopic([line()])
    assert (topic.collect(), topic.collect(), OutcomeReport.objects.count()) == (1, 0, 1)


def test_it_reads_to_the_end_although_somebody_else_stored_a_part_meanwhile() -> None:
    topic, helped = OutcomeTopic([line()]), list[int | None]()

    def read(name: str, partition: int, start: int) -> Iterator[RawRecord]:
        rows = list(topic.read(name, partition, start))
        if not helped:
            helped.append(topic.collect())
            topic.values.append(line(offset=901))
        return iter(rows)

    assert collect(read, lambda name: 1) == 1
    assert (helped, OutcomeReport.objects.count()) == ([1], 2)


def test_no_topic_is_not_an_empty_topic() -> None:
    assert collect(OutcomeTopic().read, lambda name: None) is None
    assert OutcomeTopic().collect() == 0


def test_an_outcome_topic_that_was_made_anew_is_read_from_its_start() -> None:
    OutcomeTopic([line(), line(offset=901)]).collect()
    fresh = OutcomeTopic([line(offset=902)])
    assert collect(lambda name, partition, start: fresh.read(name, partition, 0), lambda name: 1) == 1
    assert OutcomeReport.objects.count() == 3
    assert StatusPosition.objects.get().position == 1


def test_following_reports_says_nothing_of_the_metrics_age() -> None:
    OutcomeTopic([line()]).collect()
    assert collected_at() is None


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'"x"',
        line(item=...),
        line(item=7),
        line(item=""),
        line(item="x" * 61),
        line(outcome="lost"),
        line(outcome=None),
        line(outcome=["delivered"]),
        line(connector=None),
        line(topic=...),
        line(topic=""),
        line(partition="0"),
        line(partition=2**40),
        line(offset=-1),
        line(offset=True),
        line(offset=1.5),
    ],
)
def test_what_is_no_report_is_passed_over(value: bytes | None) -> None:
    topic = OutcomeTopic([value, line()])
    topic.collect()
    assert OutcomeReport.objects.get().offset == 900
    assert StatusPosition.objects.get().position == 2


@pytest.mark.parametrize("odd", [{"attempt": "x"}, {"attempt": -1}, {"time": "x"}, {"time": 2**60}, {"task": None}])
def test_odd_figures_do_not_lose_a_report(odd: dict[str, object]) -> None:
    OutcomeTopic([line(**odd)]).collect()
    assert OutcomeReport.objects.get().outcome == "delivered"


@pytest.mark.parametrize(
    ("time", "at_ms", "year"),
    [(..., 1_795_230_750_000, 2026), (..., 2**62, 1970), (2**62, -1, 1970), (2**46, 5, 4199), (..., -(2**62), 1970)],
)
def test_no_time_however_absurd_stops_the_reading(time: object, at_ms: int, year: int) -> None:
    OutcomeTopic([line(time=time)], at_ms).collect()
    assert OutcomeReport.objects.get().at.year == year


def test_reports_older_than_the_topic_keeps_them_are_forgotten() -> None:
    week = 7 * 24 * 3_600_000
    now = int(timezone.now().timestamp() * 1000)
    OutcomeTopic([line(time=now - week - 60_000), line(offset=901, time=now - week + 60_000)]).collect()
    prune_reports()
    assert OutcomeReport.objects.get().offset == 901


def test_text_that_no_database_stores_is_cleaned() -> None:
    OutcomeTopic([line(item="a\0b", connector="c\0" + "x" * 300)]).collect()
    row = OutcomeReport.objects.get()
    assert "\0" not in row.token + row.connector
    assert len(row.connector) == 200
