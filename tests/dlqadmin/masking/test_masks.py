"""Masks inside the bytes of records: hostile JSON, headers, expressions and messages."""

from __future__ import annotations

import json
import time

import pytest

from dlqadmin.masking.json_paths import BadPath, parse
from dlqadmin.masking.masked_members import masked_pointers
from dlqadmin.masking.masks import FieldMask, HiddenWhole, RecordMasks, check


def path(field: str, show: str = "last four") -> RecordMasks:
    return RecordMasks((FieldMask("json path", field, show),))


def expression(field: str, show: str = "last four") -> RecordMasks:
    return RecordMasks((FieldMask("regular expression", field, show),))


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("$.phone", b'{ "phone" :  "+4915550142" , "n":1.0e2}', b'{ "phone" :  "***0142" , "n":1.0e2}'),
        ("$.phone", b'{"pho\\u006ee": "+4915550142"}', b'{"pho\\u006ee": "***0142"}'),
        ("$.phone", b'{"phone": "a1234567890", "phone": "b1234567890"}', b'{"phone": "***7890", "phone": "***7890"}'),
        ("$.phone", b'{"phone": "short12"}', b'{"phone": "***"}'),
        ("$.phone", b'{"phone": "1234567\\"\\\\x"}', b'{"phone": "***"}'),
        ("$.phone", b'{"phone": null}', b'{"phone": null}'),
        ("$.phone", b'{"phone": true}', b'{"phone": "***"}'),
        ("$.phone", b'{"phone": {"home": "1234567890"}}', b'{"phone": "***"}'),
        ("$.phone", b'{"phone": 12345678901234567890123456789e400}', b'{"phone": "***e400"}'),
        ("$.phone", b'{"phone": "\\ud800234567890"}', b'{"phone": "***7890"}'),
        ("$.contact.phone", b'{"contact": {"phone": "1234567890"}}', b'{"contact": {"phone": "***7890"}}'),
        ("$.a[*].s", b'{"a": [{"s": "a1234567"}, 2, [], {"s": 7}]}', b'{"a": [{"s": "***4567"}, 2, [], {"s": "***"}]}'),
        ("$[0][1]", b'[[0, "1234567890"], [0, 1]]', b'[[0, "***7890"], [0, 1]]'),
        ("$..e", b'{"a": [{"e": {"e": "x"}}], "e": "12345678"}', b'{"a": [{"e": "***"}], "e": "***5678"}'),
        ("$['odd name']", b'{"odd name": "1234567890"}', b'{"odd name": "***7890"}'),
        ("$.*", b'{"a": "1234567890", "b": 2}', b'{"a": "***7890", "b": "***"}'),
        ("$", b'"1234567890"', b'"***7890"'),
        ("$.none", b'{"a": NULL}'.replace(b"NULL", b"null"), b'{"a": null}'),
    ],
)  # fmt: skip
def test_a_path_masks_its_members_and_leaves_all_other_bytes(field: str, before: bytes, after: bytes) -> None:
    assert path(field).value(before) == after


@pytest.mark.parametrize(
    "data",
    [b"not json", b'{"a": NaN}', b'\xef\xbb\xbf{"phone": "1"}', b'{"phone": "1"} x', b"\x00\x00\x00\x00\x01abc",
     b"\xff", b"", b"[" * 300 + b"]" * 300, b'"' + b"a" * (1024 * 1024) + b'"'],
)  # fmt: skip
def test_what_is_no_json_is_hidden_as_a_whole(data: bytes) -> None:
    masks = path("$.phone")
    for attempt in (lambda: masks.value(data), lambda: masks.secrets(None, data, ())):
        with pytest.raises(HiddenWhole):
            attempt()


def test_rules_for_keys_leave_values_alone_and_the_reverse() -> None:
    of_key, of_value = path("key.$.id"), path("$.id")
    data = b'{"id": "1234567890"}'
    assert (of_key.key(data), of_key.value(data)) == (b'{"id": "***7890"}', data)
    assert (of_value.key(data), of_value.value(data)) == (data, b'{"id": "***7890"}')
    assert of_value.key(b"no json") == b"no json"


def test_a_hash_is_equal_for_equal_values_and_has_one_width() -> None:
    first, again, other = (path("$", "hash").value(json.dumps(text).encode()) for text in ("a@b.c", "a@b.c", "x" * 999))
    assert first == again != other
    assert len(first or b"") == len(other or b"")
    assert b"sha256:" in (first or b"")


def test_a_header_is_masked_by_its_exact_name() -> None:
    masks = RecordMasks((FieldMask("header", "ssn", "last four"),))
    assert masks.header("ssn", b"1234567890", ()) == b"***7890"
    assert masks.header("ssn", b"\xff\xfe", ()) == b"***"
    assert masks.header("SSN", b"1234567890", ()) == b"1234567890"
    assert masks.header("ssn", None, ()) is None


