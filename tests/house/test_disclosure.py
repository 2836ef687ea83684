"""A text is found in each form in which a response or a file may carry it."""

from __future__ import annotations

import base64
import gzip

import pytest

from tests.support.disclosure import disclosed

SECRET = "55501427"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_base64_is_found_at_each_alignment(before: str) -> None:
    assert disclosed(base64.b64encode(f"{before}{SECRET}, and more".encode()), [SECRET]) == [SECRET]


@pytest.mark.parametrize(
    "body",
    [
        SECRET.encode(),
        SECRET.encode().hex().encode(),
        SECRET.encode().hex(" ").upper().encode(),
        gzip.compress(SECRET.encode(), mtime=0),
    ],
)
def test_plain_hex_and_compressed_text_is_found(body: bytes) -> None:
    assert disclosed(body, [SECRET]) == [SECRET]


def test_another_text_is_not_found() -> None:
    assert disclosed(b"+49-***1427 " + base64.b64encode(b"99501427"), [SECRET]) == []
