"""The REST API of alerts: rules, alerts, who may do what."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.alerts.models import AlertFiring, AlertRule
from dlqadmin.audit.models import AuditEntry
from dlqadmin.notifications.models import ChannelDelivery
from tests.dlqadmin.alerts.rigs import channel, rule, tick
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.deadletters.letters import index, letter

pytestmark = pytest.mark.django_db
API = "/api/v1"


def body(**changed: Any) -> dict[str, Any]:
    own = {"name": "New errors", "conditions": [{"kind": "new_group"}], "tells": [{"channel": channel().pk}]}
    return {**own, **changed}


def post(client: APIClient, path: str, given: Any = None, **headers: str) -> Any:
    return client.post(f"{API}/{path}", given, format="json", headers=headers)


def test_a_rule_is_made_listed_changed_and_deleted(as_operator: APIClient) -> None:
    made = post(
        as_operator,
        "alert-rules",
        body(
            quiet={"start": "22:00", "end": "07:00", "zone": "Europe/Berlin"},
            escalate={"after_s": 600, "channel": channel("boss").pk},
        ),
    )
    assert made.status_code == 201, made.content
    rule_id = made.json()["id"]
    assert made.json()["quiet"] == {"start": "22:00", "end": "07:00", "zone": "Europe/Berlin", "weekdays": False}
    listed = as_operator.get(f"{API}/alert-rules").json()
    assert (listed["counts"]["ok"], listed["results"][0]["state"]) == (1, "ok")
    changed = as_operator.put(f"{API}/alert-rules/{rule_id}", body(name="Other", query="stage:TASK_PUT"), format="json")
    assert (changed.json()["name"], changed.json()["quiet"], changed.json()["escalate"]) == ("Other", None, None)
    assert as_operator.delete(f"{API}/alert-rules/{rule_id}").status_code == 204
    entries = list(AuditEntry.objects.filter(object_type="alert rule").order_by("pk"))
    assert [entry.action for entry in entries] == ["create alert rule", "change alert rule", "delete alert rule"]
    assert (entries[1].detail["before"]["name"], entries[1].detail["after"]["name"]) == ("New errors", "Other")


def test_a_repeated_key_returns_the_same_rule(as_operator: APIClient) -> None:
    first, second = (post(as_operator, "alert-rules", body(), **{"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]


@pytest.mark.parametrize(
    ("changed", "parameter"),
    [
        ({"query": "key:17"}, "query"),
        ({"conditions": []}, "conditions"),
        ({"conditions": [{"kind": "new_group"}] * 11}, "conditions"),
        ({"conditions": [{"kind": "records", "more_than": 5}]}, "conditions"),
        ({"conditions": [{"kind": "records", "within_s": 300}]}, "conditions"),
        ({"conditions": [{"kind": "failure_rate", "percent": 101, "within_s": 300}]}, "conditions"),
        ({"tells": [{"channel": 999}]}, "channel"),
        ({"quiet": {"start": "22:00", "end": "07:00", "zone": "Mars/Olympus"}}, "quiet"),
        ({"interval_s": 5}, "interval_s"),
    ],
)
def test_invalid_rules_are_refused(as_operator: APIClient, changed: dict[str, Any], parameter: str) -> None:
    for path in ("alert-rules", "alerts/preview"):
        answer = post(as_operator, path, body(**changed))
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["parameter"].startswith(parameter)


def test_people_of_a_team_have_the_rules_of_their_team() -> None:
    stations, quakes = team("stations", ["stations.*"]), team("quakes", ["usgs.*"])
    sam = signed_in(member("sam", {stations: ("operator",), quakes: ("viewer",)}))
    theirs, everybodys = rule(team=quakes, name="theirs"), rule(name="everybody's")
    own = post(sam, "alert-rules", body(team=stations.pk)).json()["id"]
    names = [row["name"] for row in sam.get(f"{API}/alert-rules").json()["results"]]
    assert names == ["New errors", "theirs"]
    assert sam.put(f"{API}/alert-rules/{own}", body(team=stations.pk), format="json").status_code == 200
    for pk in (theirs.pk, everybodys.pk):
        assert sam.put(f"{API}/alert-rules/{pk}", body(team=stations.pk), format="json").status_code == 404
        assert post(sam, f"alert-rules/{pk}/mute", {"until": _later()}).status_code == 404
    for other in (None, quakes.pk):
        assert post(sam, "alert-rules", body(team=other)).status_code == 403
        assert sam.put(f"{API}/alert-rules/{own}", body(team=other), format="json").status_code == 403
    assert post(sam, "alert-rules/mute-all", {"until": _later()}).status_code == 200
    assert set(AlertRule.objects.exclude(muted_until=None).values_list("pk", flat=True)) == {own}


def test_people_of_a_team_see_the_alerts_of_their_team() -> None:
    stations = team("stations", ["stations.*"])
    rule(team=stations)
    rule(name="everybody's")
    index([letter(0, topic="stations.dlq"), letter(0)])
    tick()
    sam = signed_in(member("sam", {stations: ("viewer",)}))
    [row] = sam.get(f"{API}/alerts").json()["results"]
    assert row["team"] == stations.pk
    hidden = AlertFiring.objects.filter(team=None)[0].pk
    assert sam.get(f"{API}/alerts/{hidden}").status_code == 404
    assert post(sam, f"alerts/{row['id']}/acknowledge").status_code == 403


def test_an_alert_is_acknowledged_and_snoozed_and_a_get_changes_nothing(as_operator: APIClient) -> None:
    rule()
    index([letter(0)])
    tick()
    pk = AlertFiring.objects.get().pk
    for path in (f"alerts/{pk}", f"alerts/{pk}/acknowledge", f"alerts/{pk}/snooze", "alerts/preview"):
        as_operator.get(f"{API}/{path}")
    assert AlertFiring.objects.get().state == "firing"
    assert post(as_operator, f"alerts/{pk}/acknowledge").json()["acknowledged_by"] == "operator-1"
    assert post(as_operator, f"alerts/{pk}/acknowledge").status_code == 200
    assert post(as_operator, f"alerts/{pk}/snooze", {"until": _later()}).json()["snoozed_until"]
    assert post(as_operator, f"alerts/{pk}/snooze", {"until": "2020-01-01T00:00:00Z"}).status_code == 400
    listed = as_operator.get(f"{API}/alert-rules").json()
    assert (listed["counts"]["acknowledged"], listed["results"][0]["last_fired"] is not None) == (1, True)
    AlertFiring.objects.update(ended_at=timezone.now(), state="resolved")
    assert post(as_operator, f"alerts/{pk}/acknowledge").status_code == 409


def test_alerts_are_filtered_and_paged(as_viewer: APIClient) -> None:
    rule()
    index([letter(0), letter(1, message="a"), letter(2, message="b", exception="E")])
    tick()
    first = as_viewer.get(f"{API}/alerts", {"limit": 2}).json()
    rest = as_viewer.get(f"{API}/alerts", {"limit": 2, "cursor": first["next"]}).json()
    ids = [row["id"] for row in (*first["results"], *rest["results"])]
    assert (ids, rest["next"]) == (sorted(ids, reverse=True), None)
    key = first["results"][0]["subject_key"]
    assert len(as_viewer.get(f"{API}/alerts", {"subject": f"group:{key}"}).json()["results"]) == 1
    assert as_viewer.get(f"{API}/alerts", {"state": "resolved"}).json()["results"] == []
    assert as_viewer.get(f"{API}/alerts", {"state": "x"}).status_code == 400


def test_a_test_goes_to_all_channels_and_is_marked(as_operator: APIClient) -> None:
    made = rule(tells=(("ops", False), ("mail", True)), escalate_to=channel("boss"))
    assert post(as_operator, f"alert-rules/{made.pk}/test").json() == {"channels": 3}
    assert set(ChannelDelivery.objects.values_list("event", flat=True)) == {"alert.test"}
    assert AlertFiring.objects.count() == 0


def test_mute_and_unmute(as_operator: APIClient) -> None:
    made = rule()
    assert post(as_operator, f"alert-rules/{made.pk}/mute", {"until": _later()}).json()["state"] == "muted"
    assert post(as_operator, f"alert-rules/{made.pk}/mute", {}).status_code == 400  # a mute needs an end
    assert post(as_operator, f"alert-rules/{made.pk}/unmute").json()["state"] == "ok"


def test_a_deleted_rule_ends_its_alerts_and_keeps_them(as_operator: APIClient) -> None:
    made = rule()
    index([letter(0)])
    tick()
    as_operator.delete(f"{API}/alert-rules/{made.pk}")
    [row] = as_operator.get(f"{API}/alerts").json()["results"]
    assert (row["rule"], row["rule_name"], row["state"]) == (None, "r", "resolved")


def test_templates_are_rules_that_can_be_made(as_operator: APIClient) -> None:
    found = as_operator.get(f"{API}/alert-rules/templates").json()
    assert len(found["templates"]) == 3
    for one in found["templates"]:
        conditions = [{name: value for name, value in row.items() if value is not None} for row in one["conditions"]]
        assert post(as_operator, "alert-rules", body(name=one["name"], conditions=conditions)).status_code == 201


def test_templates_name_the_teams_whose_rules_the_user_may_change(as_operator: APIClient) -> None:
    own, other = team("shop", ["shop.*"], []), team("other", ["other.*"], [])
    found = as_operator.get(f"{API}/alert-rules/templates").json()
    assert ([one["id"] for one in found["teams"]], found["everything"]) == ([other.pk, own.pk], True)
    ann = signed_in(member("ann", {own: ("operator",), other: ("viewer",)}))
    found = ann.get(f"{API}/alert-rules/templates").json()
    assert (found["teams"], found["everything"]) == ([{"id": own.pk, "name": "shop"}], False)


def test_a_preview_stores_and_sends_nothing(as_operator: APIClient) -> None:
    index([letter(0, at_ms=int((timezone.now() - timedelta(hours=2)).timestamp() * 1000))])
    answer = post(as_operator, "alerts/preview", body())
    assert answer.status_code == 200, answer.content
    assert (answer.json()["times"], answer.json()["partial"]) == (1, False)
    assert (AlertRule.objects.count(), AlertFiring.objects.count(), ChannelDelivery.objects.count()) == (0, 0, 0)


def test_rules_can_be_changed_on_a_read_only_cluster(as_operator: APIClient, settings: Any) -> None:
    settings.READ_ONLY = True
    assert post(as_operator, "alert-rules", body()).status_code == 201


def _later() -> str:
    return (timezone.now() + timedelta(hours=1)).isoformat()
