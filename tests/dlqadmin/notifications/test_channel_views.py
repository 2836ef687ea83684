"""Channels and deliveries over REST."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.notifications import channels, deliveries, tasks
from dlqadmin.notifications.messages import ChannelMessage
from dlqadmin.notifications.models import Channel, ChannelDelivery
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.notifications.sending import made, queued, work
from tests.support.http_target import HttpTarget, Reply

pytestmark = [pytest.mark.django_db, pytest.mark.sql]

API = "/api/v1"


def create(client: APIClient, target: str, expect: int = 201, key: str | None = None, **more: Any) -> dict[str, Any]:
    body = {"name": "pager", "kind": "webhook", "target": target, **more}
    answer = client.post(f"{API}/channels", body, headers={"Idempotency-Key": key} if key else {})
    assert answer.status_code == expect, answer.content
    return dict(answer.json())


def test_an_administrator_makes_a_channel_and_viewers_see_it(
    target: HttpTarget, as_admin: APIClient, as_viewer: APIClient
) -> None:
    answer = create(as_admin, f"{target.url}/hidden")
    assert answer["secret"].startswith("whsec_")
    [seen] = as_viewer.get(f"{API}/channels").json()["channels"]
    assert seen == answer["channel"]
    assert (seen["name"], seen["kind"], seen["description"]) == ("pager", "webhook", "Webhook, 127.0.0.1")
    assert (seen["created_by"], seen["last_used_at"], seen["last_result"]) == ("admin-1", None, "")
    entry = AuditEntry.objects.get(object_type="channel")
    assert (entry.action, entry.object_id) == ("create channel", "pager")
    assert entry.detail == {"kind": "webhook", "to": "Webhook, 127.0.0.1", "samples": False}


def test_nobody_else_changes_channels(target: HttpTarget, as_operator: APIClient, as_viewer: APIClient) -> None:
    pk = made(target.url).pk
    for client in (as_operator, as_viewer):
        create(client, target.url, expect=403, name="other")
        assert client.put(f"{API}/channels/{pk}", {"name": "x", "kind": "webhook"}).status_code == 403
        assert client.delete(f"{API}/channels/{pk}").status_code == 403
        assert client.post(f"{API}/channels/{pk}/test").status_code == 403
        assert client.post(f"{API}/channels/{pk}/secret").status_code == 403


def test_a_repeated_request_makes_one_channel_and_shows_no_secret_again(
    target: HttpTarget, as_admin: APIClient
) -> None:
    first = create(as_admin, target.url, key="a")
    again = create(as_admin, target.url, expect=200, key="a")
    assert (again["channel"], again["secret"]) == (first["channel"], None)
    create(as_admin, f"{target.url}/other", expect=409, key="a")
    assert Channel.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"target": "ftp://example.com"}, "target"),
        ({"target": "x" * 2001}, "target"),
        ({"kind": "sms"}, "kind"),
        ({"name": ""}, "name"),
        ({"name": "taken"}, "name"),
        ({"kind": "apprise", "target": "file:///etc/passwd"}, "target"),
    ],
)
def test_a_wrong_channel_is_refused_by_its_field(
    target: HttpTarget, as_admin: APIClient, body: dict[str, str], parameter: str
) -> None:
    made(target.url, name="taken")
    answer = create(as_admin, body.pop("target", target.url), expect=400, **body)
    assert [one["parameter"] for one in answer["errors"]] == [parameter]
    assert Channel.objects.count() == 1


def test_there_are_200_channels_at_most(
    target: HttpTarget, as_admin: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "MAX_CHANNELS", 1)
    create(as_admin, target.url)
    assert "the maximum" in create(as_admin, target.url, expect=409, name="second")["detail"]


def test_a_channel_is_renamed_without_its_target(target: HttpTarget, as_admin: APIClient) -> None:
    channel = made(target.url)
    answer = as_admin.put(f"{API}/channels/{channel.pk}", {"name": "new", "kind": "webhook"}).json()
    assert (answer["channel"]["name"], answer["secret"]) == ("new", None)
    assert work(queued(Channel.objects.get())).state == "delivered"
    refused = as_admin.put(f"{API}/channels/{channel.pk}", {"name": "new", "kind": "email"})
    assert refused.json()["errors"][0]["parameter"] == "target"
    detail = AuditEntry.objects.get(action="change channel").detail
    assert (detail["former"]["name"], detail["target"]) == ("pager", "kept")


def test_a_deleted_channel_ends_its_deliveries_and_stays_in_the_log(
    target: HttpTarget, as_admin: APIClient, as_viewer: APIClient
) -> None:
    channel = made(target.url)
    delivery = queued(channel)
    assert as_admin.delete(f"{API}/channels/{channel.pk}").status_code == 204
    [row] = as_viewer.get(f"{API}/deliveries").json()["results"]
    assert (row["state"], row["channel"], row["channel_name"]) == ("given_up", None, "pager")
    assert (row["result"], row["next_try_at"]) == ("The channel was deleted.", None)
    work(delivery)
    assert target.seen == []
    assert as_admin.delete(f"{API}/channels/{channel.pk}").status_code == 404


def test_a_new_secret_is_shown_once_and_only_webhooks_have_one(
    target: HttpTarget, as_admin: APIClient, settings: Settings
) -> None:
    settings.EMAIL_HOST = "127.0.0.1"
    channel, mail = made(target.url), made("ada@example.com", "email", "mail")
    answers = [as_admin.post(f"{API}/channels/{channel.pk}/secret").json()["secret"] for _ in range(2)]
    assert len({one for one in answers if one.startswith("whsec_")}) == 2
    assert as_admin.post(f"{API}/channels/{mail.pk}/secret").status_code == 409
    assert AuditEntry.objects.filter(action="rotate channel secret").count() == 2


@pytest.mark.parametrize(("status", "state", "result"), [(200, "delivered", "HTTP 200"), (503, "given_up", "HTTP 503")])
@pytest.mark.django_db(transaction=True)
def test_a_test_sends_one_message_and_returns_its_result(
    target: HttpTarget, as_admin: APIClient, monkeypatch: pytest.MonkeyPatch, status: int, state: str, result: str
) -> None:
    monkeypatch.setattr(tasks.deliver, "apply_async", lambda args, retry: tasks.deliver(*args))
    target.answer = lambda _: Reply(status)
    answer = as_admin.post(f"{API}/channels/{made(target.url).pk}/test")
    row = answer.json()
    assert (answer.status_code, row["state"], row["result"], row["source"]) == (200, state, result, "test")
    assert [(one["accepted"], one["result"]) for one in row["log"]] == [(status == 200, result)]
    assert len(target.seen) == 1


def test_a_test_without_a_worker_ends_and_waits(
    target: HttpTarget, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def sleep(seconds: float) -> None:
        now[0] += seconds

    assert channels.send_test(made(target.url), operator, sleep).state == "queued"
    assert 15 < now[0] < 15.5


def test_the_log_is_paged_filtered_and_without_bodies(target: HttpTarget, as_viewer: APIClient) -> None:
    channel, other = made(target.url), made(target.url, name="other")
    rows = [work(queued(channel, str(number))).pk for number in range(3)]
    rows.append(queued(other, "other").pk)
    page = as_viewer.get(f"{API}/deliveries?limit=2").json()
    following = as_viewer.get(f"{API}/deliveries?limit=2&cursor={page['next']}").json()
    assert [one["id"] for one in page["results"] + following["results"]] == rows[::-1]
    assert following["next"] is None
    asked = (f"channel={other.pk}", "state=delivered", "source=rule 12", "source=rule 13", "state=failed")
    counts = [len(as_viewer.get(f"{API}/deliveries?{one}").json()["results"]) for one in asked]
    assert counts == [1, 3, 4, 0, 0]
    assert "12 dead letters" not in str(page)
    for wrong in ("channel=x", "state=x", "cursor=x", "limit=0", f"source={'s' * 101}", f"channel={2**63}"):
        assert as_viewer.get(f"{API}/deliveries?{wrong}").status_code == 400


def test_an_operator_has_a_failed_delivery_sent_again(
    target: HttpTarget, as_operator: APIClient, as_viewer: APIClient
) -> None:
    target.answer = lambda _: Reply(400)
    delivery = work(queued(made(target.url)))
    address = f"{API}/deliveries/{delivery.pk}/retry"
    assert as_viewer.post(address).status_code == 403
    assert as_operator.post(address).json()["state"] == "queued"
    assert as_operator.post(address).status_code == 409
    assert as_operator.post(f"{API}/deliveries/999999/retry").status_code == 404
    assert AuditEntry.objects.get(action="retry delivery").object_id == str(delivery.pk)


def test_a_read_only_cluster_still_sends(target: HttpTarget, as_admin: APIClient, settings: Settings) -> None:
    settings.READ_ONLY = True
    create(as_admin, target.url)
    assert ChannelDelivery.objects.count() == 0


def test_people_of_a_team_see_no_words_of_a_receiver(target: HttpTarget, as_viewer: APIClient) -> None:
    made(target.url)
    Channel.objects.update(last_used_at=timezone.now(), last_result="HTTP 400: Maps fail is too long")
    tim = signed_in(member("tim", {team("stations", ["stations.*"]): ("operator",)}))
    seen = [client.get(f"{API}/channels").json()["channels"][0]["last_result"] for client in (as_viewer, tim)]
    assert seen == ["HTTP 400: Maps fail is too long", "HTTP 400"]


def test_people_of_a_team_see_and_retry_the_deliveries_of_its_rules(target: HttpTarget) -> None:
    mine, other = team("stations", ["stations.*"]), team("maps", ["maps.*"])
    channel, rows = made(target.url), {}
    for name, owner in (("own", mine), ("theirs", other), ("of all", None)):
        message = ChannelMessage("alert.opened", f"{name} fails", "")
        found = deliveries.queue(channel, message, name, source="rule 1", team=owner.pk if owner else None)
        assert found is not None
        rows[name] = found.pk
    ChannelDelivery.objects.update(state="failed")
    client = signed_in(member("tim", {mine: ("operator",)}))
    listed = client.get(f"{API}/deliveries").json()["results"]
    assert [row["subject"] for row in listed] == ["own fails"]
    statuses = {name: client.post(f"{API}/deliveries/{pk}/retry").status_code for name, pk in rows.items()}
    assert statuses == dict.fromkeys(rows, 404) | {"own": 200}
    assert ChannelDelivery.objects.filter(state="queued").count() == 1
