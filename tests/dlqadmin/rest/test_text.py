from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqadmin.rest.text import storable

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)


def test_nul_and_lone_surrogates_are_replaced_wherever_they_stand() -> None:
    assert storable({"a\0": ["b\ud800", {"c": "\0"}], "n": 1}) == {"a\ufffd": ["b?", {"c": "\ufffd"}], "n": 1}


@pytest.mark.slow
@given(st.recursive(st.none() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)))
def test_the_answer_is_always_utf_8_without_nul(value: object) -> None:
    assert "\\u0000" not in json.dumps(storable(value), ensure_ascii=True)
    json.dumps(storable(value), ensure_ascii=False).encode()
