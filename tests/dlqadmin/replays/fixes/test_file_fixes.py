"""Records that are fixed in a file elsewhere, over REST."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import file_fixes
from dlqadmin.replays.fixes.drafts import message_of
from dlqadmin.replays.models import BulkFix, Fix
from tests.dlqadmin.deadletters.letters import index_one, letter
from tests.dlqadmin.keys import IdempotencyKey
from tests.dlqadmin.replays.fixes.making import API, NULL, exported, imported, selected

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_what_was_edited_in_a_file_comes_back_as_drafts(as_operator: APIClient, indexed: list[int]) -> None:
    rows = exported(as_operator)
    assert [row["id"] for row in rows] == indexed
    rows[0]["value"]["text"] = "typed"
    rows[1]["value"] = {"base64": base64.b64encode(b"\xff").decode()}
    rows[2]["headers"].append({"name": "fixed", "value": {"text": "yes"}})
    rows[3]["value"] = {"base64": None}
    answer = imported(as_operator, rows)
    assert (answer["kind"], answer["status"]) == ("offline", "done")
    assert answer["counts"] == {"matched": 41, "changed": 4, "untouched": 37, "invalid": 0, "kept": 0}
    values = [fix.value and bytes(fix.value) for fix in Fix.objects.order_by("dead_letter")]
    assert values == [b"typed", b"\xff", NULL, None]


def test_a_file_with_one_bad_line_is_refused_whole(as_operator: APIClient, indexed: list[int]) -> None:
    rows = exported(as_operator)
    for row in rows[:4]:
        row["value"]["text"] = "typed"
    rows[1]["digest"] = rows[-1]["digest"]
    rows[2]["id"] = 999_999
    rows[3]["value"]["base64"] = base64.b64encode(b"other").decode()
    said = imported(as_operator, rows, 400)["detail"]
    for line in (
        "line 2: the digest does not match record",
        "line 3: record 999999 does not exist",
        "line 4: value: text and base64",
    ):
        assert line in said
    assert (Fix.objects.count(), BulkFix.objects.count()) == (0, 0)


def test_the_same_key_imports_a_file_once(as_operator: APIClient, indexed: list[int]) -> None:
    rows, key = exported(as_operator), IdempotencyKey({"Idempotency-Key": "file"})
    rows[0]["value"]["text"] = "typed"
    one = imported(as_operator, rows, **key)
    assert imported(as_operator, rows, 200, **key)["id"] == one["id"]
    assert "another body" in imported(as_operator, rows[:1], 409, **key)["detail"]
    assert "another body" in imported(as_operator, rows, 409, "?replace=true", **key)["detail"]
    assert imported(as_operator, rows)["id"] != one["id"]


def test_a_draft_that_is_made_meanwhile_refuses_the_file_whole(
    as_operator: APIClient, operator: User, indexed: list[int]
) -> None:
    rows, now = exported(as_operator), timezone.now()
    for row in rows[:2]:
        row["value"]["text"] = "typed"
    others = [Fix(dead_letter_id=rows[1]["id"], author=operator, headers=b"", created_at=now, updated_at=now)]

    def save_another(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if others and sql.startswith(f'INSERT INTO "{Fix._meta.db_table}"'):
            others.pop().save()
        return execute(sql, *rest)

    with connection.execute_wrapper(save_another):
        said = imported(as_operator, rows, 409)["detail"]
    assert said == (
        "A record or one of your drafts changed during the import. Nothing was saved. Import the file again."
    )
    assert (others, Fix.objects.count(), BulkFix.objects.count()) == ([], 0, 0)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "contains no record"),
        (b"{}\n", "line 1: Object missing required field"),
        (b"no\n[]\n", "line 2: Expected `object`"),
        (b'{"id":1,"digest":"","key":{},"value":{"base64":"?"},"headers":[]}', "line 1: record 1 does not exist"),
        (b'{"id":%d,"digest":"","key":{},"value":{},"headers":[]}' % 2**63, "line 1: Expected `int` <= "),
    ],
)
def test_a_file_that_is_none_says_which_line(as_operator: APIClient, data: bytes, says: str) -> None:
    response = as_operator.post(f"{API}/bulk-fixes/import", data, content_type="application/x-ndjson")
    assert response.status_code == 400
    assert says in response.json()["detail"]


def test_a_file_has_at_most_50_mb(as_operator: APIClient, indexed: list[int]) -> None:
    data = b" " * (file_fixes.MAX_BYTES + 1)
    response = as_operator.post(f"{API}/bulk-fixes/import", data, content_type="application/x-ndjson")
    assert "larger than 50 MB" in response.json()["detail"]
    DeadLetter.objects.filter(pk=indexed[0]).update(value_size=file_fixes.MAX_BYTES + 1)
    response = as_operator.get(f"{API}/bulk-fixes/export", {"selection": selected(as_operator)})
    assert (response.status_code, "larger than 50 MB" in response.json()["detail"]) == (409, True)


def test_a_file_of_nothing_but_trouble_is_told_by_its_first_lines(as_operator: APIClient, indexed: list[int]) -> None:
    response = as_operator.post(f"{API}/bulk-fixes/import", b"x\n" * 100_000, content_type="application/x-ndjson")
    assert response.status_code == 400
    assert "line 20:" in response.json()["detail"]
    assert "line 21:" not in response.json()["detail"]
    assert response.json()["detail"].endswith("and more")


def test_headers_come_and_go_in_a_file(as_operator: APIClient) -> None:
    row = index_one(letter(1, headers=(("a", b"1"), ("b", b"2"), ("b", b"3"), ("c", b"4"))))
    (line,) = exported(as_operator)
    own = line["headers"]
    line["headers"] = [
        {"name": "new", "value": {"text": "5"}},
        {"name": "b", "value": {**own[2]["value"], "text": "edited"}},
        {"name": "renamed", "value": {**own[3]["value"], "text": "too"}},
        {"name": "b", "value": {**own[1]["value"], "base64": base64.b64encode(b"\xff").decode()}},
    ]
    assert imported(as_operator, [line])["counts"]["changed"] == 1
    headers = (("new", b"5"), ("b", b"edited"), ("renamed", b"too"), ("b", b"\xff"))
    assert message_of(Fix.objects.get(dead_letter=row)).headers == headers


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({}, "header 1: has neither base64 nor text; write null as null"),
        ({"base64": "Nw==", "text": "8"}, "header 1: text and base64 differ from each other and from the original"),
        ({"base64": "Mg==", "text": "3"}, "it is unclear which of them was edited"),
    ],
)
def test_a_header_that_says_two_things_is_refused(as_operator: APIClient, value: Any, says: str) -> None:
    index_one(letter(1, headers=(("a", b"1"), ("b", b"2"), ("b", b"3"))))
    (line,) = exported(as_operator)
    line["headers"] = [{"name": "b", "value": value}]
    assert says in imported(as_operator, [line], 400)["detail"]


def test_the_text_of_a_header_that_moved_is_not_dropped_for_what_stood_there(as_operator: APIClient) -> None:
    index_one(letter(1, headers=(("h", b"a"), ("h", b"b"))))
    (line,) = exported(as_operator)
    line["headers"] = [{**line["headers"][1], "value": {**line["headers"][1]["value"], "text": "a"}}]
    assert "it is unclear which of them was edited" in imported(as_operator, [line], 400)["detail"]
