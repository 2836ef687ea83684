from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlqadmin.masking.json_spans import MAX_DEPTH, NotJson, exact, read, same
from dlqadmin.replays.fixes.json_edits import Unfaithful, splice

NUMBERS = ("0", "-0", "-0.0", "1.10", "1e2", "1E+2", "9007199254740993", "1e400", "-1.0e-400", "0.30000000000000004")
SPACES = st.sampled_from(["", " ", "\n  ", "\t", " \r\n"])
NAMES = st.sampled_from(["a", "b", "é", "a/b", "~", "", "\\u0061", "x y"])


@st.composite
def written(draw: Any, depth: int = 3) -> str:
    """JSON as somebody might write it: spaces, spellings, escapes and duplicate names."""
    kinds = ["scalar", "scalar", "object", "array"] if depth else ["scalar"]
    kind = draw(st.sampled_from(kinds))
    if kind == "scalar":
        text = st.text(max_size=4).map(json.dumps) | st.text(max_size=4).map(
            lambda s: json.dumps(s, ensure_ascii=False)
        )
        safe = text.filter(lambda one: not any("\ud800" <= char <= "\udfff" for char in one))
        return str(draw(st.sampled_from(["true", "false", "null", *NUMBERS]) | safe))
    inner = [draw(written(depth - 1)) for _ in range(draw(st.integers(0, 3)))]
    if kind == "object":
        inner = [f'"{draw(NAMES)}"{draw(SPACES)}:{draw(SPACES)}{value}' for value in inner]
    pad = [f"{draw(SPACES)}{one}{draw(SPACES)}" for one in inner]
    body = ",".join(pad) or draw(SPACES)
    return f"{{{body}}}" if kind == "object" else f"[{body}]"


@pytest.mark.slow
@given(written())
def test_what_is_not_edited_stays_as_it_is_written(text: str) -> None:
    data = text.encode()
    assert splice(data, data).data == data


@pytest.mark.slow
@given(written(), written())
def test_the_result_means_what_was_wanted(text: str, other: str) -> None:
    made = splice(text.encode(), other.encode())
    assert same(read(made.data), read(other.encode()))


@pytest.mark.slow
@given(written())
def test_every_value_knows_its_bytes(text: str) -> None:
    data = text.encode()
    node = read(data)
    assert same(read(data[node.start : node.end]), node)
    for member in node.members:
        assert json.loads(data[member.start : member.name_end]) == member.name


ORIGINAL = b'{ "id": 9007199254740993, "a": 1.10, "a": 1.20 ,\n "z":-0.0, "l":[1, 2,3], "n":null }'


@pytest.mark.parametrize(
    ("wanted", "made", "paths"),
    [
        (b'{"id":9007199254740993,"a":1.2,"z":-0,"l":[1,2,3],"n":0}', ORIGINAL.replace(b"null", b"0"), ("/n",)),
        (
            b'{"id":9007199254740993,"a":1.2,"z":-0,"l":[1,2,3],"n":null,"new":{"q":1}}',
            ORIGINAL.replace(b"null", b'null, "new": {"q":1}'),
            ("/new",),
        ),
        (
            b'{"id":9007199254740993,"a":2,"z":-0,"l":[1,2,3],"n":null}',
            ORIGINAL.replace(b"1.20", b"2"),
            ("/a",),
        ),
        (
            b'{"id":9007199254740993,"z":-0,"l":[1,2,3],"n":null}',
            b'{ "id": 9007199254740993, "z":-0.0, "l":[1, 2,3], "n":null }',
            ("/a",),
        ),
        (
            b'{"id":9007199254740993,"a":1.2,"z":-0,"l":[1,3],"n":null}',
            ORIGINAL.replace(b"[1, 2,3]", b"[1, 3]"),
            ("/l/1",),
        ),
        (
            b'{"id":9007199254740993,"a":1.2,"z":-0,"l":[0,1,2,3],"n":null}',
            ORIGINAL.replace(b"[1, 2,3]", b"[0, 1, 2,3]"),
            ("/l/0",),
        ),
        (b"[]", b"[]", ("",)),
    ],
)
def test_only_what_is_edited_changes(wanted: bytes, made: bytes, paths: tuple[str, ...]) -> None:
    found = splice(ORIGINAL, wanted)
    assert (found.data, found.paths) == (made, paths)


