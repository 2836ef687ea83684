from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.broker.availability import KafkaAvailability
from dlqadmin.deadletters.models import DeadLetter, IndexPosition, TextBatch
from dlqadmin.deadletters.records.expiry import ExpiringTopic
from dlqadmin.deadletters.search import name_lookup
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.overview.attention import index_behind, retention_soon
from dlqadmin.overview.connector_texts import first_line
from dlqadmin.overview.index_lag import IndexLag, TextLag, index_lag
from dlqadmin.replays.models import ItemState, Replay, ReplayStatus
from tests.dlqadmin.deadletters.letters import note_origins
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.metrics.test_errors import fail, group
from tests.dlqadmin.replays.world import World

pytestmark = pytest.mark.sql

AWAY = KafkaAvailability(reachable=False, brokers=0, topics={})


def task(state: str = "RUNNING", number: int = 0, **status: Any) -> TaskSnapshot:
    return TaskSnapshot(connector="c", task=number, state=state, reported_at=timezone.now(), status=status)


def kinds(client: APIClient) -> list[str]:
    """Return the kinds of the findings, except those about the parts that no test runs."""
    items = client.get("/api/v1/metrics/attention").json()["items"]
    return [item["kind"] for item in items if item["kind"] not in ("broker_down", "redis_down")]


def position(
    now: datetime, partition: int, at: int, end: int, seconds_ago: float = 1, last_record_ago: float = 100
) -> IndexPosition:
    return IndexPosition.objects.create(
        cluster="local",
        topic="usgs.earthquakes.dlq",
        partition=partition,
        position=at,
        end_offset=end,
        last_record_at=now - timedelta(seconds=last_record_ago),
        updated_at=now - timedelta(seconds=seconds_ago),
    )


def test_the_summary_counts_topics_groups_and_errors(as_viewer: APIClient, engine: FakeEngine) -> None:
    engine.add("c", {"topics": "usgs.earthquakes,usgs.stations"})
    now = timezone.now()
    fail(group("gap null", "TASK_PUT", "x.IntegrityError"), now - timedelta(minutes=3))
    body = as_viewer.get("/api/v1/metrics/summary").json()
    assert body["failing_topics"] == {"count": 1, "exact": True, "watched": 2, "names": ["usgs.earthquakes"]}
    assert body["unresolved_groups"]["count"] == 1
    assert body["errors_24h"]["days"] == [0, 0, 0, 0, 0, 0, 1]
    assert body["total"] == 1


@pytest.mark.slow
def test_topics_that_fail_are_counted_exactly_however_much_one_of_them_fails(db: None) -> None:
    now = timezone.now()
    row = group("gap null", "TASK_PUT", "x.IntegrityError")
    fail(row, now - timedelta(hours=3))
    DeadLetter.objects.update(origin_topic="rare")
    fail(row, now - timedelta(days=3))
    DeadLetter.objects.filter(origin_topic="usgs.earthquakes").update(origin_topic="long ago")
    for _ in range(205):
        fail(row, now - timedelta(minutes=3))
    assert name_lookup.failing_origins(now - timedelta(days=1), now) == (["rare", "usgs.earthquakes"], True)


def test_more_topics_than_are_asked_are_told_as_at_least_so_many(db: None) -> None:
    now = timezone.now()
    row = group("gap null", "TASK_PUT", "x.IntegrityError")
    fail(row, now - timedelta(minutes=3))
    first = DeadLetter.objects.get()
    DeadLetter.objects.bulk_create(
        DeadLetter(
            cluster="local",
            topic=first.topic,
            partition=0,
            offset=number,
            failed_at=first.failed_at,
            indexed_at=first.indexed_at,
            dialect=first.dialect,
            fingerprint=row,
            origin_topic=f"t{number:03}",
        )
        for number in range(1, name_lookup.MOST_ORIGINS + 1)
    )
    note_origins()
    names, is_all = name_lookup.failing_origins(now - timedelta(days=1), now)
    assert (len(names), is_all) == (name_lookup.MOST_ORIGINS, False)


