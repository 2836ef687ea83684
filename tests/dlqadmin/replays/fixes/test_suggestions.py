from __future__ import annotations

import pytest

from dlqadmin.replays.fixes import json_repair
from dlqadmin.replays.fixes.suggestions import MAX_VALUE_BYTES, suggestions


@pytest.mark.parametrize(
    ("value", "title", "made"),
    [
        (b'{"a: 10}', "insert a quote at byte 3", b'{"a": 10}'),  # KIP-298, Example 4
        (b'{"a":1.10,"place:"x","b":2}', "insert a quote at byte 16", b'{"a":1.10,"place":"x","b":2}'),
        (b'{"a":"x,"b":1}', "insert a quote at byte 7", b'{"a":"x","b":1}'),
        (b'{"id":9007199254740993,"l":[1,2', "append ]}", b'{"id":9007199254740993,"l":[1,2]}'),
        (b'{"a":1,}', "remove a comma at byte 6", b'{"a":1}'),
        (b"{'a':1}", "Repair the JSON", b'{"a": 1}'),
    ],
)
def test_broken_json_is_repaired_by_the_smallest_edit(value: bytes, title: str, made: bytes) -> None:
    [found] = suggestions(value, "")
    assert found.title.endswith(title)
    assert found.value == made


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"hello",
        b"\xff\xfe",
        b'\x00\x00\x00\x00*{"gap":null,}',  # behind the id of a schema
        b"{" * 5000,
        b" " * (MAX_VALUE_BYTES + 1),
        b'{"a":1}',
    ],
)
def test_nothing_suggests_itself(value: bytes | None) -> None:
    assert suggestions(value, "some error") == []


@pytest.mark.parametrize(
    ("error", "defaults"),
    [
        ("NOT NULL constraint failed: earthquakes.gap", ["0", '""']),
        ('null value in column "gap" of relation "earthquakes" violates not-null constraint', ["0", '""']),
        ("Column 'gap' cannot be null", ["0", '""']),
        ('Invalid value: null used for required field: "gap", schema type: FLOAT64', ["0"]),
        ('Invalid value: null used for required field: "gap", schema type: STRING', ['""']),
        ('Invalid value: null used for required field: "gap", schema type: BOOLEAN', ["false"]),
    ],
)
def test_a_null_that_the_error_names_gets_a_default_that_is_called_a_guess(error: str, defaults: list[str]) -> None:
    found = suggestions(b'{ "mag":1.60,"gap": null }', error)
    assert [one.value.decode() for one in found] == [f'{{ "mag":1.60,"gap": {text} }}' for text in defaults]
    assert all("is a guess" in one.why for one in found)


def test_a_column_that_is_not_null_here_suggests_nothing() -> None:
    assert suggestions(b'{"gap":1,"nst":null}', "NOT NULL constraint failed: earthquakes.gap") == []


@pytest.mark.parametrize(
    ("value", "error", "made"),
    [
        (b'{"c":"gren"}', 'Invalid value "gren" for c: must be one of [RED, GREEN, BLUE]', b'{"c":"GREEN"}'),
        (b'{"c":"bleu","d":"red"}', "'bleu' is not allowed; allowed values: 'red', 'blue'", b'{"c":"blue","d":"red"}'),
    ],
)
def test_the_nearest_allowed_value_is_offered(value: bytes, error: str, made: bytes) -> None:
    assert [one.value for one in suggestions(value, error)] == [made]


@pytest.mark.slow
def test_what_keeps_json_repair_busy_suggests_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_repair, "REPAIR_S", 1.0)
    assert suggestions(b'["a" b ' * 30_000, "") == []
