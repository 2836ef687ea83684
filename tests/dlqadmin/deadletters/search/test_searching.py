"""The query language over REST, on indexed records: one meaning with the older parameters, and how complete it is."""

from __future__ import annotations

import time
from threading import Thread, Timer
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache
from django.db import connection
from rest_framework.test import APIClient

from dlqadmin.deadletters.index.word_index import write_queued_words
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.search import candidates, time_limits
from dlqadmin.settings import CACHES
from tests.dlqadmin.conftest import NOWHERE
from tests.dlqadmin.deadletters.letters import ALL, BAD_JSON, HOUR_MS, NOW_MS, NST, index, letter, plain

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
LIST = "/api/v1/dead-letters"
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT count(*) FROM n"


@pytest.fixture
def indexed() -> None:
    index(
        [letter(offset, partition=offset % 3, at_ms=NOW_MS - offset * HOUR_MS) for offset in range(30)]
        + [letter(100 + offset, message=NST, key=b"ak%d" % offset, connector="other") for offset in range(5)]
        + [letter(200, message=BAD_JSON, exception="orjson.JSONDecodeError", stage="VALUE_CONVERTER")]
        + [
            letter(300 + n, topic="orders.dlq", value=b'{"gap": %s}' % gap, headers=(("trace-id", b"t%d" % n),))
            for n, gap in enumerate([b"null", b"1", b"null", b'"null"'])
        ]
        + [plain(0, b"?")]
    )


def get(client: APIClient, path: str = LIST, **params: Any) -> Any:
    response = client.get(path, {**ALL, **params})
    assert response.status_code == 200, response.content
    return response.json()


def fill_all() -> None:
    while write_queued_words():
        pass


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("stage:TASK_PUT", {"stage": "TASK_PUT"}),
        ("-stage:TASK_PUT", {"not_stage": "TASK_PUT"}),
        ("stage:TASK_PUT,VALUE_CONVERTER", {"stage": ["TASK_PUT", "VALUE_CONVERTER"]}),
        ("exception:IntegrityError connector:other", {"exception": "IntegrityError", "connector": "other"}),
        ("topic:usgs*", {"topic": "usgs.earthquakes.dlq"}),
        ("exception:JSON*", {"exception": "JSONDecodeError"}),
        ("origin_topic:usgs*", {"origin_topic": "usgs.earthquakes"}),
        ("is:unreadable", {"readable": "false"}),
        ("replay:none", {"replay_state": "none"}),
        ("key:ak3", {"key": "ak3"}),
        ("dlq_offset:100..102", {"offset": ["100", "101", "102"]}),
        ("dlq_offset:>99 dlq_offset:<103", {"offset": ["100", "101", "102"]}),
        ("-dlq_offset:>2", {"offset": ["0", "1", "2"]}),
        ("offset:48100..48102", {"offset": ["100", "101", "102"], "topic": "usgs.earthquakes.dlq"}),
        ("partition:1", {"origin_partition": "1"}),
        ("after:2026-11-21", {"from": "2026-11-21T00:00:00Z"}),
        ("topic:nothing*", {"topic": "no.such"}),
    ],
)
def test_a_query_finds_what_the_parameters_find(
    as_reader: APIClient, indexed: None, query: str, params: dict[str, Any]
) -> None:
    asked, expected = get(as_reader, q=query, limit=100), get(as_reader, **params, limit=100)
    assert [row["id"] for row in asked["results"]] == [row["id"] for row in expected["results"]]
    assert asked["total"] == expected["total"]


def test_list_facets_and_histogram_count_the_same(as_reader: APIClient, indexed: None) -> None:
    fill_all()
    for query in ("gap -connector:other", "partition:>0", "value.gap:null", "header.trace-id:t*"):
        total = get(as_reader, q=query)["total"]
        assert total["exact"]
        facets = get(as_reader, f"{LIST}/facets", q=query)
        assert (facets["exact"], facets["partial"]) == (True, False)
        assert sum(row["count"] for row in facets["facets"]["replay_state"]) == total["count"]
        chart = get(as_reader, f"{LIST}/histogram", q=query)
        assert (sum(row["total"] for row in chart["series"]), chart["exact"]) == (total["count"], True)


@pytest.mark.parametrize(
    ("query", "waiting", "count"),
    [
        ("earthquakes.nst", 5, 5),
        ("quakes.nst", 5, 5),  # a part of a word, in the message of a group
        ("ak3", 1, 1),
        ('"line 1 column 51"', 0, 1),
        ('"column 1 line 51"', 0, 0),
        ("earthquakes.nst -ak3", 4, 4),
        ("quakes.nst nowhere", 0, 0),
        ('"gap null"', 0, 3),  # in the value: punctuation is no part of a word
        ("earthqua*", 39, 39),
    ],
)
def test_words_are_found_in_messages_at_once_and_in_values_when_their_text_is_indexed(
    as_reader: APIClient, indexed: None, query: str, waiting: int, count: int
) -> None:
    for expected, exact in ((waiting, False), (count, True)):
        answer = get(as_reader, q=query, limit=100)
        assert (answer["total"], len(answer["results"])) == ({"count": expected, "exact": exact}, expected)
        fill_all()