def test_the_summary_tells_the_newest_replay_that_failed_again(as_viewer: APIClient, engine: FakeEngine) -> None:
    world = World(engine)
    Replay.objects.update(status=ReplayStatus.DONE, started_at=timezone.now())
    url = "/api/v1/metrics/summary"
    assert as_viewer.get(url).json()["replays"] == {"started": 1, "failing": 0, "newest": None}
    world.replay.items.update(state=ItemState.FAILED_AGAIN)
    found = as_viewer.get(url).json()["replays"]
    assert (found["failing"], found["newest"]["id"], found["newest"]["failed_again"]) == (1, world.replay.pk, 1)


def test_dead_letters_that_soon_leave_kafka_need_attention() -> None:
    now = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)
    found = list(retention_soon([ExpiringTopic("local", "a.dlq", 8, now + timedelta(minutes=33), 7 * 86_400_000)], now))
    assert [(row.title, row.text, row.at) for row in found] == [
        (
            "8 dead letters may leave Kafka within 3 h",
            "Retention of a.dlq: 7 d. The index keeps its copy",
            datetime(2026, 11, 21, 3, 45, tzinfo=UTC),
        )
    ]
    query = parse_qs(urlsplit(found[0].href).query)
    assert query["from"] == ["2026-11-14T03:12:00.000Z"]
    assert query["to"] == ["2026-11-14T06:12:00.000Z"]


def test_text_that_is_behind_needs_attention_though_the_list_is_not() -> None:
    assert list(index_behind(IndexLag([], TextLag(5_000, 29.0)))) == []
    found = index_behind(IndexLag([], TextLag(1, 95.4)))
    assert [row.text for row in found] == ["1 record can't be found by words yet, the oldest for 95 s"]


def test_attention_names_the_gravest_first(as_viewer: APIClient, engine: FakeEngine) -> None:
    now = timezone.now()
    row = group("gap null", "TASK_PUT", "x.IntegrityError")
    row.group.first_seen = now - timedelta(minutes=3)
    row.group.save()
    fail(row, now - timedelta(minutes=3))
    engine.add("c", {"topics": "a"}, tasks=2)
    engine.connectors["c"]["status"]["tasks"][0] |= {"state": "FAILED", "trace": "Refused: port 5432\n  at engine"}
    task("FAILED", lag=12).save()
    items = as_viewer.get("/api/v1/metrics/attention").json()["items"]
    found = [item for item in items if not item["kind"].endswith("_down")]
    assert [(item["kind"], item["severity"], item["action"]) for item in found] == [
        ("failed_task", "high", "restart"),
        ("new", "high", "open"),
    ]
    assert items[: len(items) - 2] == [item for item in items if item["kind"].endswith("_down")]
    assert (found[0]["title"], found[0]["text"]) == ("c-0 failed", "12 records wait. Refused: port 5432")
    assert found[1]["href"] == f"/groups/{row.group_id}"


def test_replays_that_paused_or_failed_again_need_attention(as_viewer: APIClient, engine: FakeEngine) -> None:
    world = World(engine)
    world.replay.items.update(state=ItemState.FAILED_AGAIN)
    Replay.objects.update(status=ReplayStatus.PAUSED, trouble="there is no topic x", started_at=timezone.now())
    items = as_viewer.get("/api/v1/metrics/attention").json()["items"]
    found = {item["kind"]: (item["text"], item["href"]) for item in items}
    page = f"/replays/{world.replay.pk}"
    assert found["replay_paused"] == ("there is no topic x", page)
    assert found["replay_failing"] == ("1 of 1 sent records failed again", page)


def test_an_engine_that_is_away_needs_attention(as_viewer: APIClient) -> None:
    assert kinds(as_viewer) == ["engine_down"]


def test_a_budget_half_used_needs_attention_and_one_without_limit_never(
    as_viewer: APIClient, engine: FakeEngine
) -> None:
    unlimited = {"rate_limit": -1, "rate_used": 0}
    told = [
        {"limit": 500, "used": 252, **unlimited},
        {"limit": -1, "used": 9999, **unlimited},
        {"limit": 500, "used": 249, **unlimited},
        {"limit": -1, "used": 10, "rate_limit": 10, "rate_used": 10},
        {"limit": 10, "used": 9},
    ]
    engine.add("c", {"errors.tolerance.rate.duration": "day"}, tasks=len(told))
    for number, tolerance in enumerate(told):
        row = task(number=number, tolerance=tolerance)
        row.metrics = {"last-failure-timestamp": int(row.reported_at.timestamp() * 1000)}
        row.save()
    items = as_viewer.get("/api/v1/metrics/attention").json()["items"]
    assert [(item["title"], item["text"]) for item in items if "budget" in item["kind"]] == [
        ("c-3: the next error stops it", "10 of 10 errors within the last day, 0 left"),
        ("c-4 is close to its tolerance limit", "9 of 10 errors in total, 1 left"),
        ("c-0 is close to its tolerance limit", "252 of 500 errors in total, 248 left"),
    ]


