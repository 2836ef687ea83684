"""Fields of a selection, versions of programs, and templates, over REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import programs, record_batches, selection_fields
from dlqadmin.replays.fixes.record_changes import changer
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import FixProgram
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import GAP, NST, index, letter
from tests.dlqadmin.replays.fixes.making import API, post, selected

pytestmark = pytest.mark.django_db

QUAKE = b'{"id":"%d","properties":{"gap":null,"nst":%s,"place":"Kodiak"},"geometry":{"xs":[%d,2]}}'


@pytest.fixture
def chosen(as_operator: APIClient) -> int:
    """A selection of records whose error names `gap`; another group of the connector names `nst`."""
    index([letter(offset, value=QUAKE % (offset, b"null" if offset % 2 else b"7", offset)) for offset in range(10)])
    made = int(post(as_operator, "selections", {"filter": f"topic=usgs.earthquakes.dlq&{WEEK}"})["id"])
    index([letter(900, message=NST, topic="other.dlq", at_ms=0)])
    return made


WEEK = "from=2026-11-14T03:12:30Z&to=2026-11-21T03:12:31Z"


def fields(client: APIClient, selection: int) -> Any:
    response = client.get(f"{API}/selections/{selection}/fields")
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.sql
def test_named_fields_come_first_then_those_of_the_same_constraint(as_operator: APIClient, chosen: int) -> None:
    answer = fields(as_operator, chosen)
    assert (answer["records"], answer["read"], answer["unread"]) == (10, 10, 0)
    assert (answer["exact"], answer["cut"]) == (True, False)
    assert answer["groups"] == [DeadLetter.objects.get(offset=0).fingerprint.group_id]
    rows = [(one["path"]["name"], one["reason"], one["nulls"], one["present"]) for one in answer["fields"]]
    assert rows == [
        ("properties.gap", "named", 10, 0),
        ("properties.nst", "constraint", 5, 5),
        ("id", "other", 0, 10),
        ("properties.place", "other", 0, 10),
        ("geometry.xs[0]", "other", 0, 10),
        ("geometry.xs[1]", "other", 0, 10),
    ]
    nst, place, xs = answer["fields"][1], answer["fields"][3], answer["fields"][4]
    assert (nst["column"], set(nst["types"]), nst["minimum"], nst["maximum"]) == ("nst", {"null", "number"}, "7", "7")
    assert (place["values"], place["distinct"]) == ([{"text": "Kodiak", "count": 10}], 1)
    assert (xs["minimum"], xs["maximum"], xs["distinct"]) == ("0", "9", 10)
    [named] = answer["named"]
    assert (named["name"], named["table"], [one["jq"] for one in named["paths"]]) == (
        "gap", "earthquakes", [".properties.gap"],
    )  # fmt: skip


def test_columns_of_other_connectors_are_not_of_the_same_constraint(as_operator: APIClient, chosen: int) -> None:
    index(
        [letter(901, message="NOT NULL constraint failed: earthquakes.place", connector="another", topic="other.dlq")]
    )
    reasons = {one["path"]["name"]: one["reason"] for one in fields(as_operator, chosen)["fields"]}
    assert (reasons["properties.place"], reasons["properties.nst"]) == ("other", "constraint")


@pytest.mark.slow
def test_suggested_programs_change_the_named_field(as_operator: APIClient, chosen: int) -> None:
    suggested = {one["program"]: one["title"] for one in fields(as_operator, chosen)["suggestions"]}
    assert list(suggested) == [
        ".properties.gap //= 0",
        '.properties.gap //= ""',
        ".properties.gap //= 0 | .properties.nst //= 0",
    ]
    assert suggested[".properties.gap //= 0"] == "Set properties.gap to 0 where it is null"
    for program in suggested:
        with changer("jq", program) as change:
            assert "/properties/gap" in change(Outgoing(None, QUAKE % (1, b"null", 1), ())).paths


@pytest.mark.parametrize(
    ("value", "message", "suggested"),
    [
        (b'{"mag":1}', GAP, []),  # no field of this name: no program may add one
        (b'{"properties":{"gap":1}}', GAP, []),  # not null
        (b'{"gap":null,"properties":{"gap":null}}', GAP, [".gap", ".gap", ".properties.gap", ".properties.gap"]),
        (b'{"payload":{"after":{"gap":null}}}', GAP, [".payload.after.gap", ".payload.after.gap"]),
        (b'{"gap":null}', 'null used for required field: "gap", schema type: STRING', ['.gap //= ""']),
        (b"{broken", GAP, []),
        (
            b'{"properties":{"mag":"n/a"}}',
            "field properties.mag: '<withheld>' can't be cast to float64",
            ['if (.properties.mag | type) == "string" then .properties.mag |= (tonumber? // null) else . end'],
        ),
    ],
)
def test_a_program_is_suggested_for_each_path_that_there_is(
    as_operator: APIClient, operator: User, value: bytes, message: str, suggested: list[str]
) -> None:
    index([letter(1, value=value, message=message)])
    found = [one["program"] for one in fields(as_operator, selected(as_operator))["suggestions"]]
    assert len(found) == len(suggested)
    assert all(program.startswith(start) for program, start in zip(found, suggested, strict=True))


@pytest.mark.slow
def test_a_suggested_program_creates_no_parent_and_keeps_false(as_operator: APIClient, operator: User) -> None:
    values = [b'{"after":{"gap":null}}', b'{"after":null}', b'{"after":{"gap":false}}']
    index([letter(offset, value=value) for offset, value in enumerate(values)])
    [one] = fields(as_operator, selected(as_operator))["suggestions"]
    with changer("jq", one["program"]) as change:
        made = [change(Outgoing(None, value, ())) for value in values]
    assert [row.what for row in made] == ["changed", "untouched", "untouched"]
    assert made[0].message is not None
    assert made[0].message.value == b'{"after":{"gap":false}}'


def test_reading_is_limited_and_says_so(as_operator: APIClient, chosen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "AT_ONCE", 4)
    monkeypatch.setattr(selection_fields, "MAX_READ", 4)
    answer = fields(as_operator, chosen)
    assert (answer["records"], answer["read"], answer["exact"]) == (10, 4, False)


def test_fields_need_the_right_to_read_payloads_and_are_audited(
    as_operator: APIClient, operator: User, chosen: int
) -> None:
    blind = signed_in(person("blind", "operator", payload_reader=False))
    for path in ("fields", "programs"):
        assert blind.get(f"{API}/selections/{chosen}/{path}").status_code == 403
    assert as_operator.get(f"{API}/selections/999/fields").status_code == 404
    fields(as_operator, chosen)
    entry = AuditEntry.objects.filter(user=operator, action="read payload").latest("pk")
    assert (entry.object_id, entry.detail["what"]) == (f"S-{chosen}", "fields and sample values")


@pytest.mark.sql
def test_previewed_programs_are_kept_with_their_counts(as_operator: APIClient, chosen: int) -> None:
    patch = '[{"op":"replace","path":"/properties/gap","value":%d}]'
    for value in (0, 1, 0):
        body = {"selection": chosen, "kind": "patch", "program": patch % value}
        post(as_operator, "bulk-fixes/preview", body, 200)
    post(as_operator, "bulk-fixes/preview", {"selection": chosen, "kind": "patch", "program": "["}, 400)
    rows = as_operator.get(f"{API}/selections/{chosen}/programs").json()["results"]
    assert [row["program"] for row in rows] == [patch % 0, patch % 1]  # the same one moves up
    assert (rows[0]["counts"]["changed"], rows[0]["counted_all"], rows[0]["own"]) == (10, True, True)
    assert (rows[0]["author"], rows[0]["kind"], rows[0]["name"]) == ("operator-1", "patch", None)


@pytest.mark.sql
def test_the_oldest_versions_are_deleted(as_operator: APIClient, chosen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_VERSIONS", 2)
    for value in range(4):
        program = f'[{{"act":"set","path":"id","value":{value}}}]'
        post(as_operator, "bulk-fixes/preview", {"selection": chosen, "kind": "fields", "program": program}, 200)
    assert [one.program[-3] for one in FixProgram.objects.order_by("pk")] == ["2", "3"]


@pytest.mark.sql
def test_templates_are_listed_shared_and_deleted(as_operator: APIClient, operator: User) -> None:
    other = signed_in(person("other", "operator"))
    body = {"name": "Null to 0", "kind": "jq", "program": ".gap //= 0", "shared": True}
    shared = post(as_operator, "fix-templates", body)
    own = post(as_operator, "fix-templates", {**body, "name": "Mine", "shared": False})
    assert "already" in post(as_operator, "fix-templates", body, 409)["detail"]
    post(other, "fix-templates", body)
    mine = as_operator.get(f"{API}/fix-templates").json()["results"]
    assert [(row["name"], row["own"]) for row in mine] == [("Mine", True), ("Null to 0", True), ("Null to 0", False)]
    theirs = other.get(f"{API}/fix-templates").json()["results"]
    assert own["id"] not in {row["id"] for row in theirs}
    assert other.delete(f"{API}/fix-templates/{shared['id']}").status_code == 404
    assert as_operator.delete(f"{API}/fix-templates/{shared['id']}").status_code == 204
    assert AuditEntry.objects.filter(object_type="fix template").values_list("action", flat=True).count() == 4


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "kind": "jq", "program": "."},
        {"name": "a", "kind": "offline", "program": "."},
        {"name": "a", "kind": "jq", "program": ""},
        {"name": "a" * 101, "kind": "jq", "program": "."},
    ],
)
def test_an_incomplete_template_is_refused(as_operator: APIClient, operator: User, body: Any) -> None:
    post(as_operator, "fix-templates", body, 400)