def test_pages_of_words_hold_every_record_once(as_reader: APIClient, indexed: None) -> None:
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = get(as_reader, q="earthquakes", limit=7, cursor=cursor)
        seen += [row["id"] for row in answer["results"]]
        cursor = answer["next"]
    assert len(seen) == len(set(seen)) == 39


def test_a_look_into_values_says_how_far_it_went(as_reader: APIClient, indexed: None) -> None:
    answer = get(as_reader, q="value.gap:null topic:orders*")
    assert (answer["total"], answer["searched"], answer["next"]) == ({"count": 2, "exact": True}, 4, None)
    assert get(as_reader, q="topic:orders*")["searched"] is None


def test_a_look_into_values_goes_on_behind_its_window(
    as_reader: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "PROBED", 3)
    seen, answers = list[int](), 0
    cursor: str | None = ""
    while cursor is not None:
        answer = get(as_reader, q="value.gap:null", cursor=cursor)
        assert answer["searched"] <= 3
        seen += [row["id"] for row in answer["results"]]
        cursor, answers = answer["next"], answers + 1
    assert (len(seen), len(set(seen)), answers) == (2, 2, 14)
    assert get(as_reader, q="value.gap:null")["total"]["exact"] is False


def test_the_records_beside_one_are_those_that_match(as_reader: APIClient, indexed: None) -> None:
    for query in ("value.gap:null", "earthquakes"):
        rows = [row["id"] for row in get(as_reader, q=query, limit=100)["results"]]
        record = get(as_reader, f"{LIST}/{rows[1]}", q=query)
        assert record["neighbours"] == {"previous": rows[0], "next": rows[2] if len(rows) > 2 else None}


@pytest.mark.parametrize("path", ["", "/facets", "/histogram"])
def test_a_wrong_query_is_a_problem_with_its_place(as_reader: APIClient, path: str) -> None:
    response = as_reader.get(LIST + path, {**ALL, "q": "topic:a stag:b"})
    body = response.json()
    assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")
    assert body["at"] == {"start": 8, "end": 12}
    assert body["errors"] == [{"parameter": "q", "message": "Unknown field `stag`. Did you mean `stage`?"}]


def test_groups_take_the_counted_part_of_a_query(as_reader: APIClient, indexed: None) -> None:
    answer = get(as_reader, "/api/v1/groups", q="connector:other")
    assert [row["events"] for row in answer["results"]] == [5]


def test_a_time_out_leaves_a_partial_answer_that_says_so(
    as_reader: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limits.TimeBudget, "left", 0.0)
    answer = get(as_reader, q="value.gap:null")
    assert (answer["partial"], answer["total"]["exact"]) == (True, False)


def test_a_cancelled_query_ends_and_nobody_elses(as_reader: APIClient, as_operator: APIClient, indexed: None) -> None:
    name = "0123-4567"
    assert as_operator.delete(f"/api/v1/queries/{name}").status_code == 204
    assert as_reader.get(LIST, {**ALL, "q": "gap", "query_id": name}).status_code == 200
    assert as_reader.delete(f"/api/v1/queries/{name}").status_code == 204
    response = as_reader.get(LIST, {**ALL, "q": "gap", "query_id": name})
    assert (response.status_code, response["Content-Type"]) == (409, "application/problem+json")
    assert as_reader.get(LIST, {**ALL, "q": "gap"}).status_code == 200


