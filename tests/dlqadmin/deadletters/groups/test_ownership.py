"""Owners of groups: by hand, by rule; mentions in notes; links to issue trackers."""

from __future__ import annotations

from typing import Any

import pytest
from celery import current_app
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.groups.mentions import names_in
from dlqadmin.deadletters.groups.safe_titles import safe_title
from dlqadmin.deadletters.models import DeadLetter, Group, GroupActivity
from tests.dlqadmin.conftest import member, person, signed_in, team
from tests.dlqadmin.deadletters.letters import ALL, NST, index, index_one, letter
from tests.dlqadmin.masking.rules import mask
from tests.support.mail_server import MailServer

pytestmark = pytest.mark.django_db
API = "/api/v1"


def group_of(offset: int = 0, **given: Any) -> Group:
    return index_one(letter(offset, **given)).fingerprint.group


def put_rules(client: APIClient, *rules: dict[str, str]) -> Any:
    return client.put(f"{API}/ownership-rules", {"rules": list(rules)}, "json")


def test_a_group_is_assigned_to_a_team_and_then_to_a_person(as_operator: APIClient, operator: User) -> None:
    group, quakes = group_of(), team("quakes", ["usgs.*"])
    answer = as_operator.post(f"{API}/groups/{group.pk}/assign", {"team": "quakes"}, "json")
    assert (answer.status_code, answer.json()["team"], answer.json()["owner"]) == (200, "quakes", None)
    answer = as_operator.post(f"{API}/groups/{group.pk}/assign", {"username": operator.username}, "json").json()
    assert (answer["team"], answer["owner"]) == (None, operator.username)
    assert [row.text for row in GroupActivity.objects.filter(kind="assigned").order_by("pk")] == [
        f"assigned to team {quakes}",
        f"assigned to {operator.username}",
    ]


def test_one_owner_at_a_time(as_operator: APIClient) -> None:
    team("quakes", ["usgs.*"])
    body = {"team": "quakes", "username": "operator-1"}
    assert as_operator.post(f"{API}/groups/{group_of().pk}/assign", body, "json").status_code == 400


def test_the_first_rule_that_matches_gives_a_new_group_its_owner(as_admin: APIClient) -> None:
    quakes, ada = team("quakes", ["usgs.*"]), person("ada", "operator")
    rules = (
        {"topic": "stations.*", "username": "ada"},
        {"exception": "IntegrityError", "connector": "usgs-*", "team": "quakes"},
        {"topic": "*", "username": "ada"},
    )
    assert put_rules(as_admin, *rules).status_code == 200
    by_team, by_topic = group_of(), group_of(topic="stations.dlq", message=NST)
    by_last = group_of(topic="other.dlq", connector="else", exception="ValueError")
    assert [(row.owner, row.team) for row in (by_team, by_topic, by_last)] == [(None, quakes), (ada, None), (ada, None)]
    assert GroupActivity.objects.get(group=by_team, kind="assigned").text == (
        "assigned to team quakes by an ownership rule"
    )


def test_rules_are_previewed_and_then_applied_to_groups_that_nobody_owns(as_admin: APIClient) -> None:
    mine, other = group_of(), group_of(topic="stations.dlq", connector="stations-to-sql", message=NST)
    Group.objects.filter(pk=mine.pk).update(owner=person("ada", "operator"))
    team("all", ["*"])
    rules = [{"topic": "usgs.*", "team": "all"}, {"topic": "stations.*", "team": "all"}, {"team": "all"}]
    preview = as_admin.post(f"{API}/ownership-rules/preview", {"rules": rules}, "json").json()
    assert preview == {"matches": [0, 1, 0]}
    put_rules(as_admin, *rules)
    assert as_admin.post(f"{API}/ownership-rules/apply").json() == {"changed": 1}
    assert as_admin.post(f"{API}/ownership-rules/apply").json() == {"changed": 0}
    other.refresh_from_db()
    assert other.team is not None
    assert AuditEntry.objects.filter(action="assigned", object_id=str(other.pk)).exists()