def test_a_failed_task_without_a_trace_says_so() -> None:
    assert first_line(None) == first_line("") == "The task reported no stack trace."
    assert first_line(" Refused: x\n at y") == "Refused: x"


def test_the_index_is_behind_by_records_and_seconds(db: None) -> None:
    now = timezone.now()
    position(now, 0, at=10, end=25, seconds_ago=40)
    position(now, 1, at=7, end=7, seconds_ago=1)
    lag = index_lag(now, AWAY)
    assert (lag.records, lag.seconds, lag.behind) == (15, 100.0, True)


def test_an_index_at_its_end_is_zero_seconds_behind(db: None) -> None:
    now = timezone.now()
    position(now, 0, at=10, end=10, seconds_ago=3000)
    lag = index_lag(now, AWAY)
    assert (lag.records, lag.seconds, lag.behind) == (0, 0.0, False)


def test_an_indexer_without_a_sign_of_life_needs_attention(as_viewer: APIClient, engine: FakeEngine) -> None:
    position(timezone.now(), 0, at=10, end=10, seconds_ago=3000)
    assert kinds(as_viewer) == ["indexer_down"]


def test_health_tells_which_part_is_away(as_viewer: APIClient, engine: FakeEngine) -> None:
    engine.add("c", {"topics": "a"}, tasks=2)
    body = as_viewer.get("/api/v1/health").json()
    assert body["status"] == "failing"
    assert body["reasons"][:2] == ["Kafka does not respond.", "Redis does not respond."]
    assert body["broker"] == {"reachable": False, "brokers": 0}
    assert body["connect"] == [{"name": "engine", "reachable": True, "workers": 1}]
    assert body["redis"] == {"reachable": False}


def test_redis_that_answers_is_reachable(as_viewer: APIClient, settings: Settings, redis_url: str) -> None:
    settings.REDIS_URL = redis_url
    assert as_viewer.get("/api/v1/health").json()["redis"] == {"reachable": True}


def test_anyone_may_ask_whether_the_web_process_is_alive(anonymous: APIClient) -> None:
    assert anonymous.get("/api/v1/alive").json() == {"alive": True}


def test_prometheus_reads_lag_errors_and_balance(as_viewer: APIClient, anonymous: APIClient) -> None:
    now = timezone.now()
    fail(group("gap null", "TASK_PUT", "x.IntegrityError"), now)
    position(now, 0, at=10, end=25)
    task(positions={"t-0": 1}, ends={"t-0": 4}).save()
    text = as_viewer.get("/metrics").content.decode()
    labels = 'cluster="local",connector="",exception="x.IntegrityError",stage="TASK_PUT"'
    assert f"dlqadmin_dead_letters_total{{{labels}" in text
    assert 'dlqadmin_index_lag_records{cluster="local",topic="usgs.earthquakes.dlq"} 15.0' in text
    assert 'dlqadmin_task_lag_records{connector="c",task="0"} 3.0' in text
    assert anonymous.get("/metrics").status_code == 401


def test_health_says_how_far_the_text_is_behind_the_list(as_viewer: APIClient, engine: FakeEngine) -> None:
    assert as_viewer.get("/api/v1/health").json()["index"]["text"] == {"records_behind": 0, "seconds_behind": 0.0}
    now = timezone.now()
    for number, seconds in ((3, 40), (2, 5)):
        TextBatch.objects.create(ids=b"", n=number, at=now - timedelta(seconds=seconds))
    text = as_viewer.get("/api/v1/health").json()["index"]["text"]
    assert text["records_behind"] == 5
    assert 40 <= text["seconds_behind"] < 100
