from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.groups import triage
from dlqadmin.deadletters.index import mutes
from dlqadmin.deadletters.models import Group, GroupActivity
from tests.dlqadmin.deadletters.letters import HOUR_MS, NOW, NOW_MS, NST, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
MUTE = "/api/v1/groups/mute"
HOUR_BEFORE = NOW - timedelta(hours=1)


@pytest.fixture
def group() -> Group:
    index([letter(1, at_ms=NOW_MS - 3 * HOUR_MS)])
    return Group.objects.get()


def muted(group: Group, operator: User, at: datetime = HOUR_BEFORE, **conditions: Any) -> Group:
    triage.mute([group.pk], triage.MuteConditions(**conditions), operator, "", at)
    group.refresh_from_db()
    assert group.status == "muted"
    return group


def status(group: Group) -> str:
    group.refresh_from_db()
    return group.status


def test_a_group_muted_for_some_events_opens_at_the_last_of_them(group: Group, operator: User) -> None:
    muted(group, operator, events=3)
    index([letter(2), letter(3)])
    assert (status(group), group.muted_events) == ("muted", 2)
    index([letter(4)])
    assert (status(group), group.mute_count, group.muted_at) == ("open", None, None)
    assert GroupActivity.objects.latest("pk").text == "no longer muted: 3 more events since it was muted"


def test_what_failed_before_the_mute_does_not_count(group: Group, operator: User) -> None:
    muted(group, operator, events=1)
    index([letter(2, at_ms=NOW_MS - 2 * HOUR_MS)])
    assert (status(group), group.muted_events) == ("muted", 0)


def test_a_repeated_dead_letter_does_not_count(group: Group, operator: User) -> None:
    muted(group, operator, events=2)
    index([letter(2)])
    index([letter(2)])
    assert (status(group), group.muted_events) == ("muted", 1)


def test_a_group_muted_up_to_a_rate_opens_when_one_hour_reaches_it(group: Group, operator: User) -> None:
    muted(group, operator, at=NOW - timedelta(hours=10), rate=3)
    index([letter(10 + n, at_ms=NOW_MS - (n + 2) * HOUR_MS) for n in range(6)])
    index([letter(20), letter(21)])
    assert status(group) == "muted"
    index([letter(22)])
    assert status(group) == "open"
    assert GroupActivity.objects.latest("pk").text == "no longer muted: 3 events in an hour"


def test_the_hour_of_the_mute_counts_from_the_mute_on(group: Group, operator: User) -> None:
    index([letter(10 + n, at_ms=NOW_MS - 60_000) for n in range(5)])
    muted(group, operator, at=NOW - timedelta(seconds=30), rate=3)
    index([letter(20), letter(21)])
    assert status(group) == "muted"
    index([letter(22)])
    assert status(group) == "open"


def test_a_group_muted_until_a_time_opens_then_and_not_before(group: Group, operator: User) -> None:
    muted(group, operator, until=NOW)
    assert mutes.sweep(NOW - timedelta(seconds=1)) == 0
    assert status(group) == "muted"
    assert mutes.sweep(NOW) == 1
    assert (status(group), GroupActivity.objects.latest("pk").actor) == ("open", "clock")


def test_an_event_after_the_time_opens_the_group_without_the_clock(group: Group, operator: User) -> None:
    muted(group, operator, until=NOW)
    index([letter(2)], NOW)
    assert status(group) == "open"


def test_a_group_muted_without_conditions_stays_muted(group: Group, operator: User) -> None:
    muted(group, operator)
    index([letter(n) for n in range(2, 200)])
    assert mutes.sweep(NOW + timedelta(days=1000)) == 0
    assert status(group) == "muted"


def test_several_groups_are_muted_at_once_and_audited(as_operator: APIClient) -> None:
    index([letter(1), letter(2, message=NST)])
    ids = list(Group.objects.order_by("pk").values_list("pk", flat=True))
    answer = as_operator.post(MUTE, {"groups": ids, "events": 100, "reason": "known"}, format="json")
    assert answer.json() == {"changed": 2}
    assert [(row.action, row.object_id) for row in AuditEntry.objects.order_by("pk")] == [
        ("muted", str(pk)) for pk in ids
    ]
    row = as_operator.get(f"/api/v1/groups/{ids[0]}").json()
    assert (row["state"], row["mute"]["events"], row["mute"]["seen"]) == ("muted", 100, 0)
    assert row["activity"][0]["text"] == "muted for 100 more events: known"


def test_a_muted_group_is_re_opened_by_a_person(as_operator: APIClient, group: Group) -> None:
    until = (timezone.now() + timedelta(days=1)).isoformat()
    as_operator.post(MUTE, {"groups": [group.pk], "until": until, "rate": 5}, format="json")
    answer = as_operator.post(f"/api/v1/groups/{group.pk}/reopen", {}, format="json").json()
    assert (answer["state"] in {"new", "ongoing"}, answer["mute"]) == (True, None)
    assert status(group) == "open"


def test_a_resolved_group_is_not_muted(as_operator: APIClient, group: Group) -> None:
    as_operator.post(f"/api/v1/groups/{group.pk}/resolve", {}, format="json")
    answer = as_operator.post(MUTE, {"groups": [group.pk]}, format="json")
    assert (answer.status_code, status(group)) == (409, "resolved")


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"groups": []}, "groups"),
        ({"groups": [2**63]}, "groups.0"),
        ({"groups": [999_999]}, "groups"),
        ({"events": 0}, "events"),
        ({"rate": 2**31}, "rate"),
        ({"until": "2020-01-01T00:00:00Z"}, "until"),
        ({"until": "soon"}, "until"),
    ],
)
def test_a_wrong_mute_is_named(as_operator: APIClient, group: Group, body: dict[str, Any], parameter: str) -> None:
    answer = as_operator.post(MUTE, {"groups": [group.pk], **body}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (400, parameter)
    assert status(group) == "open"
