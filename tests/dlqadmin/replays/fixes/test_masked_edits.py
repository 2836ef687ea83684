"""Edits of records by people who see them with masks: changes reach the real bytes, masked members stay."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.masking.json_spans import read
from dlqadmin.masking.masked_members import mask_in_draft, masked_members
from dlqadmin.masking.masks import FieldMask, RecordMasks
from dlqadmin.masking.models import MaskingRule
from dlqadmin.replays.fixes.drafts import message_of
from dlqadmin.replays.fixes.masked_edits import MaskedEdit, edited
from dlqadmin.replays.models import Fix
from tests.dlqadmin.deadletters.letters import index_one, letter

API = "/api/v1"
SECRET = "Zx9secret4711"
VALUE = b'{ "ssn": "Zx9secret4711", "mag":1.60, "items": [{"id": 1, "ssn": "Zx9secret0001"}, {"id": 2}] }'
RULES = (FieldMask("json path", "$..ssn", "last four"),)


def masks(*fields: FieldMask) -> RecordMasks:
    return RecordMasks(fields or RULES)


def change(old: str, new: str, data: bytes = VALUE, of: RecordMasks | None = None) -> bytes | None:
    """Edit the text that is shown."""
    shown = (of or masks()).value(data) or b""
    assert old.encode() in shown
    return edited(of or masks(), data, shown.replace(old.encode(), new.encode()), "value")


@pytest.mark.parametrize(
    ("old", "new", "real"),
    [
        ("1.60", "2", VALUE.replace(b"1.60", b"2")),
        ('"mag":1.60, ', "", VALUE.replace(b'"mag":1.60, ', b"")),
        ('"id": 1', '"id": 7', VALUE.replace(b'"id": 1', b'"id": 7')),
        (', {"id": 2}', "", VALUE.replace(b', {"id": 2}', b"")),
        ('{"id": 2}', '{"id": 2}, {"id": 3}', VALUE.replace(b'{"id": 2}', b'{"id": 2}, {"id": 3}')),
        (" }", ', "new": null }', VALUE[:-2] + b', "new": null }'),
        ("1.60", "1.600", VALUE),
        ("***4711", "\\u002a**4711", VALUE),
        ("}", "}", VALUE),
    ],
)
def test_changes_of_shown_members_reach_the_real_bytes(old: str, new: str, real: bytes) -> None:
    assert change(old, new) == real


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("***4711", "***4712", "/ssn"),
        ("***4711", SECRET, "/ssn"),  # a right guess is refused like a wrong one
        ('"ssn": "***4711", ', "", "/ssn"),
        ('"ssn": "***4711"', '"ssn": null', "/ssn"),
        ('"ssn": "***4711"', '"copy": "***4711"', "/ssn"),
        ('"mag":1.60', '"mag": {"ssn": "***"}', "/mag/ssn"),
        ('"mag":1.60', '"mag": {"ssn": "a guess"}', "/mag/ssn"),
        ('{"id": 1, "ssn": "***0001"}, ', "", "/items/0/ssn"),
        ('[{"id": 1', '[{}, {"id": 1', "/items/0/ssn"),
        ('[{"id": 1, "ssn": "***0001"}, {"id": 2}]', "7", "/items/0/ssn"),
        ('[{"id": 1, "ssn": "***0001"}, {"id": 2}]', '{"0": {"ssn": "***0001"}}', "/items/0/ssn"),
    ],
)
def test_an_edit_of_a_masked_member_is_refused_with_its_path(old: str, new: str, path: str) -> None:
    with pytest.raises(MaskedEdit, match=f"^{path} of the value is masked for you, so it must stay as it is shown.$"):
        change(old, new)


def test_a_null_at_a_masked_path_takes_no_guess() -> None:
    with pytest.raises(MaskedEdit, match="/ssn"):
        change("null", '"Zx9secret4711"', b'{"ssn": null}')


@pytest.mark.parametrize("sent", [None, b"no json", b"[]", b'"***"', b"{}"])
def test_the_whole_value_cannot_be_replaced(sent: bytes | None) -> None:
    with pytest.raises(MaskedEdit):
        edited(masks(), VALUE, sent, "value")


def test_a_hidden_value_cannot_be_edited() -> None:
    for sent in (None, b"{}", b"no json"):
        with pytest.raises(MaskedEdit, match="is hidden from you"):
            edited(masks(), b"no json", sent, "value")


def test_earlier_duplicates_of_a_masked_member_stay() -> None:
    data = b'{"ssn": "Zx9secret0002", "ssn": "Zx9secret0003", "a": 1}'
    assert change('"a": 1', '"a": 2', data) == data.replace(b'"a": 1', b'"a": 2')


def test_an_expression_locks_the_values_that_it_matches() -> None:
    rule = masks(FieldMask("regular expression", r"Zx9\w+", "hash"))
    data = b'{"note": "call Zx9secret4711 now", "a": "b"}'
    assert change('"b"', '"c"', data, rule) == data.replace(b'"b"', b'"c"')
    for new in ('"Zx9secret4711"', '"call Zx9guess"'):  # the hash of a guess would confirm it
        with pytest.raises(MaskedEdit, match="/a of the value"):
            change('"b"', new, data, rule)
    with pytest.raises(MaskedEdit, match="/note of the value"):
        change("call", "phone", data, rule)


def test_a_match_across_members_cannot_be_edited() -> None:
    rule = masks(FieldMask("regular expression", r"Zx9[^}]*", "nothing"))
    with pytest.raises(MaskedEdit, match="is hidden from you"):
        edited(rule, b'{"a": "Zx9", "b": 1}', b"{}", "value")


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-9, 99), st.text('ab"\\é', max_size=4))
NAMES = st.sampled_from(["a", "b", "ssn", "x y"])
DOCUMENTS = st.dictionaries(
    NAMES,
    st.recursive(LEAVES, lambda one: st.one_of(st.lists(one, max_size=3), st.dictionaries(NAMES, one, max_size=3))),
)
PATHS = st.sampled_from(["$..ssn", "$.a", "$.a[*]", "$.b.ssn", "$.*", "$.a[0].ssn", "$['x y']", "$"])
SHOWS = st.sampled_from(["last four", "hash", "nothing"])


def secretive(value: Any, count: list[int]) -> Any:
    """Return the document with distinct secrets as its strings."""
    if isinstance(value, dict):
        return {name: secretive(one, count) for name, one in value.items()}
    if isinstance(value, list):
        return [secretive(one, count) for one in value]
    if isinstance(value, str):
        count[0] += 1
        return f"Qz{count[0]:03}{value}secret"
    return value


@settings(max_examples=150)
@given(DOCUMENTS, st.lists(st.builds(FieldMask, st.just("json path"), PATHS, SHOWS), min_size=1, max_size=3),
       DOCUMENTS, st.sampled_from([None, 1, "\t"]), st.data())  # fmt: skip
def test_no_edit_changes_or_shows_a_masked_member(
    document: Any, fields: list[FieldMask], other: Any, indent: Any, data: st.DataObject
) -> None:
    rule, original = RecordMasks(tuple(fields)), json.dumps(secretive(document, [0]), indent=indent).encode()
    shown = rule.value(original) or b""
    members = masked_members(rule, original, of_key=False)
    for member in members.values():
        if member.node.kind == "string" and b"Qz" in member.data:
            assert member.data.strip(b'"') not in shown
    assert edited(rule, original, shown, "value") == original
    wanted = json.loads(shown)
    name = data.draw(st.sampled_from([*wanted, "new"])) if isinstance(wanted, dict) else None
    sent: Any = other if name is None else {**wanted, name: data.draw(st.sampled_from([1, "***", other]))}
    try:
        made = edited(rule, original, json.dumps(sent).encode(), "value") or b""
    except MaskedEdit:
        return
    after = masked_members(rule, made, of_key=False)
    assert {path: one.data for path, one in after.items()} == {path: one.data for path, one in members.items()}
    assert json.loads(rule.value(made) or b"") == sent
    kept = {member.name: original[member.value.start : member.value.end] for member in read(original).members}
    for one in read(made).members:
        if one.name != name and members:
            assert made[one.value.start : one.value.end] == kept[one.name]


@pytest.mark.parametrize(
    ("draft", "held"),
    [
        (b'{"ssn": "***4711"}', True),
        (b'{"ssn": "***"}', True),
        (b'{"a": {"ssn": "sha256:4be1\xe2\x80\xa607c2"}}', True),
        (b'{"ssn": "Zx9secret4711"}', False),
        (b'{"note": "***"}', False),
        (b"\x00\x00\x00\x00\x01\x0e***4711", True),
        (None, False),
    ],
)
def test_the_text_of_a_mask_is_found_in_drafts(draft: bytes | None, held: bool) -> None:
    assert mask_in_draft(masks(), draft, VALUE, of_key=False) is held


def test_a_mask_that_the_original_has_is_no_mask_of_ours() -> None:
    assert not mask_in_draft(masks(), b'{"ssn": "***", "a": 1}', b'{"ssn": "***"}', of_key=False)


def rule(kind: str, field: str, show: str = "last four") -> None:
    now = timezone.now()
    MaskingRule.objects.create(
        topics=["*"], kind=kind, field=field, show=show, reason="privacy", created_at=now, changed_at=now
    )


def encoded(data: bytes | None) -> dict[str, str | None]:
    return {"base64": None if data is None else base64.b64encode(data).decode()}


def decoded(document: dict[str, Any]) -> bytes:
    return base64.b64decode(document["base64"])


@pytest.fixture
def row(db: None) -> DeadLetter:
    return index_one(letter(1, key=b'"k1"', value=VALUE, headers=(("h", SECRET.encode()), ("t", b"json"))))


def test_a_draft_holds_real_bytes_and_is_shown_masked(row: DeadLetter, as_operator: APIClient) -> None:
    rule("json path", "$..ssn")
    url = f"{API}/dead-letters/{row.pk}/fix"
    original = as_operator.get(url).json()["original"]
    shown = decoded(original["value"])
    assert original["value"]["masked_members"] == ["/ssn", "/items/0/ssn"]
    assert {row["name"]: row["value"]["masked"] for row in original["headers"]} == {"h": True, "t": False}
    assert SECRET.encode() not in shown
    answer = as_operator.put(url, {"value": encoded(shown.replace(b"1.60", b"2.5"))}).json()
    assert bytes(Fix.objects.get().value or b"") == VALUE.replace(b"1.60", b"2.5")
    assert decoded(answer["value"]) == shown.replace(b"1.60", b"2.5")
    assert (answer["digest"], decoded(as_operator.get(url).json()["draft"]["value"])) == ("", decoded(answer["value"]))
    again = {"value": encoded(decoded(answer["value"]).replace(b"2.5", b"3")), "base_updated_at": answer["updated_at"]}
    assert as_operator.put(url, again).status_code == 200
    assert bytes(Fix.objects.get().value or b"") == VALUE.replace(b"1.60", b"3")


def test_the_answer_to_an_edit_of_a_masked_field_names_its_path(row: DeadLetter, as_operator: APIClient) -> None:
    rule("json path", "$..ssn")
    answer = as_operator.put(f"{API}/dead-letters/{row.pk}/fix", {"value": encoded(VALUE)})
    assert answer.status_code == 400
    assert "/ssn of the value is masked for you" in str(answer.json())
    assert not Fix.objects.exists()


def test_masked_headers_and_keys_stay_and_new_headers_are_refused(row: DeadLetter, as_operator: APIClient) -> None:
    rule("header", "h", "nothing")
    rule("json path", "key.$", "nothing")
    url = f"{API}/dead-letters/{row.pk}/fix"
    shown = as_operator.get(url).json()["original"]["headers"]
    names = [one["name"] for one in shown]
    without = [one for one in shown if one["name"] != "t"]
    assert as_operator.put(url, {"key": encoded(None)}).status_code == 400
    for bad in (
        [one for one in shown if one["name"] != "h"],
        [*shown, {"name": "x", "value": encoded(SECRET.encode())}],
        [{"name": one["name"], "value": encoded(SECRET.encode())} if one["name"] == "h" else one for one in shown],
    ):
        assert as_operator.put(url, {"headers": bad}).status_code == 400, bad
    assert "t" in names
    assert as_operator.put(url, {"headers": without}).status_code == 200

    assert dict(message_of(Fix.objects.get()).headers)["h"] == SECRET.encode()
