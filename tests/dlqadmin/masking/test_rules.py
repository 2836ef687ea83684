"""Whom a masking rule is for, and what people with masked fields see, find, edit and reveal."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.alerts.models import AlertFiring
from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.index.word_index import write_queued_words
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import HIDDEN, reader_of
from dlqadmin.deadletters.search.masked_rows import topic_reader
from dlqadmin.exports.tasks import write_exports
from dlqadmin.masking.models import MaskingRule
from dlqadmin.masking.rules import rules_for
from dlqadmin.notifications import deliveries
from dlqadmin.notifications.messages import ChannelMessage
from dlqadmin.overview.models import Dismissal
from tests.dlqadmin.conftest import member, person, signed_in, team, token_of
from tests.dlqadmin.deadletters.letters import ALL, index, letter
from tests.dlqadmin.exports.reading import body as streamed
from tests.dlqadmin.notifications.sending import made as pager

pytestmark = pytest.mark.django_db
API = "/api/v1"
PHONE = "+4915550142"
VALUE = b'{ "phone": "%s", "mag":1.60 }' % PHONE.encode()
BODY = {
    "topics": ["usgs.*"], "kind": "json path", "field": "$.phone", "show": "last four", "except_roles": [],
    "reason": "privacy", "active": True,
}  # fmt: skip


@pytest.fixture(autouse=True)
def letters() -> None:
    index(
        [
            letter(n, value=VALUE, message=f"cannot call '{PHONE}'", headers=(("phone", PHONE.encode()),))
            for n in range(2)
        ]
    )
    index(
        [
            letter(2, value=b"no json", message=f"cannot call {PHONE}"),
            letter(0, topic="stations.dlq", value=b'{"a": 1}'),
        ]
    )
    write_queued_words()


def rule(**changes: Any) -> MaskingRule:
    facts = {**BODY, **changes}
    facts["is_active"] = facts.pop("active")
    return MaskingRule.objects.create(created_at=timezone.now(), changed_at=timezone.now(), **facts)


def ask(client: APIClient, path: str, **params: Any) -> Any:
    answer = client.get(f"{API}/{path}", {**ALL, **params})
    assert answer.status_code == 200, answer.content
    return answer.json()


def first() -> DeadLetter:
    return DeadLetter.objects.get(topic="usgs.earthquakes.dlq", offset=0)


def test_the_detail_keeps_all_bytes_but_the_masked_ones(as_operator: APIClient) -> None:
    rule()
    rule(kind="header", field="phone", show="nothing")
    shown = ask(as_operator, f"dead-letters/{first().pk}")
    assert shown["value"]["text"] == '{ "phone": "***0142", "mag":1.60 }'
    assert base64.b64decode(shown["value"]["base64"]).decode() == shown["value"]["text"]
    assert shown["message"] == "cannot call '***'"
    assert {row["text"] for row in shown["headers"] if row["name"] == "phone"} == {"***"}
    assert PHONE not in str(shown)


def test_the_detail_tells_masked_content_from_content_that_looks_like_a_mask(as_operator: APIClient) -> None:
    rule(show="nothing")
    rule(kind="header", field="phone", show="nothing")
    headers = (("phone", b"***"), ("plain", b"***"))
    index([letter(3, value=b'{"phone": "***", "plain": "***"}', headers=headers, key=b'"***"')])
    shown = ask(as_operator, f"dead-letters/{DeadLetter.objects.get(offset=3).pk}")
    assert (shown["value"]["masked"], shown["value"]["masked_members"]) == (True, ["/phone"])
    assert (shown["key"]["masked"], shown["key"]["masked_members"]) == (False, [])
    masked = {row["name"]: row["masked"] for row in shown["headers"]}
    assert (masked["phone"], masked["plain"]) == (True, False)


def test_a_value_that_is_no_json_is_hidden_with_its_messages(as_operator: APIClient) -> None:
    rule()
    shown = ask(as_operator, f"dead-letters/{DeadLetter.objects.get(offset=2).pk}")
    assert (shown["value"]["withheld"], shown["value"]["text"], shown["message"]) == (True, None, HIDDEN)
    assert (shown["value"]["masked"], shown["value"]["masked_members"]) == (True, [])
    assert PHONE not in str(shown)


def test_rows_of_a_list_have_masked_messages(as_operator: APIClient) -> None:
    rule()
    messages = {row["message"] for row in ask(as_operator, "dead-letters", topic="usgs.earthquakes.dlq")["results"]}
    assert messages == {"cannot call '***'", HIDDEN}


def test_content_that_a_viewer_may_not_read_is_not_called_masked(as_viewer: APIClient) -> None:
    rule()
    shown = ask(as_viewer, f"dead-letters/{first().pk}")
    assert (shown["value"]["withheld"], shown["value"]["masked"]) == (True, False)


def test_bytes_are_masked_and_topics_without_rules_are_exact(as_operator: APIClient) -> None:
    rule()
    masked = as_operator.get(f"{API}/dead-letters/{first().pk}/bytes", {"part": "value"})
    assert masked.content == VALUE.replace(PHONE.encode(), b"***0142")
    other = DeadLetter.objects.get(topic="stations.dlq")
    rule(topics=["usgs.earthquakes"], field="$.a")  # the topic of the origin counts too
    assert as_operator.get(f"{API}/dead-letters/{other.pk}/bytes").content == b'{"a": "***"}'


def test_inactive_rules_and_other_topics_mask_nothing(as_operator: APIClient) -> None:
    rule(active=False)
    rule(topics=["stations.dlq"])
    assert as_operator.get(f"{API}/dead-letters/{first().pk}/bytes").content == VALUE


@pytest.mark.parametrize(
    "guess", [{"q": f'value.phone:"{PHONE}"'}, {"q": "4915550142"}, {"key": "ci37868135"}, {"q": "-nothing"}]
)
def test_a_search_for_masked_content_finds_nothing(as_operator: APIClient, guess: dict[str, str]) -> None:
    rule()
    for path in ("dead-letters", "groups"):
        assert {row.get("topic", "stations.dlq") for row in ask(as_operator, path, **guess)["results"]} <= {
            "stations.dlq"
        }


def test_an_export_is_masked_for_its_author(as_operator: APIClient, settings: Settings, tmp_path: Any) -> None:
    settings.EXPORTS_DIR = tmp_path
    rule()
    rule(kind="header", field="phone", show="nothing")
    for form in ("ndjson", "csv"):
        made = as_operator.post(
            f"{API}/exports", {"format": form, "filter": f"from={ALL['from']}&to={ALL['to']}"}
        ).json()
        write_exports()
        answer: Any = as_operator.get(f"{API}/exports/{made['id']}/file")
        written = streamed(answer)
        assert b"***0142" in written
        assert PHONE.encode() not in written


def test_nobody_encodes_a_value_that_is_masked_for_them(as_operator: APIClient) -> None:
    rule()
    answer = as_operator.post(f"{API}/dead-letters/{first().pk}/fix/encode", {"json": "{}"})
    assert (answer.status_code, "masked for you" in answer.json()["detail"]) == (403, True)


def test_no_jq_file_or_rehearsal_sees_masked_records(as_operator: APIClient) -> None:
    chosen = as_operator.post(f"{API}/selections", {"ids": [first().pk]}).json()["id"]
    rule()
    body = {"selection": chosen, "kind": "jq", "program": ".copy = .phone"}
    for path in ("bulk-fixes", "bulk-fixes/preview"):
        assert as_operator.post(f"{API}/{path}", body).status_code == 403
    assert as_operator.get(f"{API}/bulk-fixes/export", {"selection": chosen}).status_code == 403
    assert as_operator.post(f"{API}/rehearsals", {"dead_letter": first().pk}).status_code == 403


def test_whom_a_rule_excepts(operator: User) -> None:
    quakes = team("quakes", ["usgs.*"])
    rule(except_roles=[{"team": quakes.pk, "role": "operator"}, {"team": None, "role": "approver"}])
    admin = User.objects.create_superuser("root")
    people = [member("in", {quakes: ("operator",)}), person("approver", "approver"), admin, operator]
    people += [member("view", {quakes: ("viewer",)})]
    assert [bool(rules_for(one)) for one in people] == [False, False, True, True, True]


def test_the_global_admin_can_be_excepted_but_not_with_a_token() -> None:
    rule(except_roles=[{"team": None, "role": "admin"}])
    admin = User.objects.create_superuser("root")
    assert rules_for(admin) == ()
    client = APIClient(headers={"Authorization": f"Bearer {token_of(admin)}"})
    assert PHONE.encode() not in client.get(f"{API}/dead-letters/{first().pk}/bytes").content


def test_a_reveal_needs_a_reason_and_is_audited(as_operator: APIClient) -> None:
    rule()
    path = f"{API}/dead-letters/{first().pk}/reveal"
    assert as_operator.post(path, {"part": "value", "path": "$.phone"}).status_code == 400
    answer = as_operator.post(path, {"part": "value", "path": "$.phone", "reason": "the customer called"})
    assert answer.json()["results"][0]["text"] == f'"{PHONE}"'
    assert answer["Cache-Control"] == "no-store"
    entry = AuditEntry.objects.get(action="revealed")
    assert (entry.detail["path"], entry.detail["reason"]) == ("$.phone", "the customer called")
    assert PHONE not in str(entry.detail)


def test_a_reveal_needs_the_roles_operator_and_payload_reader(as_reader: APIClient, as_viewer: APIClient) -> None:
    for client in (as_reader, as_viewer):
        answer = client.post(f"{API}/dead-letters/{first().pk}/reveal", {"part": "value", "reason": "I want to"})
        assert answer.status_code == 403


def test_administrators_make_replace_and_delete_rules(as_admin: APIClient) -> None:
    made = as_admin.post(f"{API}/masking-rules", BODY)
    assert made.status_code == 201, made.content
    path = f"{API}/masking-rules/{made.json()['id']}"
    assert as_admin.put(path, {**BODY, "show": "hash"}).json()["show"] == "hash"
    assert [row["show"] for row in as_admin.get(f"{API}/masking-rules").json()["results"]] == ["hash"]
    assert as_admin.delete(path).status_code == 204
    assert [entry.action for entry in AuditEntry.objects.filter(object_type="masking rule").order_by("pk")] == [
        "created", "changed", "deleted",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "changes", [{"field": "phone"}, {"kind": "regular expression", "field": "("}, {"topics": []}, {"reason": ""}]
)
def test_a_rule_that_cannot_work_is_refused(as_admin: APIClient, changes: dict[str, Any]) -> None:
    assert as_admin.post(f"{API}/masking-rules", {**BODY, **changes}).status_code == 400


def test_the_admin_of_a_team_makes_rules_for_its_topics_only(as_admin: APIClient) -> None:
    stations = team("stations", ["stations.*"])
    client = signed_in(member("tim", {stations: ("admin",)}))
    own = {**BODY, "topics": ["stations.dlq"]}
    assert client.post(f"{API}/masking-rules", {**own, "topics": ["stations.*"]}).status_code == 201
    assert client.post(f"{API}/masking-rules", BODY).status_code == 403
    assert client.post(f"{API}/masking-rules", {**own, "topics": ["s*"]}).status_code == 403
    theirs = as_admin.post(f"{API}/masking-rules", own).json()["id"]
    assert client.delete(f"{API}/masking-rules/{theirs}").status_code == 403
    assert (
        client.delete(f"{API}/masking-rules/{as_admin.post(f'{API}/masking-rules', BODY).json()['id']}").status_code
        == 404
    )


def test_the_admin_of_a_team_excepts_roles_in_the_team_only(as_admin: APIClient) -> None:
    stations, feeds = team("stations", ["stations.*"]), team("feeds", ["feeds.*"])
    client = signed_in(member("tim", {stations: ("admin",), feeds: ("operator",)}))

    def answer(of: APIClient, *teams: int | None) -> tuple[int, str]:
        roles = [{"team": one, "role": "operator"} for one in teams]
        made = of.post(f"{API}/masking-rules", {**BODY, "topics": ["stations.dlq"], "except_roles": roles})
        return made.status_code, str(made.json().get("detail", made.json()))

    assert answer(client, stations.pk)[0] == 201
    only = "You can except roles only in teams that you administer."
    assert answer(client, stations.pk, feeds.pk) == (403, only)
    assert answer(client, 4711) == (403, only)
    assert answer(client, None) == (403, "Only administrators can except roles that hold for all teams.")
    assert answer(as_admin, None, feeds.pk)[0] == 201
    status, text = answer(as_admin, 4711)
    assert (status, "there is no team 4711" in text) == (400, True)


def test_others_see_no_rules(as_operator: APIClient) -> None:
    assert as_operator.get(f"{API}/masking-rules").status_code == 403


def test_a_preview_counts_and_shows_an_example(as_admin: APIClient) -> None:
    body = {"rule": BODY, "topic": "usgs.earthquakes.dlq", "index": 1}
    shown = as_admin.post(f"{API}/masking-rules/preview", body).json()
    assert (shown["of"], shown["masked"], shown["hidden_whole"], shown["without_path"]) == (3, 2, 1, 0)
    assert MaskingRule.objects.count() == 0
    example = shown["example"]
    assert PHONE in example["before"]
    assert "***0142" in example["after"]


def test_a_file_that_was_written_before_a_rule_is_refused(
    as_operator: APIClient, settings: Settings, tmp_path: Any
) -> None:
    settings.EXPORTS_DIR = tmp_path
    made = as_operator.post(f"{API}/exports", {"format": "csv", "filter": f"from={ALL['from']}&to={ALL['to']}"}).json()
    write_exports()
    path = f"{API}/exports/{made['id']}/file"
    assert as_operator.get(path).status_code == 200
    rule()
    assert as_operator.get(path).status_code == 403


def test_a_preview_shows_no_field_that_is_masked_for_its_reader() -> None:
    rule(field="$.phone", show="nothing")
    admin = signed_in(member("tim", {team("stations", ["usgs.earthquakes.dlq"]): ("admin",)}))

    def preview(**trial: Any) -> dict[str, Any]:
        body = {"rule": {**BODY, "topics": ["usgs.earthquakes.dlq"], **trial}, "topic": "usgs.earthquakes.dlq"}
        answer = admin.post(f"{API}/masking-rules/preview", {**body, "index": 1})
        assert answer.status_code == 200, answer.content
        return dict(answer.json())

    other = preview(field="$.mag")
    assert (other["masked"], PHONE[-4:] in str(other["example"])) == (2, False)
    assert other["example"]["after"] == '{ "phone": "***", "mag":"***" }'
    # The counts are the same for a right guess and a wrong one.
    right, wrong = (preview(kind="regular expression", field=field) for field in (PHONE[1:8], "9999999"))
    assert right == wrong
    assert preview(field="$.phone")["masked"] == 2


def test_titles_of_groups_are_left_out_of_mentions_dismissals_and_alerts(as_admin: APIClient) -> None:
    vera = signed_in(person("vera", "operator"))
    group = DeadLetter.objects.filter(topic="usgs.earthquakes.dlq").latest("pk").fingerprint.group
    assert as_admin.post(f"{API}/groups/{group.pk}/notes", {"text": "@vera look"}).status_code == 200
    now = timezone.now()
    Dismissal.objects.create(
        finding="g", object_type="group", object_id=str(group.pk), kind="new", title=group.title, reason="known",
        actor="ada", at=now, until=now + timedelta(days=1), count=1,
    )  # fmt: skip
    AlertFiring.objects.create(
        rule_name="New groups", condition="group_new", subject_kind="group", subject_key=str(group.pk),
        title=group.title, started_at=now, last_seen=now,
    )  # fmt: skip
    deliveries.queue(pager("https://example.com"), ChannelMessage("alert.opened", group.title, ""), "key")
    doors = ("mentions", "attention/dismissals", "alerts", "deliveries")
    told = [vera.get(f"{API}/{door}") for door in doors]
    assert [(answer.status_code, group.title in answer.content.decode()) for answer in told] == [(200, True)] * 4
    rule()
    told = [vera.get(f"{API}/{door}") for door in doors]
    assert [(answer.status_code, group.title in answer.content.decode()) for answer in told] == [(200, False)] * 4


def test_a_dead_letter_topic_in_kafka_is_masked_like_the_origins_of_its_records() -> None:
    row = DeadLetter.objects.filter(topic="usgs.earthquakes.dlq").latest("pk")
    reader = reader_of(person("ada", "operator"))
    assert topic_reader(row.topic, reader).masks is None
    rule(topics=[row.origin_topic])
    reader = reader_of(person("bea", "operator"))
    assert topic_reader(row.topic, reader).part("value", VALUE) == VALUE.replace(PHONE.encode(), b"***0142")
    assert topic_reader("another.dlq", reader).masks is None