def test_a_rule_needs_an_owner_that_exists(as_admin: APIClient, as_operator: APIClient) -> None:
    assert put_rules(as_admin, {"topic": "*", "team": "nobody"}).status_code == 400
    assert put_rules(as_admin, {"topic": "*"}).status_code == 400
    assert put_rules(as_operator, {"topic": "*", "username": "operator-1"}).status_code == 403


def test_the_list_is_narrowed_to_an_owner() -> None:
    quakes = team("quakes", ["*"])
    mine, teams, free = group_of(), group_of(1, message=NST), group_of(2, exception="ValueError")
    sam = member("sam", {quakes: ("viewer",)})
    Group.objects.filter(pk=mine.pk).update(owner=sam)
    Group.objects.filter(pk=teams.pk).update(team=quakes)
    client = signed_in(sam)

    def listed(owner: str) -> set[int]:
        return {row["id"] for row in client.get(f"{API}/groups", {**ALL, "owner": owner}).json()["results"]}

    assert listed("me") == {mine.pk, teams.pk}
    assert listed("team:quakes") == {teams.pk}
    assert listed("sam") == {mine.pk}
    assert listed("none") == {free.pk}


def test_a_note_tells_the_people_it_mentions_who_may_see_the_group(as_operator: APIClient) -> None:
    group = group_of()
    person("vera", "viewer")
    sam = member("sam", {team("stations", ["stations.*"]): ("viewer",)})
    text = {"text": "@vera please look. @sam too, and @nobody."}
    assert as_operator.post(f"{API}/groups/{group.pk}/notes", text, "json").status_code == 200
    vera = signed_in(User.objects.get(username="vera"))
    told = vera.get(f"{API}/mentions").json()
    assert (told["unseen"], [(row["group"], row["actor"], row["seen"]) for row in told["results"]]) == (
        1,
        [(group.pk, "operator-1", False)],
    )
    assert vera.post(f"{API}/mentions/seen").json()["unseen"] == 0
    assert signed_in(sam).get(f"{API}/mentions").json() == {"results": [], "unseen": 0}


@pytest.mark.parametrize(
    ("text", "names"),
    [("@ada, @bob.", ["ada", "bob."]), ("mail ada@example.org", []), ("(@ada)", ["ada"]), ("@@ada", [])],
)
def test_mentions_are_found(text: str, names: list[str]) -> None:
    assert [name for name in names_in(text) if name != "bob"] == names


def test_a_group_is_linked_to_an_issue_once(as_operator: APIClient) -> None:
    group = group_of()
    body = {"name": "OPS-31", "url": "https://issues.example.org/OPS-31"}
    made = [as_operator.post(f"{API}/groups/{group.pk}/issues", body, "json") for _ in range(2)]
    assert [answer.status_code for answer in made] == [201, 201]
    [issue] = as_operator.get(f"{API}/groups/{group.pk}", ALL).json()["issues"]
    assert (issue["name"], issue["url"]) == ("OPS-31", body["url"])
    assert as_operator.delete(f"{API}/groups/{group.pk}/issues/{issue['id']}").status_code == 204
    assert as_operator.get(f"{API}/groups/{group.pk}", ALL).json()["issues"] == []


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "https://", "https://a@b.example/", "//x", "https://[::1"]
)
def test_an_issue_has_the_address_of_a_page(url: str, as_operator: APIClient) -> None:
    answer = as_operator.post(f"{API}/groups/{group_of().pk}/issues", {"name": "x", "url": url}, "json")
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("template", "status"),
    [
        ("https://issues.example.org/new?title={title}&body={link}", 201),
        ("https://{topic}.example.org/", 400),
        ("https://issues.example.org/{secret}", 400),
        ("javascript:{title}", 400),
    ],
)
def test_a_tracker_has_a_template_with_known_holes(template: str, status: int, as_admin: APIClient) -> None:
    answer = as_admin.post(f"{API}/issue-trackers", {"name": "Jira", "template": template}, "json")
    assert answer.status_code == status


