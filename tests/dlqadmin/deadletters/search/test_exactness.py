"""An answer that says it is exact is; what could not be looked into, or not in time, is told."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.deadletters.index import retention
from dlqadmin.deadletters.index.word_index import write_queued_words
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.search import candidates
from dlqadmin.deadletters.search.candidates import MAX_VALUE_BYTES
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.histogram import histogram
from dlqadmin.deadletters.search.name_lookup import names_beginning
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from tests.dlqadmin.deadletters.letters import ALL, HOUR_MS, NOW, NOW_MS, index, letter
from tests.dlqadmin.exports.reading import body

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
LIST = "/api/v1/dead-letters"


def get(client: APIClient, path: str = LIST, **params: Any) -> Any:
    response = client.get(path, {**ALL, **params})
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.parametrize("depth", [900, 980, 1020, 5000])
def test_lists_within_lists_break_no_search(as_operator: APIClient, depth: int) -> None:
    index([letter(1, value=b"[" * depth + b'{"a": 1}' + b"]" * depth), letter(2, value=b'{"a": 1}')])
    found = [row["offset"] for row in get(as_operator, q="value.a:1")["results"]]
    assert found == ([2, 1] if depth < 1024 else [2])  # orjson reads no deeper
    for path in ("facets", "histogram"):
        assert get(as_operator, f"{LIST}/{path}", q="value.a:1")["exact"]
    assert body(as_operator.get(f"{LIST}/export", {**ALL, "q": "value.a:1"})).count(b"\n") == len(found)


@pytest.mark.parametrize("query", ["zebra", "-zebra"])
def test_words_are_not_exact_while_text_waits(as_reader: APIClient, query: str) -> None:
    index([letter(1, value=b'{"word": "zebra"}'), letter(2)])
    for exact in (False, True):
        assert get(as_reader, q=query)["total"]["exact"] is exact
        assert get(as_reader, f"{LIST}/facets", q=query)["exact"] is exact
        assert get(as_reader, f"{LIST}/histogram", q=query)["exact"] is exact
        assert get(as_reader, q="dlq_offset:1")["total"]["exact"]
        write_queued_words()
    assert get(as_reader, q=query)["total"]["count"] == 1


def test_a_value_too_long_to_look_into_is_no_exact_answer(as_reader: APIClient) -> None:
    index([letter(1, value=b'{"a": null, "b": "%s"}' % (b"y" * MAX_VALUE_BYTES), headers=(("h", b"1"),)), letter(2)])
    for query in ("value.a:null", "-value.a:null"):
        assert get(as_reader, q=query)["total"]["exact"] is False
        assert get(as_reader, f"{LIST}/facets", q=query)["exact"] is False
        assert get(as_reader, f"{LIST}/histogram", q=query)["exact"] is False
    assert get(as_reader, q="header.h:1")["total"] == {"count": 1, "exact": True}


def test_bars_count_what_retention_has_forgotten(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    day = 24 * HOUR_MS
    settings.RETENTION_DAYS = 2
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    index([letter(offset, at_ms=NOW_MS - 5 * day - offset * 60_000) for offset in range(50)] + [letter(50)])
    retention.prune(NOW - timedelta(days=2))
    assert DeadLetter.objects.count() == 1
    for days, count, narrow in ((7, 51, False), (1, 1, True)):
        found = histogram(Filters(NOW - timedelta(days=days), NOW + timedelta(seconds=1)))
        assert (sum(row.total for row in found.series), found.exact, found.bucket_ms < HOUR_MS) == (count, True, narrow)


def origin(offset: int, topic: str) -> Any:
    one = letter(offset)
    headers = ((name, topic.encode() if name.endswith("errors.topic") else value) for name, value in one.headers)
    return msgspec.structs.replace(one, headers=tuple(headers))


def test_origin_topics_are_found_by_their_beginning_however_many_come_before(as_reader: APIClient) -> None:
    names = [*(f"a{n:04}" for n in range(505)), "Orders.eu", "orders.eu", "Orders.us", "orders.us", "payments"]
    index([origin(offset, name) for offset, name in enumerate(names)])
    assert list(names_beginning("origin_topic", "orders")) == ["orders.eu", "orders.us"]
    assert get(as_reader, q="origin_topic:orders*")["total"] == {"count": 2, "exact": True}
    assert list(names_beginning("origin_topic", "z")) == []
    response = as_reader.get(LIST, {**ALL, "q": "origin_topic:a0*"})
    assert response.json()["errors"][0]["message"] == "more than 100 names have this prefix"


@pytest.mark.parametrize("query", ["zebra", "value.word:zebra"])
def test_a_list_goes_on_behind_a_time_out_without_a_row(
    as_reader: APIClient, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    index([letter(offset, value=b'{"word": "zebra"}', key=b"zebra") for offset in range(5)])
    write_queued_words()
    statements: Iterator[int] = itertools.count()
    unhurried = bounded

    def first_is_late(seconds: float) -> Any:
        if next(statements) == 0:
            raise QueryTimedOut
        return unhurried(seconds)

    monkeypatch.setattr(candidates, "bounded", first_is_late)
    answer = get(as_reader, q=query)
    assert (answer["results"], answer["partial"]) == ([], True)
    assert len(get(as_reader, q=query, cursor=answer["next"])["results"]) == 5