def test_reads_and_cancelling_go_on_while_redis_is_away(
    as_reader: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = RedisCache(f"redis://{NOWHERE}/0", {})
    monkeypatch.setattr(time_limits, "_shared_cache", lambda: away)
    assert as_reader.delete("/api/v1/queries/0123-4567").status_code == 204
    assert as_reader.get(LIST, {**ALL, "q": "gap", "query_id": "0123-4567"}).status_code == 200


@pytest.mark.parametrize("name", ["short", "a b c d e f", "x" * 37])
def test_a_name_of_a_query_is_checked(as_reader: APIClient, name: str) -> None:
    assert as_reader.get(LIST, {**ALL, "query_id": name}).status_code == 400
    assert as_reader.delete(f"/api/v1/queries/{name}").status_code == 400


def test_a_running_statement_ends_when_its_reader_cancels_it() -> None:
    index([letter(offset) for offset in range(300)])
    endless = DeadLetter.objects.raw(
        "SELECT a.* FROM deadletters_deadletter a, deadletters_deadletter b, deadletters_deadletter c, "
        "deadletters_deadletter d WHERE a.id + b.id + c.id + d.id < 0"
    )
    someone = Timer(0.3, cancel_elsewhere, [1, "abcdefgh"])
    someone.start()
    with pytest.raises(time_limits.QueryCancelled), time_limits.cancellable(1, "abcdefgh"), time_limits.bounded(60):
        list(endless)
    someone.join()
    assert DeadLetter.objects.count() == 300


def test_a_cancel_between_two_statements_ends_the_second() -> None:
    with time_limits.cancellable(1, "abcdefgh"), time_limits.bounded(60):
        assert DeadLetter.objects.count() == 0
        at_once = Thread(target=cancel_elsewhere, args=(1, "abcdefgh"))
        at_once.start()
        at_once.join()
        time.sleep(time_limits.SHORTEST_S)
        with pytest.raises(time_limits.QueryCancelled):
            DeadLetter.objects.count()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="signals a connection")
def test_a_signal_that_meets_the_statement_behind_a_bounded_one_is_still_a_cancel() -> None:
    with (
        pytest.raises(time_limits.QueryCancelled),
        time_limits.cancellable(1, "abcdefgh"),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(1)")


def test_statements_share_the_seconds_of_their_bound() -> None:
    sql = "SELECT pg_sleep(0.3)" if connection.vendor == "postgresql" else SLOW
    started = time.monotonic()
    with pytest.raises(time_limits.QueryTimedOut), time_limits.bounded(0.5):
        repeat(sql, until=started + 3)
    assert time.monotonic() - started < 1


def repeat(sql: str, until: float) -> None:
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute(sql)
            cursor.fetchall()


def test_seconds_that_are_used_up_between_statements_are_missed_by_the_next() -> None:
    with time_limits.bounded(0.2):
        time.sleep(0.3)
        with pytest.raises(time_limits.QueryTimedOut):
            DeadLetter.objects.count()


def test_flags_of_cancelled_queries_lie_where_all_processes_see_them() -> None:
    assert CACHES[time_limits.SHARED]["BACKEND"] == "django.core.cache.backends.redis.RedisCache"


def cancel_elsewhere(reader: int, name: str) -> None:
    """As another request does it: in a thread and with a connection of its own."""
    time_limits.cancel(reader, name)
    connection.close()


def test_a_cancelled_name_is_refused_before_any_statement() -> None:
    time_limits.cancel(7, "abcdefgh")
    with pytest.raises(time_limits.QueryCancelled), time_limits.cancellable(7, "abcdefgh"), time_limits.bounded():
        pytest.fail("ran")
    with time_limits.cancellable(8, "abcdefgh"), time_limits.bounded():
        assert DeadLetter.objects.count() == 0


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        ("message:nst", [100, 101, 102, 103, 104]),
        ("message:NST -key:ak3,ak4", [100, 101, 102]),
        ('message:"character line 1"', [200]),
        ('message:"line character"', []),
        ("message:unexpec*,nst key:ak0", [100]),
        ("message:unexpec", []),
        ("message:ak3", []),
        ("key:ak*", [100, 101, 102, 103, 104]),
        ("key:ak1,ak3*", [101, 103]),
        ("key:AK*", []),
        ('key:"ak*"', []),
        ("-key:ak* connector:other", []),
        ("-message:nst -message:gap -message:foreign dlq_offset:>99", [200]),
    ],
)
def test_messages_and_keys_are_found_by_words_and_beginnings(
    as_reader: APIClient, indexed: None, query: str, offsets: list[int]
) -> None:
    fill_all()
    found = get(as_reader, q=query)
    assert sorted(row["offset"] for row in found["results"]) == offsets
    assert found["total"] == {"count": len(offsets), "exact": True}


def test_a_message_that_is_not_searchable_yet_makes_the_count_a_lower_bound(
    as_reader: APIClient, indexed: None
) -> None:
    found = get(as_reader, q="message:nst")
    assert found["total"] == {"count": 0, "exact": False}
    assert found["text_behind"] > 0


def test_a_parameter_is_the_whole_key_with_its_star(as_reader: APIClient) -> None:
    index([letter(0, key=b"a*"), letter(1, key=b"ab")])
    assert [row["offset"] for row in get(as_reader, key="a*")["results"]] == [0]


def test_everybody_may_search_messages_but_not_keys(as_viewer: APIClient, indexed: None) -> None:
    assert as_viewer.get(LIST, {**ALL, "q": "message:nst"}).status_code == 200
    assert as_viewer.get(LIST, {**ALL, "q": "key:a*"}).status_code == 403
