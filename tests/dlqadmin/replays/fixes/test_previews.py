"""Bytes, nulls and warnings of a preview."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from dlqadmin.replays.fixes import previews
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.fixes.making import post, selected

pytestmark = pytest.mark.django_db

QUAKE = b'{"id":"%d","properties":{"gap":null,"nst":null,"rms":0.5}}'
MANY = 25


@pytest.fixture
def quakes(operator: User) -> None:
    """Records that keep gap under `properties`, and whose error names the column `gap`."""
    index([letter(offset, value=QUAKE % offset) for offset in range(MANY)])


def previewed(client: APIClient, *acts: dict[str, Any]) -> Any:
    lines = json.dumps([{"act": "set", "when": "null_or_missing", "value": 0, **act} for act in acts])
    return post(client, "bulk-fixes/preview", {"selection": selected(client), "kind": "fields", "program": lines}, 200)


def test_a_program_that_adds_a_field_beside_the_one_that_failed_is_doubted(
    as_operator: APIClient, quakes: None
) -> None:
    answer = previewed(as_operator, {"path": "gap"})
    assert (answer["counts"]["changed"], answer["counts"]["invalid"]) == (MANY, 0)
    missed, added = answer["warnings"]
    assert (missed["code"], missed["path"]) == ("named_untouched", None)
    assert missed["text"] == ("The program changes no field that the error names. gap is read from properties.gap.")
    assert (added["code"], added["path"]["jq"]) == ("field_added", ".gap")
    assert [one["jq"] for one in added["use"]] == [".properties.gap"]
    assert added["text"] == f"The program adds the field gap, which no record had, to {MANY} records."
    [share] = answer["nulls"]
    assert (share["column"], share["path"]["name"]) == ("gap", "properties.gap")
    assert (share["records"], share["null_before"], share["null_after"]) == (MANY, MANY, MANY)


def test_a_program_that_fills_the_named_field_is_not_doubted(as_operator: APIClient, quakes: None) -> None:
    answer = previewed(as_operator, {"path": "properties.gap"})
    assert answer["warnings"] == []
    [share] = answer["nulls"]
    assert (share["null_before"], share["null_after"]) == (MANY, 0)
    size = sum(len(QUAKE % offset) for offset in range(MANY))
    assert (answer["bytes_before"], answer["bytes_after"]) == (size, size - MANY * 3)


def test_a_program_that_changes_another_field_is_doubted(as_operator: APIClient, quakes: None) -> None:
    answer = previewed(as_operator, {"path": "properties.nst"})
    nulls = [(one["column"], one["path"]["name"], one["null_before"], one["null_after"]) for one in answer["nulls"]]
    assert nulls == [("gap", "properties.gap", MANY, MANY), (None, "properties.nst", MANY, 0)]
    [warning] = answer["warnings"]
    assert (warning["code"], warning["path"]["jq"]) == ("named_untouched", ".properties.nst")
    assert [one["jq"] for one in warning["use"]] == [".properties.gap"]


def test_a_program_that_changes_nothing_is_not_doubted(as_operator: APIClient, quakes: None) -> None:
    assert previewed(as_operator, {"path": "gap", "when": "present"})["warnings"] == []


def test_a_replaced_parent_counts_as_a_change_of_the_field(as_operator: APIClient, quakes: None) -> None:
    answer = previewed(as_operator, {"path": "properties", "when": "always", "value": {"gap": 1}})
    assert [one["code"] for one in answer["warnings"]] == []


def test_a_missing_field_that_no_record_has_may_be_added(as_operator: APIClient, operator: User) -> None:
    index([letter(1, value=b'{"mag":1}', message="Missing required field: gap")])
    assert previewed(as_operator, {"path": "gap"})["warnings"] == []
    [warning] = previewed(as_operator, {"path": "mag", "when": "always"})["warnings"]
    assert warning["code"] == "named_not_found"
    assert warning["text"] == "The error names gap, but no counted record has a field of this name."


def test_a_field_that_other_records_have_may_be_added(as_operator: APIClient, operator: User) -> None:
    index([letter(1, value=b'{"gap":7}'), letter(2, value=b'{"mag":1}')])
    assert previewed(as_operator, {"path": "gap"})["warnings"] == []


def test_values_that_are_not_json_are_left_out(as_operator: APIClient, quakes: None) -> None:
    index([letter(99, value=b"{broken")])
    [share] = previewed(as_operator, {"path": "properties.gap"})["nulls"]
    assert share["records"] == MANY


def test_partial_counts_say_so(as_operator: APIClient, quakes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "COUNT_S", 0.0)
    answer = previewed(as_operator, {"path": "properties.gap"})
    assert (answer["counted_all"], answer["counts"]["matched"], answer["nulls"][0]["records"]) == (False, 1, 1)
