"""Issues that the webhook of a tracker creates, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.deadletters.groups.safe_titles import safe_title
from dlqadmin.deadletters.models import Fingerprint, Group, GroupIssue, IssueRequest, IssueTracker
from dlqadmin.notifications import webhooks
from dlqadmin.notifications.models import Channel
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import ALL, index_one, letter
from tests.dlqadmin.masking.rules import mask
from tests.dlqadmin.notifications.sending import made_with_secret
from tests.dlqadmin.notifications.test_webhooks import is_signed
from tests.support.http_target import HttpTarget, Reply, http_target

pytestmark = pytest.mark.django_db
API = "/api/v1"
ISSUE = {"url": "https://issues.example.org/OPS-31", "name": "OPS-31"}


@pytest.fixture(autouse=True)
def loopback_allowed(settings: Settings) -> None:
    settings.ALERT_PRIVATE_HOSTS = ["127.0.0.0/8"]


@pytest.fixture
def target() -> Iterator[HttpTarget]:
    with http_target(lambda _: Reply(201, json.dumps(ISSUE).encode())) as running:
        yield running


def group(offset: int = 0) -> Group:
    return index_one(letter(offset)).fingerprint.group


def tracker(url: str) -> tuple[IssueTracker, str]:
    channel, secret = made_with_secret(url)
    made = IssueTracker.objects.create(
        name="Jira", template="https://issues.example.org/new", channel=channel, actor="ada"
    )
    return made, secret


def create(client: APIClient, found: Group, asked: IssueTracker, key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(f"{API}/groups/{found.pk}/issues/create", {"tracker": asked.pk}, "json", headers=headers)


def test_one_signed_request_creates_the_issue_and_links_it(as_operator: APIClient, target: HttpTarget) -> None:
    found, (jira, secret) = group(), tracker(target.url)
    answer = create(as_operator, found, jira)
    assert (answer.status_code, answer.json()["name"], answer.json()["url"]) == (201, ISSUE["name"], ISSUE["url"])
    [seen] = target.seen
    assert is_signed(seen, secret)
    body = json.loads(seen.body)
    assert (body["event"], body["tracker"], body["asked_by"]) == ("issue.create", "Jira", "operator-1")
    assert body["link"] == f"http://testserver/groups/{found.pk}"
    assert (body["group"]["id"], body["group"]["title"]) == (found.pk, found.title)
    assert body["group"]["topics"] == ["usgs.earthquakes.dlq"]
    [issue] = as_operator.get(f"{API}/groups/{found.pk}", ALL).json()["issues"]
    assert issue["name"] == "OPS-31"


def test_a_tracker_gets_no_message_while_a_masking_rule_is_in_force(as_operator: APIClient, target: HttpTarget) -> None:
    found, (jira, _) = group(), tracker(target.url)
    Group.objects.update(title="IntegrityError: Zx9secret")
    Fingerprint.objects.update(message="duplicate Zx9secret")
    mask()
    assert create(as_operator, found, jira).status_code == 201
    [seen] = target.seen
    body = json.loads(seen.body)["group"]
    assert b"Zx9secret" not in seen.body
    assert (body["title"], body["messages"]) == (safe_title(found.pk), [])


@pytest.mark.parametrize("keys", [("one", "one"), ("one", "other"), ("", "")])
def test_a_second_click_within_a_minute_creates_no_second_issue(
    as_operator: APIClient, target: HttpTarget, keys: tuple[str, str]
) -> None:
    found, (jira, _) = group(), tracker(target.url)
    answers = [create(as_operator, found, jira, key).json() for key in keys]
    assert answers[0] == answers[1]
    assert len(target.seen) == 1


def test_a_click_during_the_first_one_is_told_to_wait(as_operator: APIClient, target: HttpTarget) -> None:
    found, (jira, _) = group(), tracker(target.url)
    under_way = IssueRequest.objects.create(group=found, tracker=jira, at=timezone.now())
    answer = create(as_operator, found, jira)
    assert (answer.status_code, "is being created" in answer.json()["detail"], target.seen) == (409, True, [])
    IssueRequest.objects.filter(pk=under_way.pk).update(at=timezone.now() - timedelta(minutes=2))
    assert create(as_operator, found, jira).status_code == 201


def test_a_key_belongs_to_one_group(as_operator: APIClient, target: HttpTarget) -> None:
    jira, _ = tracker(target.url)
    one, other = group(), index_one(letter(1, exception="ValueError")).fingerprint.group
    assert create(as_operator, one, jira, "key").status_code == 201
    assert create(as_operator, other, jira, "key").status_code == 409


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(500, b"down"), "Jira created no issue: HTTP 500: down"),
        (Reply(302, headers={"Location": "/x"}), "redirects are not followed"),
        (Reply(200, b"ok"), "but its answer is no JSON."),
        (Reply(200, b"[]"), "lacks one of the two"),
        (Reply(200, b'{"url": "https://issues.example.org/1"}'), "lacks one of the two"),
        (Reply(200, b'{"url": "javascript:alert(1)", "name": "x"}'), "not the address of a page"),
    ],
)
def test_any_other_answer_is_a_clear_502_and_can_be_tried_again(
    as_operator: APIClient, target: HttpTarget, reply: Reply, sentence: str
) -> None:
    found, (jira, _) = group(), tracker(target.url)
    good, target.answer = target.answer, lambda _: reply
    answer = create(as_operator, found, jira, "key")
    assert (answer.status_code, sentence in answer.json()["detail"]) == (502, True), answer.json()
    assert not GroupIssue.objects.exists()
    target.answer = good
    assert create(as_operator, found, jira, "key").status_code == 201
    first, second = target.seen
    assert first.headers["webhook-id"] == second.headers["webhook-id"]  # a receiver can drop the repeat


def test_a_slow_tracker_is_given_up(
    as_operator: APIClient, target: HttpTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT_S", 0.2)
    target.answer = lambda _: Reply(200, delay_s=0.6)
    found, (jira, _) = group(), tracker(target.url)
    answer = create(as_operator, found, jira)
    assert (answer.status_code, "did not answer within 0.2 s" in answer.json()["detail"]) == (502, True)


def test_a_tracker_names_a_webhook_and_the_channel_stays_while_it_does(as_admin: APIClient, target: HttpTarget) -> None:
    jira, _ = tracker(target.url)
    body = {"name": "Jira", "template": jira.template, "channel": jira.channel_id}
    saved = as_admin.put(f"{API}/issue-trackers/{jira.pk}", body, "json").json()
    assert (saved["channel"], saved["channel_name"]) == (jira.channel_id, "pager")
    assert as_admin.delete(f"{API}/channels/{jira.channel_id}").status_code == 409
    Channel.objects.update(kind="email")
    assert as_admin.put(f"{API}/issue-trackers/{jira.pk}", body, "json").status_code == 400


def test_a_tracker_without_a_webhook_creates_nothing(as_operator: APIClient) -> None:
    plain = IssueTracker.objects.create(name="Plain", template="https://issues.example.org/new", actor="ada")
    assert create(as_operator, group(), plain).status_code == 400
    viewer = signed_in(person("vera", "viewer"))
    assert create(viewer, group(), plain).status_code == 403


def test_the_link_of_an_issue_begins_with_the_address_of_the_dashboard(
    as_operator: APIClient, target: HttpTarget, settings: Settings
) -> None:
    settings.DLQADMIN_URL = "https://dlq.example"
    found, (jira, _) = group(), tracker(target.url)
    assert create(as_operator, found, jira).status_code == 201
    [seen] = target.seen
    assert json.loads(seen.body)["link"] == f"https://dlq.example/groups/{found.pk}"
