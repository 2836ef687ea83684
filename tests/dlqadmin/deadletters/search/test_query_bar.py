"""What the query bar asks: suggestions and saved searches."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.index.word_index import write_queued_words
from dlqadmin.deadletters.models import Group, SavedSearch
from dlqadmin.deadletters.search import alternatives, value_paths
from dlqadmin.exports.models import Export
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import ALL, BAD_JSON, NOW, NOW_MS, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SAVED = "/api/v1/saved-searches"


@pytest.fixture
def indexed() -> None:
    index(
        [
            letter(0),
            letter(1, topic="orders.dlq", connector="a b"),
            letter(2, message=BAD_JSON, exception="orjson.JSONDecodeError", stage="VALUE_CONVERTER"),
        ]
    )


def suggested(client: APIClient, text: str, at: int | None = None) -> tuple[int, int, list[str]]:
    response = client.get("/api/v1/dead-letters/complete", {"q": text, **({} if at is None else {"at": str(at)})})
    assert response.status_code == 200, response.content
    found = response.json()
    return found["start"], found["end"], [item["text"] for item in found["items"]]


@pytest.mark.parametrize(
    ("text", "start", "items"),
    [
        ("st", 0, ["stage:"]),
        ("-ex", 1, ["exception:"]),
        ("a origin_", 2, ["origin_topic:"]),
        ("dlq_", 0, ["dlq_partition:", "dlq_offset:"]),
        ("(st", 1, ["stage:"]),
        ("a OR -((-ex", 9, ["exception:"]),
        ("(topic:us", 7, ["usgs.earthquakes.dlq"]),
        ("val", 0, ["value."]),
        ("topic:", 6, ["orders.dlq", "usgs.earthquakes.dlq"]),
        ("topic:USGS", 6, ["usgs.earthquakes.dlq"]),
        ("x topic:orders.dlq,us", 19, ["usgs.earthquakes.dlq"]),
        ("stage:", 6, ["TASK_PUT", "VALUE_CONVERTER"]),
        ("exception:decode", 10, ["JSONDecodeError"]),
        ('connector:"a', 10, ['"a b"']),
        ("origin_topic:u", 13, ["usgs.earthquakes"]),
        ("is:u", 3, ["unreadable"]),
        ("replay:failed", 7, ["failed_again"]),
        ("after:-1", 6, ["-15m", "-1h"]),
        ("nothing:", 8, []),
        ("key:x", 4, []),
        ("value.a:", 8, []),
        ('"an open phrase st', 0, []),
    ],
)
def test_what_may_stand_at_the_cursor(
    as_reader: APIClient, indexed: None, text: str, start: int, items: list[str]
) -> None:
    assert suggested(as_reader, text) == (start, len(text), items)


def test_an_empty_bar_suggests_every_field(as_reader: APIClient) -> None:
    start, end, items = suggested(as_reader, "")
    assert (start, end) == (0, 0)
    assert {"topic:", "stage:", "value.", "header.", "after:"} <= set(items)


def test_only_what_is_before_the_cursor_counts(as_reader: APIClient, indexed: None) -> None:
    assert suggested(as_reader, "stage:TA topic:x", 8) == (6, 8, ["TASK_PUT"])


def test_a_group_is_suggested_by_a_part_of_its_title(as_reader: APIClient, indexed: None) -> None:
    of_two_connectors = [str(pk) for pk in Group.objects.filter(title__contains="gap").values_list("pk", flat=True)]
    assert len(of_two_connectors) == 2
    start, end, found = suggested(as_reader, "group:gap")
    assert (start, end, sorted(found)) == (6, 9, sorted(of_two_connectors))
    assert of_two_connectors[0] in suggested(as_reader, f"group:{of_two_connectors[0]}")[2]


@pytest.mark.parametrize("text", ["topic:", "exception:x", "group:g", "stage:", "connector:"])
def test_a_suggestion_reads_no_dead_letter(as_reader: APIClient, indexed: None, text: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        suggested(as_reader, text)
    assert not [query["sql"] for query in queries.captured_queries if '"deadletters_deadletter"' in query["sql"]]


def test_members_of_recent_values_complete_a_path(as_reader: APIClient, as_viewer: APIClient) -> None:
    index([letter(0, value=b'{"user": {"id": 1, "a b": 1}, "items": [{"Sku": 1}, {"Sku": 2}]}')])
    index([letter(1, value=b'{"user": {"id": null}}'), letter(2, value=b"no json"), letter(3, value=None)])
    index([letter(4, value=b'{"large": "%s"}' % (b"x" * value_paths.MAX_VALUE_BYTES))])
    assert suggested(as_reader, "a value.") == (
        2,
        8,
        ["value.user.id:", "value.items.Sku:", 'value.user."a b":'],
    )
    assert suggested(as_reader, "-value.items.s")[2] == ["value.items.Sku:"]
    assert suggested(as_viewer, "value.") == (0, 6, ["value."])
    assert AuditEntry.objects.filter(action="read payload", object_id="names of members").count() == 1


def test_members_are_sampled_from_the_newest_values(as_reader: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    index([letter(0, value=b'{"old": 1}', at_ms=NOW_MS - 5), letter(1, value=b'{"new": 1}')])
    monkeypatch.setattr(value_paths, "SAMPLE", 1)
    assert suggested(as_reader, "value.")[2] == ["value.new:"]


@pytest.mark.parametrize("at", ["-1", "x", "٣", "9999999"])
def test_a_cursor_is_a_number(as_reader: APIClient, at: str) -> None:
    assert as_reader.get("/api/v1/dead-letters/complete", {"q": "a", "at": at}).status_code == 400


def save(client: APIClient, **form: Any) -> Any:
    return client.post(SAVED, {"name": "puts", "query": "stage:TASK_PUT", **form})


def names(client: APIClient) -> list[tuple[str, bool]]:
    return [(row["name"], row["mine"]) for row in client.get(SAVED).json()["results"]]


def test_a_search_is_kept_for_oneself_until_it_is_shared(as_operator: APIClient, as_reader: APIClient) -> None:
    saved = save(as_operator)
    assert (saved.status_code, saved.json()["shared"]) == (201, False)
    assert (names(as_operator), names(as_reader)) == ([("puts", True)], [])
    form = {"name": "all puts", "query": "stage:TASK_PUT after:-6h", "shared": True}
    assert as_operator.put(f"{SAVED}/{saved.json()['id']}", form).status_code == 200
    assert names(as_reader) == [("all puts", False)]
    assert as_operator.delete(f"{SAVED}/{saved.json()['id']}").status_code == 204
    assert names(as_operator) == []
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["saved", "changed", "deleted"]


def test_a_search_that_is_none_is_not_kept(as_operator: APIClient) -> None:
    answer = save(as_operator, query="stag:x")
    assert (answer.status_code, answer.json()["at"]) == (400, {"start": 0, "end": 4})
    assert not SavedSearch.objects.exists()


def test_a_name_is_taken_once_by_each(as_operator: APIClient) -> None:
    save(as_operator)
    assert save(as_operator).status_code == 409
    assert SavedSearch.objects.count() == 1


def test_a_shared_search_is_its_owners_to_change(as_operator: APIClient, operator: Any) -> None:
    shared = save(as_operator, shared=True).json()
    other = signed_in(person("operator-2", "operator"))
    assert other.delete(f"{SAVED}/{shared['id']}").status_code == 404
    assert names(other) == [("puts", False)]


def test_viewers_and_read_only_clusters_keep_nothing(
    as_reader: APIClient, as_operator: APIClient, settings: Settings
) -> None:
    assert save(as_reader).status_code == 403
    settings.READ_ONLY = True
    assert save(as_operator).status_code == 403
    assert as_operator.get(SAVED).status_code == 200


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("key:ci378681", {"query": "key:ci378681*", "count": 3, "exact": True}),
        (
            'key:"ci378681",x topic:orders.dlq',
            {"query": 'key:"ci378681"*,x* topic:orders.dlq', "count": 1, "exact": True},
        ),
        ("ci378681", {"query": "ci378681*", "count": 3, "exact": True}),
        ("-connector:a message:unexp", {"query": "-connector:a message:unexp*", "count": 1, "exact": True}),
        ("key:zz", None),
        ("stage:NONE", None),
        ("-key:ci37868135 key:ci3786813*", None),
        ("key:ci378681 value.mag:1.6", None),
        ('"unexp"', None),
        ("key:ci37868135", None),
    ],
)
def test_a_search_that_finds_nothing_offers_a_wider_one(
    as_reader: APIClient, indexed: None, query: str, found: dict[str, Any] | None
) -> None:
    while write_queued_words():
        pass
    assert as_reader.get("/api/v1/dead-letters", {**ALL, "q": query}).json()["alternative"] == found


def test_a_wider_search_is_counted_up_to_a_limit(
    as_reader: APIClient, indexed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    while write_queued_words():
        pass
    monkeypatch.setattr(alternatives, "MOST", 2)
    found = as_reader.get("/api/v1/dead-letters", {**ALL, "q": "key:ci378681"}).json()["alternative"]
    assert (found["count"], found["exact"]) == (2, False)


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("offset:>7 -partition:3", "dlq_offset:>7 -dlq_partition:3"),
        ("origin_offset:7 stage:A", "origin_offset:7 stage:A"),
        ('"a offset:7" key:"partition:1"  x', '"a offset:7" key:"partition:1"  x'),
        ("offset:", "offset:"),
    ],
)
def test_a_stored_query_keeps_the_coordinates_that_it_meant(operator: Any, former: str, present: str) -> None:
    migration = import_module("dlqadmin.deadletters.migrations.0016_own_coordinates")
    saved = SavedSearch.objects.create(owner=operator, created_at=NOW, name="a", query=former)
    address = QueryDict(mutable=True)
    address["q"] = former
    export = Export.objects.create(created_at=NOW, format="csv", query=address.urlencode(), filters={}, watermark=0)
    migration.forwards(apps, None)
    saved.refresh_from_db()
    export.refresh_from_db()
    assert (saved.query, QueryDict(export.query)["q"]) == (present, present)
    migration.backwards(apps, None)
    saved.refresh_from_db()
    assert saved.query == former
