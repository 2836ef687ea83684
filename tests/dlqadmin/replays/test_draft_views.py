"""Drafts over HTTP: their bytes, and whose they are."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import index_one, letter
from tests.dlqadmin.replays.asking import API, get, nth, planned

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_a_draft_keeps_bytes_exactly_and_parts_left_out_stay(as_operator: APIClient) -> None:
    row = index_one(letter(1, key=b"\xff", value=b"{'a'", headers=(("h", None), ("h", b""), ("dlq.replay.id", b"x"))))
    path = f"dead-letters/{row.pk}/fix"
    before = get(as_operator, path)
    assert before["original"]["headers"] == [
        {"name": "h", "value": {"base64": None, "size": None, "masked": False, "masked_members": []}},
        {"name": "h", "value": {"base64": "", "size": 0, "masked": False, "masked_members": []}},
    ]
    assert "dlq.replay.id" in before["stripped"]
    value = base64.b64encode(b'{"a": 9007199254740993}\r\n').decode()
    saved = as_operator.put(f"{API}/{path}", {"value": {"base64": value}}).json()
    assert (saved["value"]["base64"], saved["key"]["base64"], saved["identical"]) == (value, "/w==", False)
    assert saved["headers"] == before["original"]["headers"]
    assert get(as_operator, path)["draft"] == saved
    assert get(as_operator, "fixes")["results"][0]["dead_letter"]["id"] == row.pk


def test_a_draft_changed_in_another_window_is_not_written_over(as_operator: APIClient, indexed: None) -> None:
    url = f"{API}/dead-letters/{nth(1)}/fix"
    first = as_operator.put(url, {"value": {"base64": "AAA="}, "base_updated_at": None})
    base = first.json()["updated_at"]
    second = as_operator.put(url, {"value": {"base64": "AQE="}, "base_updated_at": base})
    assert (first.status_code, second.status_code) == (200, 200)
    stale = as_operator.put(url, {"value": {"base64": "AgI="}, "base_updated_at": base})
    assert (stale.status_code, stale["Content-Type"]) == (409, "application/problem+json")
    assert get(as_operator, f"dead-letters/{nth(1)}/fix")["draft"]["value"]["base64"] == "AQE="


def test_each_person_has_a_draft_and_is_told_of_others(as_operator: APIClient, indexed: None) -> None:
    as_operator.put(f"{API}/dead-letters/{nth(1)}/fix", {"key": {"base64": None}})
    other = get(signed_in(person("operator-2", "operator")), f"dead-letters/{nth(1)}/fix")
    assert (other["draft"], [row["author"] for row in other["others"]]) == (None, ["operator-1"])
    assert as_operator.delete(f"{API}/dead-letters/{nth(1)}/fix").status_code == 204
    assert get(as_operator, f"dead-letters/{nth(1)}/fix")["draft"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"value": {"base64": "?"}}, {"value": "AAA="}, {"value": {}}, {"key": {"base64": 7}},
        {"headers": [{"name": "dlq.replay.id", "value": {"base64": ""}}]}, {"headers": [{"name": "h"}]},
        {"base_updated_at": "soon"},
    ],
)  # fmt: skip
def test_a_draft_that_is_no_message_is_refused(as_operator: APIClient, indexed: None, body: Any) -> None:
    assert as_operator.put(f"{API}/dead-letters/{nth(1)}/fix", body).status_code == 400


def test_every_write_is_audited_with_digests(as_operator: APIClient, indexed: None) -> None:
    as_operator.put(f"{API}/dead-letters/{nth(1)}/fix", {"key": {"base64": None}})
    planned(as_operator)
    entries = {entry.action: entry.detail for entry in AuditEntry.objects.all()}
    assert {len(entries["saved draft"][name]) for name in ("before", "after")} == {64}
    assert len(entries["froze"]["digest"]) == 64
    assert len(entries["planned"]["plan_digest"]) == 64
