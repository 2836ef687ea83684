"""Samples of records in messages: only where a rule and an administrator allow them, and never a masked field."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.alerts.models import AlertRule
from dlqadmin.audit.models import READ, AuditEntry
from dlqadmin.masking.models import MaskingRule
from dlqadmin.notifications.models import Channel, ChannelDelivery
from tests.dlqadmin.alerts.rigs import channel, rule, tick
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.deadletters.letters import index, letter

pytestmark = pytest.mark.django_db
CANARY = "zq9secret"
VALUE = b'{"ssn": "zq9secret", "city": "Graz", "text": "' + b"x" * 400 + b'"}'
TITLE = f"{CANARY} is no number"
API = "/api/v1"


def allowed(name: str = "ops") -> None:
    channel(name)
    Channel.objects.filter(name=name).update(may_have_samples=True)


def masked(kind: str, field: str, **more: Any) -> None:
    now = timezone.now()
    MaskingRule.objects.create(
        topics=["*"], kind=kind, field=field, show="nothing", reason="r", created_at=now, changed_at=now, **more
    )


def test_a_message_has_at_most_three_short_samples_and_the_trail_says_so() -> None:
    allowed()
    made = rule(samples=True)
    index([letter(n, value=VALUE) for n in range(5)])
    assert tick() == 1
    body = ChannelDelivery.objects.get().body
    lines = [line for line in body.split("\n") if "Graz" in line]
    assert [line.split(": ")[0] for line in lines] == [f"usgs.earthquakes.dlq-0@{n}" for n in (4, 3, 2)]
    assert max(len(line) for line in lines) <= 300 + len("usgs.earthquakes.dlq-0@4: ")
    entry = AuditEntry.objects.get(action=READ)
    assert (entry.actor, entry.object_id, len(entry.detail["dead_letters"])) == ("alerts", str(made.pk), 3)


@pytest.mark.parametrize(("wants", "may"), [(False, True), (True, False)])
def test_without_the_consent_of_both_there_is_no_sample(wants: bool, may: bool) -> None:
    if may:
        allowed()
    rule(samples=wants)
    index([letter(0, value=VALUE)])
    tick()
    told = ChannelDelivery.objects.get()
    assert "Graz" not in f"{told.body}{told.facts}"


@pytest.mark.parametrize(("kind", "field"), [("json path", "$.ssn"), ("regular expression", r"zq9\w+")])
def test_a_masked_field_is_in_no_delivery(kind: str, field: str) -> None:
    masked(kind, field, except_roles=[{"team": None, "role": "viewer"}])
    allowed()
    for digest in (False, True):
        rule(samples=True, name=f"r{digest}", digest=digest)
    index([letter(n, value=VALUE, message=TITLE) for n in range(2)])
    assert tick() == 2
    told = [f"{row.subject}{row.body}{row.facts}" for row in ChannelDelivery.objects.all()]
    assert not any(CANARY in text for text in told)
    assert any("Graz" in text for text in told)
    assert all("TASK_PUT" in text for text in told)


def test_a_value_that_cannot_be_masked_is_hidden() -> None:
    masked("json path", "$.ssn")
    allowed()
    rule(samples=True)
    index([letter(0, value=f"no JSON {CANARY}".encode())])
    tick()
    assert CANARY not in ChannelDelivery.objects.get().body


def test_people_with_masked_fields_see_no_title_of_a_group(as_viewer: APIClient) -> None:
    masked("regular expression", r"zq9\w+")
    rule()
    index([letter(0, message=TITLE)])
    tick()
    assert CANARY.encode() not in as_viewer.get(f"{API}/alerts").content


def test_a_rule_of_a_team_samples_what_the_team_owns() -> None:
    allowed()
    rule(samples=True, team=team("stations", ["stations.*"]))
    index([letter(0, value=VALUE), letter(0, topic="stations.dlq", value=b'{"of": "stations"}')])
    tick()
    body = ChannelDelivery.objects.get().body
    assert "stations.dlq-0@0" in body
    assert "Graz" not in body


def test_samples_need_a_payload_reader_and_an_administrator(as_admin: APIClient) -> None:
    stations = team("stations", ["stations.*"])
    asked = {"name": "r", "team": stations.pk, "conditions": [{"kind": "new_group"}], "samples": True}
    for roles, status in ((("operator",), 403), (("operator", "payload reader"), 201)):
        client = signed_in(member(f"sam{status}", {stations: roles}))
        assert client.post(f"{API}/alert-rules", asked, format="json").status_code == status
        body = {"name": "ops", "kind": "webhook", "may_have_samples": True}
        assert client.put(f"{API}/channels/{channel().pk}", body, format="json").status_code == 403
    assert AlertRule.objects.get().samples
    body = {"name": "ops", "kind": "webhook", "may_have_samples": True}
    channel().save()
    answer = as_admin.put(f"{API}/channels/{channel().pk}", body, format="json")
    assert answer.json()["channel"]["may_have_samples"] is True
    again = as_admin.put(f"{API}/channels/{channel().pk}", {"name": "ops", "kind": "webhook"}, format="json")
    assert again.json()["channel"]["may_have_samples"] is True


def test_a_preview_has_the_message_of_the_newest_firing(as_operator: APIClient) -> None:
    now = int(timezone.now().timestamp() * 1000)
    index([letter(n, at_ms=now - 60_000 * (n + 10), value=VALUE) for n in range(3)], timezone.now())
    asked = {"name": "Stations", "conditions": [{"kind": "new_group"}], "samples": True}
    message = as_operator.post(f"{API}/alerts/preview", asked, format="json").json()["message"]
    assert message["subject"] in message["body"]
    assert "Rule: Stations." in message["body"]
    assert "Graz" not in message["body"]
    asked["query"] = "topic:nowhere"
    assert as_operator.post(f"{API}/alerts/preview", asked, format="json").json()["message"] is None