def test_trailing_members_go_with_their_commas() -> None:
    assert splice(b'{"a":1, "b":2, "c":3}', b'{"a":1}').data == b'{"a":1}'
    assert splice(b'{"a":1, "b":2, "c":3}', b'{"b":2}').data == b'{"b":2}'
    assert splice(b'{"a":1, "b":2}', b"{}").data == b"{}"
    assert splice(b"{ }", b'{"a":1,"b":2}').data == b'{"a":1,"b":2 }'


@pytest.mark.parametrize(
    ("original", "rounded"),
    [
        (b'{"id":9007199254740993}', b'{"id":9007199254740992}'),
        (b'{"id":9007199254740993}', b'{"moved":9007199254740992}'),
        (b'{"id":1e400}', b'{"id":1.7976931348623157e+308}'),
        (b'{"id":0.1000000000000000000001}', b'{"id":0.1}'),
    ],
)
def test_a_number_that_a_double_rounds_is_not_taken_for_an_edit(original: bytes, rounded: bytes) -> None:
    with pytest.raises(Unfaithful, match="/id"):
        splice(original, rounded, rounds=True)
    assert splice(original, rounded).data == rounded  # somebody who keeps numbers means it


def test_a_number_is_the_same_however_it_is_written() -> None:
    assert exact("1.10") == exact("11e-1") == exact("0.11E+1")
    assert exact("-0.0") == exact("-0") != exact("0")
    assert exact("9007199254740993") != exact("9007199254740992")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "byte 0: expected a value, found the end"),
        (b'{"a":1', 'byte 6: expected "," or "}", found the end'),
        (b'{"a: 10}', "byte 1: a string that does not end"),
        (b"{'a':1}", "byte 1: expected a member's name"),
        (b"[1] 2", "byte 4: expected the end"),
        (b"[01]", 'byte 2: expected "," or "]"'),
        (b"[NaN]", "byte 1: expected a value"),
        (b'["\xff"]', "byte 2: not UTF-8"),
        (b'["a\nb"]', "byte 1: a string that does not end"),
        (b"\xef\xbb\xbf{}", "byte 0: expected a value"),
        (b"[" * (MAX_DEPTH + 2), f"nested deeper than {MAX_DEPTH}"),
        (b'["\\x"]', "byte 1: a string that does not end"),
    ],
)
def test_what_is_no_json_says_where(data: bytes, says: str) -> None:
    with pytest.raises(NotJson, match=says.replace("(", r"\(")):
        read(data)


def test_the_deepest_value_is_read_and_spliced() -> None:
    deep = b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH
    assert splice(deep, deep.replace(b"1", b"2")).data == deep.replace(b"1", b"2")


def test_items_that_stay_are_not_rewritten_when_others_are_taken_out() -> None:
    original = b'[{"id":1,"a":1.0}, {"a":2.50, "id":1,"id":2}, 3, {"id":1.0,"a":1}]'
    found = splice(original, b'[{"id":2,"a":2.5},3]')
    assert found.data == b'[{"a":2.50, "id":1,"id":2}, 3]'
    assert found.paths == ("/0", "/3")


def test_a_number_that_is_moved_whole_is_not_rounded_because_another_would_be() -> None:
    original = b'{"a":12345678901234567890,"c":12345678901234567891}'
    moved = b'{"a":12345678901234567890,"b":12345678901234567890,"c":12345678901234567891}'
    assert splice(original, moved, rounds=True).paths == ("/b",)
