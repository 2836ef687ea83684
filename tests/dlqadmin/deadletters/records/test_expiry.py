"""When a record leaves Kafka, and how much of that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from dlqadmin.broker import cluster_settings
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.retention import RetentionCache, TopicRetention
from dlqadmin.deadletters.models import Group, GroupStatus, IndexPosition
from dlqadmin.deadletters.records import expiry
from dlqadmin.deadletters.records.expiry import ExpiringTopic, RetentionClock, RetentionFacts, TimedCoordinates, clock
from tests.dlqadmin.deadletters.letters import HOUR_MS, NOW, NOW_MS, NST, index, index_one, letter

pytestmark = pytest.mark.sql

DAY_MS = 24 * HOUR_MS
WEEK = TopicRetention(frozenset({"delete"}), 7 * DAY_MS, -1)
DLQ, ORIGIN = "usgs.earthquakes.dlq", "usgs.earthquakes"
AN_HOUR_AGO = NOW - timedelta(hours=1)


class FakeBroker:
    """Topics with these retentions, of which every partition begins at one offset."""

    def __init__(self, begin: int = 0, /, **options: TopicRetention) -> None:
        self.begin, self.options = begin, options

    def retentions(self, names: Sequence[str]) -> Mapping[str, TopicRetention]:
        return {one: self.options[one] for one in names if one in self.options}

    def first_offsets(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
        return dict.fromkeys(partitions, self.begin)


@pytest.mark.parametrize(
    ("options", "place", "expected"),
    [
        (
            WEEK,
            TimedCoordinates("t", 0, 5, AN_HOUR_AGO),
            RetentionClock("leaves", AN_HOUR_AGO + timedelta(days=7), 7 * DAY_MS),
        ),
        (
            WEEK,
            TimedCoordinates("t", 0, 5, NOW - timedelta(days=8)),
            RetentionClock("overdue", NOW - timedelta(days=1), 7 * DAY_MS),
        ),
        (WEEK, TimedCoordinates("t", 0, 4, AN_HOUR_AGO), RetentionClock("gone")),
        (WEEK, TimedCoordinates("t", 1, 5, AN_HOUR_AGO), RetentionClock("gone", reason="no_topic")),
        (WEEK, TimedCoordinates("other", 0, 5, AN_HOUR_AGO), RetentionClock("gone", reason="no_topic")),
        (WEEK, TimedCoordinates("t", 0, 5, None), RetentionClock("unknown", None, 7 * DAY_MS, "no_timestamp")),
        (
            TopicRetention(frozenset({"delete"}), -1, -1),
            TimedCoordinates("t", 0, 5, AN_HOUR_AGO),
            RetentionClock("kept"),
        ),
        (
            TopicRetention(frozenset({"delete"}), 2**63 - 1, -1),
            TimedCoordinates("t", 0, 5, AN_HOUR_AGO),
            RetentionClock("kept"),
        ),
        (TopicRetention(frozenset(), DAY_MS, -1), TimedCoordinates("t", 0, 5, AN_HOUR_AGO), RetentionClock("kept")),
        (
            TopicRetention(frozenset({"delete"}), DAY_MS, 1_000),
            TimedCoordinates("t", 0, 5, AN_HOUR_AGO),
            RetentionClock("unknown", reason="retention_bytes"),
        ),
        (
            TopicRetention(frozenset({"compact", "delete"}), DAY_MS, -1),
            TimedCoordinates("t", 0, 5, AN_HOUR_AGO),
            RetentionClock("unknown", reason="compaction"),
        ),
    ],
)
def test_the_clock_says_what_the_config_and_the_first_offset_tell(
    options: TopicRetention, place: TimedCoordinates, expected: RetentionClock
) -> None:
    assert clock(place, RetentionFacts({"t": options}, {("t", 0): 5}), NOW) == expected


def test_without_kafkas_word_nothing_is_known() -> None:
    assert clock(TimedCoordinates("t", 0, 5, NOW), None, NOW) == RetentionClock("unknown", reason="not_told")


@pytest.mark.django_db
def test_a_dead_letter_and_its_origin_have_clocks_of_their_own() -> None:
    broker = FakeBroker(**{DLQ: WEEK, ORIGIN: TopicRetention(frozenset({"compact"}), -1, -1)})
    own, origin = expiry.of_letter(index_one(letter(3)), NOW, broker)
    assert own == RetentionClock("leaves", NOW + timedelta(days=7), 7 * DAY_MS)
    assert origin == RetentionClock("unknown", reason="compaction")


@pytest.mark.django_db
def test_a_group_is_told_by_its_oldest_that_may_still_be_there() -> None:
    index([letter(days, at_ms=NOW_MS - days * DAY_MS) for days in (0, 1, 2, 8)])
    found = expiry.of_group(Group.objects.get().pk, NOW, FakeBroker(**{DLQ: WEEK}), limit=2)
    assert [one.until for one in found.dead_letters] == [NOW + timedelta(days=5), NOW + timedelta(days=6)]
    assert found.origins == [RetentionClock("gone", reason="no_topic")] * 2
    assert found.complete is False


@pytest.mark.django_db
def test_topics_that_may_lose_unresolved_records_within_three_hours_are_named() -> None:
    broker = FakeBroker(**{DLQ: WEEK, "forever.dlq": TopicRetention(frozenset({"delete"}), -1, -1)})
    soon, later, gone = (NOW_MS - 7 * DAY_MS + ms for ms in (HOUR_MS, 4 * HOUR_MS, -HOUR_MS))
    index([letter(0, at_ms=soon), letter(1, at_ms=later), letter(2, at_ms=gone)])
    index([letter(3, at_ms=soon, topic="forever.dlq"), letter(4, at_ms=soon, message=NST)])
    assert expiry.expiring_soon(NOW, broker) == [ExpiringTopic("local", DLQ, 2, NOW + timedelta(hours=1), 7 * DAY_MS)]
    Group.objects.filter(title__contains="nst").update(status=GroupStatus.RESOLVED)
    assert [row.records for row in expiry.expiring_soon(NOW, broker)] == [1]


@pytest.mark.django_db
def test_many_expiring_topics_need_no_more_queries_than_one() -> None:
    counts = []
    for first, topics in ((0, 1), (1, 20)):
        at_ms = NOW_MS - 7 * DAY_MS + HOUR_MS
        index([letter(0, at_ms=at_ms, topic=f"{topic}.dlq") for topic in range(first, topics)])
        broker = FakeBroker(**dict.fromkeys((f"{topic}.dlq" for topic in range(topics)), WEEK))
        cluster_settings.forget()
        with CaptureQueriesContext(connection) as seen:
            assert len(expiry.expiring_soon(NOW, broker)) == topics
        counts.append(len(seen))
    assert counts[0] == counts[1]


@pytest.mark.django_db
def test_topics_of_different_retention_have_their_own_times() -> None:
    day = TopicRetention(frozenset({"delete"}), DAY_MS, -1)
    index([letter(0, at_ms=NOW_MS - DAY_MS + HOUR_MS, topic=topic) for topic in ("day.dlq", "week.dlq")])
    index([letter(1, at_ms=NOW_MS - 7 * DAY_MS + 2 * HOUR_MS, topic="week.dlq")])
    assert expiry.expiring_soon(NOW, FakeBroker(**{"day.dlq": day, "week.dlq": WEEK})) == [
        ExpiringTopic("local", "day.dlq", 1, NOW + timedelta(hours=1), DAY_MS),
        ExpiringTopic("local", "week.dlq", 1, NOW + timedelta(hours=2), 7 * DAY_MS),
    ]


@pytest.mark.django_db
def test_the_clocks_of_many_dead_letters_need_no_more_queries_than_those_of_one() -> None:
    index([letter(offset) for offset in range(9)])
    group, broker, counts = Group.objects.get().pk, FakeBroker(**{DLQ: WEEK, ORIGIN: WEEK}), []
    for limit in (1, 9):
        cluster_settings.forget()
        with CaptureQueriesContext(connection) as seen:
            assert len(expiry.of_group(group, NOW, broker, limit).origins) == limit
        counts.append(len(seen))
    assert counts[0] == counts[1]


@pytest.mark.django_db
def test_a_topic_whose_indexed_records_are_all_gone_loses_nothing() -> None:
    index([letter(0, at_ms=NOW_MS - 7 * DAY_MS + HOUR_MS)])
    position = IndexPosition.objects.get().position
    assert len(expiry.expiring_soon(NOW, FakeBroker(position - 1, **{DLQ: WEEK}))) == 1
    assert expiry.expiring_soon(NOW, FakeBroker(position, **{DLQ: WEEK})) == []


@pytest.mark.slow
def test_a_kafka_that_is_away_makes_clocks_unknown_not_errors(as_viewer: APIClient) -> None:
    row = index_one(letter(3))
    body = as_viewer.get(f"/api/v1/dead-letters/{row.pk}/retention").json()
    assert body["dead_letter"] == {"state": "unknown", "until": None, "keeps_ms": None, "reason": "not_told"}
    body = as_viewer.get(f"/api/v1/groups/{Group.objects.get().pk}/retention").json()
    assert (body["dead_letters"]["unknown"], body["dead_letters"]["reasons"]) == (1, ["not_told"])
    assert expiry.expiring_soon(NOW) == []


def test_what_does_not_exist_has_no_clock(as_viewer: APIClient) -> None:
    assert as_viewer.get("/api/v1/dead-letters/1/retention").status_code == 404
    assert as_viewer.get(f"/api/v1/groups/{2**64}/retention").status_code == 404


def test_an_answer_is_kept_also_when_there_is_none_and_an_error_is_not() -> None:
    asked: list[Sequence[str]] = []

    def ask(names: Sequence[str]) -> dict[str, int]:
        asked.append(names)
        if "broken" in names:
            raise BrokerUnavailable("no")
        return {"a": 1, "b": 2}

    kept = RetentionCache(ask)
    assert kept.get(["a", "nothing"]) == {"a": 1}
    assert kept.get(["nothing", "a"]) == {"a": 1}
    assert kept.get(["a", "b"]) == {"a": 1, "b": 2}
    for _ in range(2):
        with pytest.raises(BrokerUnavailable):
            kept.get(["broken"])
    assert asked == [["a", "nothing"], ["b"], ["broken"], ["broken"]]
