from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dialects.json_path import BadPathError, JsonDocument, format_path, parse_path

STEPS = st.lists(st.text(min_size=1, max_size=20) | st.integers(0, 999_999), max_size=8).map(tuple)


@given(STEPS)
def test_a_path_is_read_back_as_it_was_written(steps: tuple[str | int, ...]) -> None:
    assert parse_path(format_path(steps)) == steps


@pytest.mark.parametrize(
    "path",
    ["", "a.b", "$.", "$..a", "$[*]", "$.a b", "$[a]", "$['a", "$[-1]", "$.*x[", "$" + ".a" * 21, "$." + "a" * 600],
)
def test_a_mistake_is_one_sentence(path: str) -> None:
    with pytest.raises(BadPathError) as error:
        parse_path(path)
    assert "\n" not in str(error.value)


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


def _paths(document: Any, steps: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    children: list[tuple[str | int, Any]] = []
    if isinstance(document, dict):
        children = list(document.items())
    elif isinstance(document, list):
        children = list(enumerate(document))
    return [(steps, document), *(found for step, child in children for found in _paths(child, (*steps, step)))]


@given(DOCUMENTS)
def test_every_member_is_found(document: Any) -> None:
    read = JsonDocument(json.dumps(document, indent=1).encode())
    for steps, member in _paths(document):
        found = read.find(steps)
        assert found is not None
        assert json.loads(found) == member


def test_a_member_keeps_its_bytes() -> None:
    document = JsonDocument(b'{"a": {"payload" : { "n": 1.50e+2,  "n2": 12345678901234567890123 } } }')
    assert document.find(parse_path("$.a.payload")) == b'{ "n": 1.50e+2,  "n2": 12345678901234567890123 }'


@pytest.mark.parametrize("data", [b"", b"x", b'{"a"', b"[1", b'"text"', b"5", b'{"a": {"b"}}'])
def test_a_broken_document_has_no_members(data: bytes) -> None:
    assert JsonDocument(data).find(("a", "b")) is None
    assert JsonDocument(data).find((0,)) in (None, b"1")