def test_an_expression_masks_text_in_key_value_and_headers() -> None:
    masks = expression(r"\d{10}")
    assert masks.value(b"call 1234567890 now") == b"call ***7890 now"
    assert masks.key(b"1234567890") == b"***7890"
    assert masks.header("h", b"x 1234567890", ()) == b"x ***7890"
    assert masks.text("failed: 1234567890", ()) == "failed: ***7890"


def test_escapes_do_not_hide_a_match_in_json() -> None:
    assert expression(r"\d{10}").value(b'{"a": "\\u0031234567890"}') == b'{"a": "***7890"}'


@pytest.mark.parametrize("data", [b"\xff\xfe1234567890", b"1" * (1024 * 1024 + 1)])
def test_an_expression_hides_what_it_cannot_read(data: bytes) -> None:
    with pytest.raises(HiddenWhole):
        expression(r"\d{10}").value(data)


def test_a_slow_expression_hides_the_whole_in_time() -> None:
    began = time.monotonic()
    with pytest.raises(HiddenWhole, match="too long"):
        expression(r"(a|aa)+$").value(b"a" * 60 + b"b")
    assert time.monotonic() - began < 2


def test_messages_quote_no_masked_value() -> None:
    masks = path("$.phone")
    secrets = masks.secrets(None, b'{"phone": "say \\"49\\" 155", "n": 1}', ())
    assert masks.text('bad: say "49" 155', secrets) == "bad: ***"
    assert masks.text(r'bad: {"phone": "say \"49\" 155"}', secrets) == 'bad: {"phone": "***"}'
    assert masks.secrets(None, b'{"phone": "abc"}', ()) == ()  # too short to be looked for


def test_members_of_a_masked_object_are_not_quoted_either() -> None:
    assert path("$.a").secrets(None, b'{"a": {"b": ["secret one", 12345]}}', ()) == ("secret one", "12345")


@pytest.mark.parametrize("text", ["phone", "$.", "$.a[", "$a", "$.a b", "$[-1]", "$[?(@.a)]", "$" + ".a" * 21, "$...a"])
def test_a_path_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadPath):
        parse(text)
    with pytest.raises(HiddenWhole):
        path(text).value(b"{}")


@pytest.mark.parametrize("text", ["(", "a*", ""])
def test_an_expression_that_matches_everywhere_or_is_none_is_refused(text: str) -> None:
    with pytest.raises(HiddenWhole):
        check("regular expression", text)


@pytest.mark.parametrize(
    ("kind", "field", "data", "pointers"),
    [
        ("json path", "$..ssn", b'{"ssn": 12345678, "a/b": [{"ssn": "x"}, {"ssn": null}]}', ["/ssn", "/a~1b/0/ssn"]),
        ("json path", "$.ssn", b'{"ssn": "x", "ssn": "y"}', ["/ssn"]),
        ("json path", "$.ssn", b'{"ssn": "***"}', ["/ssn"]),
        ("json path", "$", b'"x"', [""]),
        ("json path", "$.ssn", b'{"mag": 1}', []),
        ("json path", "key.$.ssn", b'{"ssn": "x"}', []),
        ("header", "ssn", b'{"ssn": "x"}', []),
        ("regular expression", "Zx9", b'{"note": "call Zx9 now", "a": 1}', ["/note"]),
        ("regular expression", "Zx9", b"call Zx9 now", []),
        ("regular expression", "Zx9[^}]*", b'{"a": "Zx9", "b": 1}', []),
        ("json path", "$[*]", json.dumps(["x"] * 1001).encode(), [f"/{index}" for index in range(1000)]),
    ],
)
def test_masked_members_have_pointers(kind: str, field: str, data: bytes, pointers: list[str]) -> None:
    masks = RecordMasks((FieldMask(kind, field, "nothing"),))
    assert masked_pointers(masks, data, masks.value(data) or b"", of_key=False) == pointers


def test_a_page_of_small_values_takes_little_time() -> None:
    rules = RecordMasks(tuple(FieldMask("json path", f"$.contact.m{n}", "last four") for n in range(20)))
    value = json.dumps({"contact": {f"m{n}": "1234567890" for n in range(20)}, "more": list(range(20))}).encode()
    began = time.process_time()
    for _ in range(100):
        rules.value(value)
    assert time.process_time() - began < 0.5  # about 20 ms on an idle machine


@pytest.mark.parametrize(
    "said",
    [
        "1234.5",
        "1,234.50",
        "1.2345E3",
        "1234.500000",
        "12345e-1",
        "cannot cast -1234.5 to int",
        "1234.5000305",
        "1_234.5",
    ],
)
def test_a_masked_number_is_found_in_other_spellings(said: str) -> None:
    masks = path("$.n", "nothing")
    secrets = masks.secrets(None, b'{"n": 1.2345e3}', ())
    assert "234" not in masks.text(f"value {said}!", secrets)
    assert masks.text("row 1234, 1235.5, offset 12", secrets) == "row 1234, 1235.5, offset 12"
