from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.overview import dismissals
from dlqadmin.overview.dismissals import end_of, split
from dlqadmin.overview.findings import Finding
from dlqadmin.overview.models import Dismissal
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.metrics.test_errors import fail, group
from tests.dlqadmin.overview.world import NOW

HOUR = timedelta(hours=1)
FINDING = Finding("new", "7", "gap is null", "", NOW, "/", count=10, failed_at=NOW, active_at=NOW)
URL = "/api/v1/metrics/attention"


def dismissal(until: datetime | None = NOW + 8 * HOUR, **more: Any) -> Dismissal:
    measures = {"count": 10, "level": 0, "failed_at": NOW, "at": NOW, **more}
    return Dismissal(finding=FINDING.id, kind="new", title="gap is null", reason="r", until=until, **measures)


@pytest.mark.parametrize(
    ("until", "changed", "minutes", "expected"),
    [
        (8, {}, 60, None),
        (8, {}, 480, "over"),
        (8, {"count": 14}, 60, None),
        (8, {"count": 15}, 60, "worse"),
        (8, {"count": 3}, 60, None),
        (8, {"level": 1}, 60, "worse"),
        (8, {"failed_at": NOW + HOUR}, 60, "worse"),
        (8, {"failed_at": None}, 60, None),
        (8, {"active_at": NOW + HOUR}, 60, None),
        (None, {}, 60_000, None),
        (None, {"count": 11}, 60, "changed"),
        (None, {"count": 9}, 60, None),
        (None, {"active_at": NOW + HOUR}, 60, "changed"),
        (None, {"count": 20}, 60, "worse"),
    ],
)
def test_a_dismissal_ends_at_its_time_or_when_the_finding_gets_worse(
    until: int | None, changed: dict[str, Any], minutes: int, expected: str | None
) -> None:
    made = dismissal(None if until is None else NOW + until * HOUR)
    assert end_of(made, replace(FINDING, **changed), NOW + timedelta(minutes=minutes)) == expected


def test_the_first_count_after_none_is_worse() -> None:
    assert end_of(dismissal(count=0), replace(FINDING, count=1), NOW) == "worse"
    assert end_of(dismissal(count=0), replace(FINDING, count=0), NOW) is None


def test_a_finding_that_is_away_keeps_its_dismissal() -> None:
    assert end_of(dismissal(), None, NOW) is None
    assert end_of(dismissal(None), None, NOW) is None


def test_only_dismissed_findings_are_left_out() -> None:
    other = replace(FINDING, subject="8")
    found = split([FINDING, other], [dismissal()], NOW)
    assert (found.listed, len(found.held), found.ended) == ([other], 1, [])
    found = split([FINDING, other], [dismissal(NOW)], NOW)
    assert (found.listed, found.held, len(found.ended)) == ([FINDING, other], [], 1)


@pytest.fixture
def new_group(db: None, engine: FakeEngine) -> Any:
    row = group("gap null", "TASK_PUT", "x.IntegrityError")
    row.group.first_seen = timezone.now() - HOUR
    row.group.save()
    fail(row, timezone.now() - timedelta(minutes=3))
    return row


def listed(client: APIClient) -> dict[str, str]:
    return {item["kind"]: item["id"] for item in client.get(URL).json()["items"]}


@pytest.mark.sql
def test_a_dismissed_finding_is_left_out_for_everybody_and_comes_back_on_undo(
    as_operator: APIClient, as_viewer: APIClient, new_group: Any
) -> None:
    pk = listed(as_viewer)["new"]
    until = (timezone.now() + 8 * HOUR).isoformat()
    made = as_operator.post(f"/api/v1/attention/{pk}/dismissal", {"reason": "Limit rises on Monday", "until": until})
    assert made.status_code == 201, made.json()
    assert made.json() | {"by": "operator-1", "title": "gap null", "ended_why": ""} == made.json()
    body = as_viewer.get(URL).json()
    assert "new" not in [item["kind"] for item in body["items"]]
    assert body["dismissed"] == [made.json()]
    again = as_operator.post(f"/api/v1/attention/{pk}/dismissal", {"reason": "x", "until": None})
    assert again.status_code == 409
    undone = as_operator.delete(f"/api/v1/attention/{pk}/dismissal").json()
    assert (undone["ended_by"], undone["ended_why"]) == ("operator-1", "undone")
    assert listed(as_viewer)["new"] == pk
    assert as_operator.delete(f"/api/v1/attention/{pk}/dismissal").status_code == 404
    assert as_viewer.get("/api/v1/attention/dismissals").json()["results"] == [undone]
    entries = AuditEntry.objects.filter(object_type="finding").order_by("pk")
    assert [(row.action, row.object_id) for row in entries] == [("dismiss", pk), ("undo dismissal", pk)]
    assert entries[0].detail["reason"] == "Limit rises on Monday"


@pytest.mark.sql
def test_a_dismissed_finding_comes_back_when_it_grows_and_stays_back(as_operator: APIClient, new_group: Any) -> None:
    pk = listed(as_operator)["new"]
    body = {"reason": "known", "until": (timezone.now() + HOUR).isoformat()}
    as_operator.post(f"/api/v1/attention/{pk}/dismissal", body)
    fail(new_group, timezone.now() - timedelta(minutes=1))
    assert listed(as_operator)["new"] == pk
    assert Dismissal.objects.get().ended_why == "worse"
    assert as_operator.post(f"/api/v1/attention/{pk}/dismissal", body).status_code == 201


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"until": None}, 400),
        ({"reason": "", "until": None}, 400),
        ({"reason": "x"}, 400),
        ({"reason": "x", "until": "2020-01-01T00:00:00Z"}, 400),
        ({"reason": "x", "until": "2999-01-01T00:00:00Z"}, 400),
        ({"reason": "x", "until": None}, 404),
    ],
)
def test_a_dismissal_needs_a_reason_an_end_and_a_finding(
    as_operator: APIClient, engine: FakeEngine, body: dict[str, Any], status: int
) -> None:
    assert as_operator.post("/api/v1/attention/nothing/dismissal", body, format="json").status_code == status


def test_viewers_may_not_dismiss(as_viewer: APIClient, engine: FakeEngine) -> None:
    body = {"reason": "x", "until": None}
    assert as_viewer.post("/api/v1/attention/x/dismissal", body, format="json").status_code == 403
    assert as_viewer.delete("/api/v1/attention/x/dismissal").status_code == 403


@pytest.mark.sql
def test_two_people_dismiss_a_finding_once(operator: User) -> None:
    dismissals.dismiss(FINDING, operator, "known", None, NOW)
    with pytest.raises(StateConflict, match="already"):
        dismissals.dismiss(FINDING, operator, "known", None, NOW)
    dismissals.undo(FINDING.id, operator, NOW)
    dismissals.dismiss(FINDING, operator, "known", None, NOW)
    assert Dismissal.objects.count() == 2


@pytest.mark.sql
def test_old_dismissals_are_deleted(operator: User) -> None:
    dismissals.dismiss(FINDING, operator, "known", NOW + HOUR, NOW)
    dismissals.prune(NOW)
    assert Dismissal.objects.get().ended_at is None
    dismissals.prune(NOW + HOUR)
    assert Dismissal.objects.get().ended_why == "over"
    dismissals.prune(NOW + HOUR + dismissals.KEPT)
    assert Dismissal.objects.exists()
    dismissals.prune(NOW + 2 * HOUR + dismissals.KEPT)
    assert not Dismissal.objects.exists()
