"""The audit trail is narrowed by each of its fields, page by page, and exported as it is narrowed."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.http import QueryDict
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.audit import queries
from dlqadmin.audit.chain import seal_all
from dlqadmin.audit.entries import record
from dlqadmin.audit.entry_filters import EntryFilter, parse_filter
from dlqadmin.audit.models import AuditEntry
from dlqadmin.rest.pagination import encode_cursor
from dlqadmin.rest.problems import ParameterError

pytestmark = pytest.mark.sql

SECRET = "Zx9secret4711"


@pytest.fixture
def trail(db: None) -> None:
    """One entry of each sort, by three actors."""
    AuditEntry.objects.all().delete()
    record("ada", "approve", "replay", "R-12", {"said": "approved: checked by hand", "reason": "checked by hand"})
    record("ada", "resolved", "group", "7", {"text": "resolved: fixed upstream"})
    record("bob", "pause connector", "connector", "usgs-to-sql", {"reason": "Table is locked", "outcome": "accepted"})
    record("bob", "restart task", "connector", "usgs-to-sql-0", {"reason": "", "outcome": "refused: no such task"})
    record("bob", "stop connector", "connector", "a/b", {"reason": "", "outcome": "unknown: timed out"})
    record("", "sign-in failed", "session", "ada", {"door": "/api/v1/session"})
    record("bob", "read payload", "dead letter", "t / 0 / 9", {"id": 9, "what": "record"})
    record("bob", "froze", "selection", "S-3", {"filter": f"key={SECRET}"})


def actions(client: APIClient, **wanted: str) -> list[str]:
    response = client.get("/api/v1/audit", wanted)
    assert response.status_code == 200, response.content
    return [row["action"] for row in response.json()["results"]]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"actor": "ada"}, ["resolved", "approve"]),
        ({"action": "approve"}, ["approve"]),
        ({"type": "connector"}, ["stop connector", "restart task", "pause connector"]),
        ({"type": "replay", "object": "R-12"}, ["approve"]),
        ({"object": "R-1"}, []),
        ({"outcome": "failed"}, ["sign-in failed"]),
        ({"outcome": "refused"}, ["restart task"]),
        ({"outcome": "unknown"}, ["stop connector"]),
        ({"outcome": "done", "type": "connector"}, ["pause connector"]),
        ({"text": "LOCKED"}, ["pause connector"]),
        ({"text": "approved replay r-12"}, ["approve"]),
        ({"text": "fixed upstream", "actor": "bob"}, []),
        ({"reads": "false", "actor": "bob"}, ["froze", "stop connector", "restart task", "pause connector"]),
        ({"reads": "false", "action": "read payload"}, ["read payload"]),
        ({"to": "now-1h"}, []),
        ({"from": "now-1h", "action": "froze"}, ["froze"]),
        ({"actor": "nobody\0"}, []),
    ],
)
def test_each_filter_narrows_the_list(
    trail: None, as_viewer: APIClient, wanted: dict[str, str], found: list[str]
) -> None:
    assert actions(as_viewer, **wanted) == found


@pytest.mark.parametrize(
    ("query", "parameter"),
    [("outcome=good", "outcome"), ("reads=no", "reads"), ("from=soon", "from"), ("from=now&to=now-1d", "from"),
     (f"text={'x' * 301}", "text")],
)  # fmt: skip
def test_a_filter_that_is_none_is_refused_by_its_name(query: str, parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_filter(QueryDict(query), timezone.now())
    assert list(refused.value.detail) == [parameter]


def test_a_search_finds_no_text_that_is_withheld_from_the_reader(
    trail: None, as_viewer: APIClient, as_reader: APIClient
) -> None:
    record("ada", "created", "user", "eve", {"before": SECRET})
    record("ada", "changed", "user", "eve", {"why": SECRET})
    assert actions(as_viewer, text=SECRET) == []
    assert actions(as_reader, text=SECRET) == ["changed", "created"]


def test_pages_of_entries_of_one_moment_lose_and_repeat_none(db: None, as_viewer: APIClient) -> None:
    AuditEntry.objects.all().delete()
    at = datetime(2026, 11, 20, 12, 0, 0, 5, tzinfo=UTC)
    for number in range(7):
        AuditEntry.objects.create(at=at, actor="a", action="did", object_type="t", object_id=f"{number}", digest="0")
    seen, cursor = [], ""
    for _ in range(4):
        page = as_viewer.get("/api/v1/audit", {"limit": "2", "text": "did", "cursor": cursor}).json()
        seen += [row["object_id"] for row in page["results"]]
        cursor = page["next"]
    assert seen == [f"{number}" for number in reversed(range(7))]
    assert cursor is None


def test_a_cursor_of_something_else_is_refused(as_viewer: APIClient) -> None:
    for cursor in ("x", encode_cursor([5]), encode_cursor(["soon", 5])):
        assert as_viewer.get("/api/v1/audit", {"cursor": cursor}).status_code == 400


def test_a_search_stops_after_some_entries_and_goes_on_from_there(
    db: None, as_viewer: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "SLICE", 2)
    monkeypatch.setattr(queries, "SCANNED", 4)
    AuditEntry.objects.all().delete()
    for number in range(9):
        record("a", "did", "t", f"{number}")
    first = as_viewer.get("/api/v1/audit", {"text": "did t 0"}).json()
    assert first["results"] == []
    assert first["searched_to"] is not None
    second = as_viewer.get("/api/v1/audit", {"text": "did t 0", "cursor": first["next"]}).json()
    third = as_viewer.get("/api/v1/audit", {"text": "did t 0", "cursor": second["next"]}).json()
    assert [row["object_id"] for row in third["results"]] == ["0"]
    assert (third["next"], third["searched_to"]) == (None, None)


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (EntryFilter(), "audit_by_time"),
        (EntryFilter(start=datetime(2026, 1, 1, tzinfo=UTC)), "audit_by_time"),
        (EntryFilter(reads=False), "audit_without_reads"),
        (EntryFilter(actor="ada"), "audit_by_actor"),
        (EntryFilter(action="approve"), "audit_by_action"),
        (EntryFilter(type="replay"), "audit_by_type"),
        (EntryFilter(object="R-12"), "audit_by_object"),
    ],
)
def test_each_filter_is_served_by_an_index_without_a_sort(db: None, wanted: EntryFilter, index: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads a small table as a whole")
    plan = wanted.query().order_by("-at", "-id")[:10].explain()
    assert index in plan
    assert "TEMP B-TREE" not in plan


def test_the_options_are_what_the_trail_contains(trail: None, as_viewer: APIClient) -> None:
    found = as_viewer.get("/api/v1/audit/options").json()
    assert found["actors"] == ["ada", "bob"]
    assert found["types"] == ["connector", "dead letter", "group", "replay", "selection", "session"]
    assert {"approve", "read payload", "sign-in failed"} <= set(found["actions"])


def test_an_empty_trail_has_no_options(as_viewer: APIClient) -> None:
    AuditEntry.objects.all().delete()
    assert as_viewer.get("/api/v1/audit/options").json() == {"actors": [], "actions": [], "types": []}


def test_an_entry_links_to_the_screen_of_its_object(trail: None, as_viewer: APIClient) -> None:
    record("ada", "started", "bulk fix", "B-4")
    record("ada", "export", "export", "E-5")
    record("ada", "saved draft", "fix", "F-6", {"dead_letter": 31})
    record("ada", "changed", "cluster", "east")
    record("ada", "changed", "group", "12")  # a group of users, from before these were called roles
    record("ada", "created", "user", "eve")
    rows = as_viewer.get("/api/v1/audit").json()["results"]
    assert {(row["object"], row["href"]) for row in rows} == {
        ("replay R-12", "/replays/12"),
        ("group 7", "/groups/7"),
        ("group 12", None),
        ("connector usgs-to-sql", "/connectors/usgs-to-sql"),
        ("connector usgs-to-sql-0", "/connectors/usgs-to-sql"),
        ("connector a/b", "/connectors/a%2Fb"),
        ("dead letter t / 0 / 9", "/records/9"),
        ("fix F-6", "/records/31"),
        ("bulk fix B-4", "/bulk-fixes/4"),
        ("export E-5", "/exports"),
        ("cluster east", "/settings/clusters"),
        ("session ada", None),
        ("selection S-3", None),
        ("user eve", None),
    }


def test_a_sentence_says_what_was_done_and_the_reason_stands_beside_it(trail: None, as_viewer: APIClient) -> None:
    rows = {row["action"]: row for row in as_viewer.get("/api/v1/audit").json()["results"]}
    assert rows["approve"]["sentence"] == "approved replay R-12"
    assert rows["approve"]["reason"] == "checked by hand"
    assert rows["resolved"]["sentence"] == "resolved group 7: fixed upstream"
    assert rows["restart task"]["sentence"] == "restarted task usgs-to-sql-0: refused: no such task"
    assert rows["read payload"]["sentence"] == "read dead letter t / 0 / 9: record"
    assert rows["froze"]["sentence"] == "froze selection S-3"


def exported(client: APIClient, **wanted: str) -> tuple[Any, str]:
    response: Any = client.get("/api/v1/audit/export", wanted)  # Django's types don't know that it streams

    async def read() -> bytes:
        return b"".join([page async for page in response.streaming_content])

    return response, async_to_sync(read)().decode()


def test_the_filter_of_the_list_narrows_the_export(trail: None, as_operator: APIClient) -> None:
    seal_all()
    response, body = exported(as_operator, type="connector", outcome="refused", text="usgs")
    assert [json.loads(line)["action"] for line in body.splitlines()] == ["restart task"]
    assert response["Content-Disposition"].endswith('.ndjson"')
    entry = AuditEntry.objects.latest("id")
    assert entry.detail == {"type": "connector", "outcome": "refused", "query": "usgs", "format": "ndjson"}


def test_an_export_as_csv_has_sentences_and_runs_no_formula(trail: None, as_operator: APIClient) -> None:
    record("=cmd()", "resolved", "group", "8", {"text": "resolved", "reason": "+1"})
    response, body = exported(as_operator, type="group", format="csv")
    assert response["Content-Type"].startswith("text/csv")
    first, second = csv.DictReader(io.StringIO(body, newline=""))
    assert (first["actor"], first["sentence"]) == ("ada", "resolved group 7: fixed upstream")
    assert (second["actor"], second["reason"]) == ("'=cmd()", "'+1")
    assert json.loads(second["detail"]) == {"text": "resolved", "reason": "+1"}
    assert as_operator.get("/api/v1/audit/export", {"format": "parquet"}).status_code == 400


def test_a_page_begins_at_its_time_range(db: None, as_viewer: APIClient) -> None:
    AuditEntry.objects.all().delete()
    now = timezone.now()
    for days in range(5):
        AuditEntry.objects.create(
            at=now - timedelta(days=days, minutes=1),
            actor="a",
            action=f"{days}",
            object_type="t",
            object_id="1",
            digest="0",
        )
    assert actions(as_viewer, **{"from": "now-3d", "to": "now-1d"}) == ["1", "2"]
