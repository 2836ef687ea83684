from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqadmin.rest.text import one_line, shortened, storable

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)


def test_nul_and_lone_surrogates_are_replaced_wherever_they_stand() -> None:
    assert storable({"a\0": ["b\ud800", {"c": "\0"}], "n": 1}) == {"a\ufffd": ["b?", {"c": "\ufffd"}], "n": 1}


@pytest.mark.slow
@given(st.recursive(st.none() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)))
def test_the_answer_is_always_utf_8_without_nul(value: object) -> None:
    assert "\\u0000" not in json.dumps(storable(value), ensure_ascii=True)
    json.dumps(storable(value), ensure_ascii=False).encode()


@pytest.mark.parametrize(("text", "shown"), [("", ""), ("abcd", "abcd"), ("abcde", "abc…")])
def test_a_shortened_text_is_at_most_as_long_as_its_limit(text: str, shown: str) -> None:
    assert shortened(text, 4) == shown


def test_one_line_has_no_breaks_and_nothing_that_cannot_be_printed() -> None:
    assert one_line(" a\r\nb\tc\u2028d\x1b[0m ") == "a b c d [0m"
