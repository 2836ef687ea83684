"""Bulk fixes by people for whom fields of the records are masked."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.masking.masks import FieldMask, RecordMasks
from dlqadmin.masking.models import MaskingRule
from dlqadmin.replays.fixes import bulk_fixes
from dlqadmin.replays.fixes.masked_programs import COPIED, FRAME, masked_change
from dlqadmin.replays.fixes.record_changes import changer
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import BulkFix, Fix
from dlqadmin.replays.selections import frozen_selections
from tests.dlqadmin.deadletters.letters import index_one, letter

API = "/api/v1"
SECRET = "Zx9secret4711"
VALUE = b'{"ssn": "Zx9secret4711", "gap": null, "items": [{"ssn": "Zx9secret0001"}, 2]}'
MASKS = RecordMasks((FieldMask("json path", "$..ssn", "last four"),))


def outcome(kind: str, program: Any) -> tuple[str, str, bytes | None]:
    with changer(kind, json.dumps(program)) as change:
        made = masked_change(MASKS, Outgoing(b"k", VALUE, (("h", b"v"),)), change)
    return made.what, made.why, made.message.value if made.message else None


@pytest.mark.parametrize(
    ("kind", "program"),
    [
        ("patch", [{"op": "replace", "path": "/gap", "value": 0}]),
        ("patch", [{"op": "test", "path": "/ssn", "value": "***4711"}, {"op": "add", "path": "/gap", "value": 0}]),
        ("fields", [{"act": "set", "path": "gap", "value": 0, "when": "null"}]),
    ],
)
def test_a_program_changes_fields_that_are_shown(kind: str, program: Any) -> None:
    assert outcome(kind, program) == ("changed", "", VALUE.replace(b"null", b"0"))


@pytest.mark.parametrize("value", [SECRET, "another"])
def test_a_test_of_a_masked_field_tells_nothing(value: str) -> None:
    program = [{"op": "test", "path": "/ssn", "value": value}, {"op": "replace", "path": "/gap", "value": 0}]
    assert outcome("patch", program) == ("untouched", "", None)


@pytest.mark.parametrize(
    ("kind", "program", "why"),
    [
        ("patch", [{"op": "copy", "from": "/ssn", "path": "/gap"}], COPIED),
        ("patch", [{"op": "move", "from": "/ssn", "path": "/gap"}], "/ssn of the value"),
        ("patch", [{"op": "replace", "path": "/ssn", "value": SECRET}], "/ssn of the value"),
        ("patch", [{"op": "remove", "path": "/items/0"}], "/items/0/ssn of the value"),
        ("patch", [{"op": "remove", "path": "/items/0"}, {"op": "copy", "from": "/items/0", "path": "/gap"},
                   {"op": "add", "path": "/items/0", "value": {"ssn": "***0001"}}], ""),
        ("fields", [{"act": "cast", "path": "ssn", "to": "integer"}], "***4711"),
        ("fields", [{"act": "set_header", "name": "x", "value": SECRET}], FRAME),
        ("fields", [{"act": "set_key", "value": SECRET}], FRAME),
    ],
)  # fmt: skip
def test_a_program_does_not_reach_a_masked_field(kind: str, program: Any, why: str) -> None:
    what, said, value = outcome(kind, program)
    assert (what, value, SECRET in said) == ("invalid", None, False) or (what == "changed" and not why)
    assert why in said
    assert value is None or value.count(b"Zx9secret0001") == 1


def test_a_bulk_fix_makes_drafts_with_real_bytes(as_operator: APIClient) -> None:
    row = index_one(letter(1, key=b"k", value=VALUE))
    MaskingRule.objects.create(
        topics=["*"], kind="json path", field="$..ssn", show="nothing", created_at=timezone.now(),
        changed_at=timezone.now(),
    )  # fmt: skip
    chosen = as_operator.post(f"{API}/selections", {"ids": [row.pk]}).json()["id"]
    body = {"selection": chosen, "kind": "patch", "program": '[{"op": "replace", "path": "/gap", "value": 0}]'}
    shown = as_operator.post(f"{API}/bulk-fixes/preview", body)
    assert shown.json()["counts"]["changed"] == 1
    assert SECRET not in base64.b64decode(shown.json()["sample"][0]["after"]["value"]["base64"]).decode()
    made = as_operator.post(f"{API}/bulk-fixes", body).json()
    bulk_fixes.go_on(BulkFix.objects.get(pk=made["id"]), frozen_selections.rows, timezone.now)
    assert bytes(Fix.objects.get().value or b"") == VALUE.replace(b"null", b"0")
