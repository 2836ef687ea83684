from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.group_states import state
from dlqadmin.deadletters.models import Group
from tests.dlqadmin.deadletters.letters import ALL, GAP, HOUR_MS, NOW, NOW_MS, NST, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
GROUPS = "/api/v1/groups"


@pytest.fixture
def indexed() -> None:
    index(
        [letter(n, partition=n % 2, at_ms=NOW_MS - n * HOUR_MS, key=b"k%d" % (n % 7)) for n in range(30)]
        + [letter(100 + n, message=NST, at_ms=NOW_MS - HOUR_MS // 2) for n in range(5)]
    )


def get(client: APIClient, path: str = GROUPS, **params: Any) -> Any:
    response = client.get(path, {**ALL, **params})
    assert response.status_code == 200, response.content
    return response.json()


def test_groups_are_counted_exactly(as_viewer: APIClient, indexed: None) -> None:
    answer = get(as_viewer, sort="events")
    assert [(row["title"], row["events"], row["keys"]) for row in answer["results"]] == [
        ("IntegrityError: earthquakes.gap is null", 30, 7),
        ("IntegrityError: earthquakes.nst is null", 5, 1),
    ]
    assert (answer["total_records"], answer["counts"]["unresolved"], answer["exact"]) == (35, 2, True)


def test_a_sparkline_adds_up_to_the_events(as_viewer: APIClient, indexed: None) -> None:
    row = get(as_viewer, sort="events")["results"][0]
    assert sum(row["sparkline"]["points"]) == row["events"] == 30
    assert row["sparkline"]["bucket_ms"] == 6 * HOUR_MS


def test_a_time_range_counts_to_the_millisecond(as_viewer: APIClient, indexed: None) -> None:
    answer = get(as_viewer, **{"from": "2026-11-20T03:12:30.001Z", "sort": "events"})
    assert [row["events"] for row in answer["results"]] == [24, 5]


@pytest.mark.parametrize(
    ("query", "events"),
    [
        ("value.mag:1.6", [30, 5]),
        ("value.mag:2", []),
        ("key:k3", [4]),
        ("partition:1", [15]),
        ("(partition:1 OR key:k3)", [17]),
        ("replay:none connector:usgs-to-sql", [30, 5]),
    ],
)
def test_groups_are_found_by_any_query_with_the_number_of_their_matches(
    as_operator: APIClient, indexed: None, query: str, events: list[int]
) -> None:
    answer = get(as_operator, q=query, sort="events")
    assert [row["events"] for row in answer["results"]] == events
    assert (answer["of"], answer["exact"], answer["partial"]) == (sum(events), True, False)


def test_a_search_that_leaves_records_out_says_so(as_operator: APIClient) -> None:
    index([letter(1, value=b'{"mag": 1}'), letter(2, value=b'{"mag": "' + b"x" * 2**20 + b'"}')])
    answer = get(as_operator, q="value.mag:1")
    assert (answer["of"], answer["exact"]) == (1, False)


def test_groups_by_content_need_the_right_to_read_it(as_viewer: APIClient, indexed: None) -> None:
    assert as_viewer.get(GROUPS, {**ALL, "q": "value.mag:1.6"}).status_code == 403
    assert as_viewer.get(GROUPS, {**ALL, "q": "exception:"}).status_code == 400


def test_groups_come_in_pages(as_viewer: APIClient, indexed: None) -> None:
    first = get(as_viewer, limit=1)
    second = get(as_viewer, limit=1, cursor=first["next"])
    assert second["next"] is None
    found = {row["id"] for row in first["results"] + second["results"]}
    assert found == set(Group.objects.values_list("pk", flat=True))


def test_a_group_says_why_it_is_one_and_since_when(as_viewer: APIClient, indexed: None) -> None:
    group = Group.objects.get(title="IntegrityError: earthquakes.gap is null")
    answer = get(as_viewer, f"{GROUPS}/{group.pk}")
    [why] = answer["fingerprints"]
    assert (why["message"], why["holes"], why["events"]) == (GAP, [], 30)
    assert why["frame"] == "engine/connectors/sql/sink.py:put"
    assert answer["activity"][-1]["text"] == "first seen"


def test_a_group_is_resolved_once_and_re_opened(as_operator: APIClient, indexed: None) -> None:
    path = f"{GROUPS}/{Group.objects.earliest('pk').pk}"
    answer = as_operator.post(f"{path}/resolve", {"reason": "fixed upstream"}).json()
    assert (answer["state"], answer["activity"][0]["text"]) == ("resolved", "resolved: fixed upstream")
    assert as_operator.post(f"{path}/resolve", {}).status_code == 409
    assert get(as_operator, status="resolved")["counts"]["resolved"] == 1
    assert as_operator.post(f"{path}/reopen", {"reason": "not yet"}).json()["state"] != "resolved"
    assert [entry.action for entry in AuditEntry.objects.order_by("id")] == ["resolved", "reopened"]


def test_a_group_is_assigned_and_noted(as_operator: APIClient, indexed: None) -> None:
    path = f"{GROUPS}/{Group.objects.earliest('pk').pk}"
    assert as_operator.post(f"{path}/assign", {"username": "operator-1"}).json()["owner"] == "operator-1"
    assert as_operator.post(f"{path}/assign", {"username": None}).json()["owner"] is None
    assert as_operator.post(f"{path}/notes", {"text": "as agreed"}).json()["activity"][0]["text"] == "as agreed"
    assert AuditEntry.objects.count() == 3


def test_several_groups_are_resolved_assigned_and_re_opened_at_once(as_operator: APIClient, indexed: None) -> None:
    ids = sorted(Group.objects.values_list("pk", flat=True))
    as_operator.post(f"{GROUPS}/{ids[0]}/resolve", {})
    for act, changed, body in (("resolve", 1, {}), ("assign", 2, {"username": "operator-1"}), ("reopen", 2, {})):
        answer = as_operator.post(f"{GROUPS}/{act}", {"groups": ids, "reason": "", **body}, format="json")
        assert answer.json() == {"changed": changed}
    rows = Group.objects.select_related("owner").order_by("pk")
    assert [(row.status, str(row.owner)) for row in rows] == [("open", "operator-1")] * 2
    assert AuditEntry.objects.count() == 6


@pytest.mark.parametrize(
    ("act", "body", "parameter"),
    [
        ("assign", {"username": "nobody"}, "username"),
        ("assign", {}, "username"),
        ("notes", {}, "text"),
        ("notes", {"text": ""}, "text"),
        ("notes", {"text": "a\0b"}, "text"),
        ("resolve", {"reason": 5 * ["x"]}, "reason"),
        ("resolve", {"reason": "x" * 3000}, "reason"),
    ],
)
def test_a_wrong_body_is_named_in_a_problem(
    as_operator: APIClient, indexed: None, act: str, body: dict[str, Any], parameter: str
) -> None:
    response = as_operator.post(f"{GROUPS}/{Group.objects.earliest('pk').pk}/{act}", body)
    assert response.status_code == 400
    assert next(row["parameter"] for row in response.json()["errors"]) == parameter
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("parameter", [("status", "gone"), ("sort", "name"), ("cursor", "WyJ4Il0")])
def test_a_wrong_parameter_is_named(as_reader: APIClient, parameter: tuple[str, str]) -> None:
    response = as_reader.get(GROUPS, dict([parameter]))
    assert response.status_code == 400
    assert response.json()["errors"][0]["parameter"] == parameter[0]


@pytest.mark.parametrize("act", ["resolve", "reopen", "assign", "notes"])
def test_viewers_change_nothing(as_viewer: APIClient, indexed: None, act: str) -> None:
    response = as_viewer.post(f"{GROUPS}/{Group.objects.earliest('pk').pk}/{act}", {})
    assert (response.status_code, response["Content-Type"]) == (403, "application/problem+json")


@pytest.mark.parametrize("act", ["", "/resolve", "/assign"])
def test_a_group_that_is_not_there_is_a_404(as_operator: APIClient, act: str) -> None:
    send = as_operator.post if act else as_operator.get
    assert send(f"{GROUPS}/{2**63}{act}").status_code == 404


@pytest.mark.parametrize(
    ("facts", "last_hour", "day_before", "word"),
    [
        ({"first_seen": NOW - timedelta(hours=23)}, 100, 0, "new"),
        ({}, 5, 1000, "ongoing"),
        ({}, 30, 240, "escalating"),
        ({}, 29, 240, "ongoing"),
        ({}, 9, 0, "ongoing"),
        ({"regressed_at": NOW}, 100, 0, "regressed"),
        ({"status": "muted", "regressed_at": NOW}, 100, 0, "muted"),
        ({"status": "resolved"}, 100, 0, "resolved"),
    ],
)
def test_the_state_of_a_group(facts: dict[str, Any], last_hour: int, day_before: int, word: str) -> None:
    group = Group(**{"first_seen": NOW - timedelta(days=3), "last_seen": NOW, **facts})
    assert state(group, NOW, last_hour, day_before) == word


def test_a_mute_whose_time_has_come_is_over() -> None:
    facts = {"first_seen": NOW - timedelta(days=3), "last_seen": NOW, "status": "muted", "mute_until": NOW}
    assert state(Group(**facts), NOW, 0, 0) == "ongoing"
    assert state(Group(**facts), NOW - timedelta(seconds=1), 0, 0) == "muted"


def test_what_failed_in_the_last_five_minutes_is_now(as_viewer: APIClient) -> None:
    now_ms = int(timezone.now().timestamp() * 1000)
    index([letter(1, at_ms=now_ms - 1000), letter(2, at_ms=now_ms - 600_000)], timezone.now())
    row = as_viewer.get(GROUPS).json()["results"][0]
    assert (row["now"], row["now_exact"], row["events"], row["events_24h"], row["state"]) == (1, True, 2, 2, "new")


def test_keys_are_those_of_the_topics_asked_for(as_viewer: APIClient) -> None:
    index([letter(n, topic="a.dlq", key=b"k%d" % n) for n in range(3)] + [letter(1, topic="b.dlq")])
    [row] = get(as_viewer, topic="a.dlq")["results"]
    assert (row["events"], row["keys"], row["keys_exact"]) == (3, 3, True)


def test_a_list_of_many_groups_takes_as_many_queries_as_one_of_two(as_viewer: APIClient) -> None:
    index([letter(1, message="a"), letter(2, message="b")])
    with CaptureQueriesContext(connection) as two:
        get(as_viewer)
    index([letter(10 + n, message=f"broken {chr(97 + n)}") for n in range(20)])
    with CaptureQueriesContext(connection) as many:
        assert len(get(as_viewer)["results"]) == 22
    assert len(many) == len(two)


def test_of_a_large_group_a_lower_bound_is_shown_and_called_one(as_viewer: APIClient) -> None:
    index([letter(n, key=b"k%d" % n, at_ms=NOW_MS - n) for n in range(1100)] + [letter(2000, message=NST)])
    large, small = get(as_viewer, sort="events")["results"]
    assert (large["events"], large["keys"], large["keys_exact"]) == (1100, 1001, False)
    assert (small["events"], small["keys"], small["keys_exact"]) == (1, 1, True)
