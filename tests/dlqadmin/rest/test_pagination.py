import base64

import pytest

from dlqadmin.rest.pagination import decode_cursor, encode_cursor, parse_limit
from dlqadmin.rest.problems import ParameterError


def test_a_cursor_comes_back_as_it_went() -> None:
    assert decode_cursor(encode_cursor(["2026-11-21", 7]), str, int) == ["2026-11-21", 7]


def test_no_cursor_is_the_first_page() -> None:
    assert decode_cursor(None, int) is None
    assert decode_cursor("", int) is None


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "%%%",
        "é",
        encode_cursor([1, 2]),
        encode_cursor(["1"]),
        encode_cursor([2**63]),
        base64.urlsafe_b64encode(b'{"a":1}').decode(),
        base64.urlsafe_b64encode(b"[true]").decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ],
)
def test_a_cursor_of_something_else_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        decode_cursor(text, int)


@pytest.mark.parametrize("text", ["0", "-1", "501", "ten", "٣", "9" * 400])
def test_a_limit_out_of_bounds_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        parse_limit(text)


def test_a_limit_has_a_default() -> None:
    assert parse_limit(None) == 100
    assert parse_limit("500") == 500
