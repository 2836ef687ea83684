import base64

import pytest
from django.contrib.auth.models import Group

from dlqadmin.rest.pagination import MAX_ID, decode_cursor, encode_cursor, newest_page, parse_id, parse_limit
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


@pytest.mark.parametrize("text", ["", "-1", "ten", "٣", "²", " 1", str(MAX_ID + 1), "9" * 5000, "0" * 5000 + "1"])
def test_an_id_that_no_column_holds_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="must be an id"):
        parse_id("team", text)


def test_the_largest_id_is_read() -> None:
    assert parse_id("team", str(MAX_ID)) == MAX_ID


@pytest.mark.django_db
def test_pages_are_newest_first_and_the_last_has_no_cursor() -> None:
    made = [Group.objects.create(name=f"page-{n}") for n in range(4)]
    rows = Group.objects.filter(name__startswith="page-")
    first, cursor = newest_page(rows, None, 2)
    second, end = newest_page(rows, cursor, 2)
    assert ([*first, *second], end) == (made[::-1], None)
    assert newest_page(rows, None, 4) == (made[::-1], None)