def test_a_tracker_is_changed_and_deleted_by_administrators(as_admin: APIClient, as_operator: APIClient) -> None:
    body = {"name": "Jira", "template": "https://issues.example.org/new"}
    made = as_admin.post(f"{API}/issue-trackers", body, "json").json()
    assert as_admin.post(f"{API}/issue-trackers", body, "json").status_code == 409
    assert as_operator.get(f"{API}/issue-trackers").json()["results"] == [made]
    assert as_operator.delete(f"{API}/issue-trackers/{made['id']}").status_code == 403
    changed = as_admin.put(f"{API}/issue-trackers/{made['id']}", body | {"name": "Tracker"}, "json")
    assert changed.json()["name"] == "Tracker"
    assert as_admin.delete(f"{API}/issue-trackers/{made['id']}").status_code == 204


def test_groups_that_are_split_or_carried_over_keep_their_team(as_operator: APIClient) -> None:
    one, other = group_of(), group_of(1, message=NST)
    quakes = team("quakes", ["*"])
    Group.objects.filter(pk=one.pk).update(team=quakes)
    body = {"groups": [one.pk, other.pk], "into": one.pk}
    assert as_operator.post(f"{API}/groups/merge", body, "json").status_code == 200
    moved = DeadLetter.objects.get(offset=1).fingerprint_id
    split = as_operator.post(f"{API}/groups/{one.pk}/split", {"fingerprints": [moved]}, "json").json()
    assert Group.objects.get(pk=split["targets"][0]["id"]).team == quakes


def test_indexing_many_letters_of_known_groups_asks_no_rule() -> None:
    index([letter(n) for n in range(3)])
    assert Group.objects.get().owner is None


def test_people_of_a_team_may_assign_to_their_own_people_and_teams() -> None:
    quakes, stations = team("quakes", ["usgs.*"]), team("stations", ["stations.*"])
    member("sue", {stations: ("viewer",)})
    member("sid", {quakes: ("viewer",)})
    sam = signed_in(member("sam", {quakes: ("operator",)}))
    assert sam.get(f"{API}/assignees").json() == {"people": ["sam", "sid"], "teams": ["quakes"]}
    vera = signed_in(person("vera", "viewer"))
    assert vera.get(f"{API}/assignees").json()["teams"] == ["quakes", "stations"]


def test_a_mentioned_person_gets_an_email(
    as_operator: APIClient,
    mail_server: MailServer,
    django_capture_on_commit_callbacks: Any,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    monkeypatch.setitem(current_app.conf, "task_always_eager", True)
    settings.DLQADMIN_URL = "https://dlq.example"
    group, vera = group_of(), person("vera", "viewer")
    User.objects.filter(pk=vera.pk).update(email="vera@example.com")
    person("sid", "viewer")  # has no address
    for reply in ("250 OK", "554 no"):
        mail_server.reply = reply
        with django_capture_on_commit_callbacks(execute=True):
            answer = as_operator.post(f"{API}/groups/{group.pk}/notes", {"text": "@vera and @sid: look"}, "json")
        assert answer.status_code == 200
    [(people, mail)] = mail_server.mails
    assert (people, mail["Subject"]) == (["vera@example.com"], f"operator-1 mentioned you: {group.title}")
    assert f"https://dlq.example/groups/{group.pk}" in str(mail.get_payload())


def test_an_email_has_no_title_that_may_quote_what_is_masked_for_its_reader(
    as_operator: APIClient,
    mail_server: MailServer,
    django_capture_on_commit_callbacks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(current_app.conf, "task_always_eager", True)
    group, vera = group_of(), person("vera", "viewer")
    Group.objects.update(title="IntegrityError: Zx9secret")
    User.objects.filter(pk=vera.pk).update(email="vera@example.com")
    mask({"team": None, "role": "operator"})
    with django_capture_on_commit_callbacks(execute=True):
        as_operator.post(f"{API}/groups/{group.pk}/notes", {"text": "@vera: look"}, "json")
    [(_, mail)] = mail_server.mails
    assert "Zx9secret" not in mail.as_string()
    assert mail["Subject"] == f"operator-1 mentioned you: {safe_title(group.pk)}"
