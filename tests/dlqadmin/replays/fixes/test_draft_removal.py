"""Names and pages of bulk fixes, and discarding many drafts at once."""

from __future__ import annotations

import base64

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.replays.fixes import bulk_fixes, bulk_views, draft_removal
from dlqadmin.replays.models import BulkFix, Fix
from dlqadmin.replays.selections import frozen_selections
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.replays.fixes.making import API, post, selected

pytestmark = pytest.mark.django_db

PROGRAM = '[{"act":"set","path":"gap","when":"null","value":0}]'


def made(client: APIClient, name: str = "") -> int:
    body = {"selection": selected(client), "kind": "fields", "program": PROGRAM, "name": name}
    return int(post(client, "bulk-fixes", body)["id"])


def run(pk: int) -> None:
    bulk_fixes.go_on(BulkFix.objects.get(pk=pk), frozen_selections.rows, timezone.now)


def edit(client: APIClient, letter: int) -> None:
    page = client.get(f"{API}/dead-letters/{letter}/fix").json()
    base = page["draft"]["updated_at"] if page["draft"] else None
    body = {"value": {"base64": base64.b64encode(b"mine").decode()}, "base_updated_at": base}
    assert client.put(f"{API}/dead-letters/{letter}/fix", body).status_code == 200


def test_a_bulk_fix_has_a_name_that_its_author_can_change(as_operator: APIClient, indexed: list[int]) -> None:
    pk = made(as_operator, "Fill gap")
    assert as_operator.get(f"{API}/bulk-fixes/{pk}").json()["name"] == "Fill gap"
    answer = as_operator.patch(f"{API}/bulk-fixes/{pk}", {"name": "Fill gap and nst"})
    assert (answer.status_code, answer.json()["name"]) == (200, "Fill gap and nst")
    other = signed_in(person("other", "operator"))
    assert other.patch(f"{API}/bulk-fixes/{pk}", {"name": "x"}).status_code == 409
    assert as_operator.get(f"{API}/bulk-fixes").json()["results"][0]["name"] == "Fill gap and nst"
    assert AuditEntry.objects.get(action="renamed").detail == {"from": "Fill gap", "to": "Fill gap and nst"}


def test_bulk_fixes_are_listed_in_pages(
    as_operator: APIClient, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_views, "MOST", 2)
    pks = [made(as_operator) for _ in range(3)]
    other = signed_in(person("other", "operator"))
    first = other.get(f"{API}/bulk-fixes").json()
    second = other.get(f"{API}/bulk-fixes", {"cursor": first["next"]}).json()
    assert [row["id"] for row in [*first["results"], *second["results"]]] == pks[::-1]
    assert second["next"] is None
    assert other.get(f"{API}/bulk-fixes", {"mine": "true"}).json() == {"results": [], "next": None}
    assert other.get(f"{API}/bulk-fixes", {"cursor": "x"}).status_code == 400


@pytest.mark.sql
def test_the_drafts_of_a_bulk_fix_are_discarded_but_not_others(as_operator: APIClient, indexed: list[int]) -> None:
    pk = made(as_operator)
    assert "running" in post(as_operator, "fixes/discard", {"bulk_fix": pk}, 409)["detail"]
    run(pk)
    edit(as_operator, indexed[0])
    other = signed_in(person("other", "operator"))
    post(other, "fixes/discard", {"bulk_fix": pk}, 409)
    assert post(as_operator, "fixes/discard", {"bulk_fix": pk}, 200) == {"discarded": 29, "left": 0}
    assert list(Fix.objects.values_list("dead_letter", flat=True)) == [indexed[0]]
    assert AuditEntry.objects.get(action="discarded drafts").detail == {"drafts": 29}


@pytest.mark.sql
def test_the_own_drafts_of_a_selection_are_discarded(as_operator: APIClient, indexed: list[int]) -> None:
    run(made(as_operator))
    edit(as_operator, indexed[35])
    other = signed_in(person("other", "operator"))
    edit(other, indexed[35])
    few = int(post(as_operator, "selections", {"ids": [indexed[0], indexed[35], indexed[36]]})["id"])
    assert as_operator.get(f"{API}/fixes", {"selection": few}).json()["count"] == 2
    assert post(as_operator, "fixes/discard", {"selection": few}, 200) == {"discarded": 2, "left": 0}
    assert (Fix.objects.count(), Fix.objects.filter(author__username="other").count()) == (30, 1)


def test_a_large_discard_says_how_many_are_left(
    as_operator: APIClient, indexed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(pk := made(as_operator))
    monkeypatch.setattr(draft_removal, "PARAMETERS", 20)
    monkeypatch.setattr(draft_removal, "REMOVE_S", 0.0)
    assert post(as_operator, "fixes/discard", {"bulk_fix": pk}, 200) == {"discarded": 20, "left": 10}


@pytest.mark.parametrize("body", [{}, {"bulk_fix": 1, "selection": 1}, {"bulk_fix": 999}, {"selection": 999}])
def test_what_is_discarded_must_be_named(as_operator: APIClient, indexed: list[int], body: dict[str, int]) -> None:
    post(as_operator, "fixes/discard", body, 400)


def test_drafts_made_by_hand_are_listed_alone(as_operator: APIClient, indexed: list[int]) -> None:
    run(pk := made(as_operator))
    edit(as_operator, indexed[0])
    whole = as_operator.get(f"{API}/fixes").json()
    assert (whole["count"], {row["bulk_fix"] for row in whole["results"]}) == (30, {None, pk})
    alone = as_operator.get(f"{API}/fixes", {"by_hand": "true"}).json()
    assert (alone["count"], [row["dead_letter"]["id"] for row in alone["results"]]) == (1, [indexed[0]])
