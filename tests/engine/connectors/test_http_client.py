from __future__ import annotations

import time
from email.utils import formatdate

import httpx2
import pytest

from engine.connectors.http_client import HttpAnswer, pause_of, rejection, retriable_error
from engine.errors import Message, Throttling
from engine.http_rules import MAX_PAUSE_MS, is_refused


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1%eth0", "fd00:ec2::254", "::", "ff02::1", "100.100.100.200",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    ],
)  # fmt: skip
def test_link_local_and_metadata_addresses_are_refused_in_each_spelling(address: str) -> None:
    assert is_refused(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "93.184.216.34", "::1", "2606:2800:220:1::1", "fd00::1"])
def test_other_addresses_are_not(address: str) -> None:
    assert not is_refused(address)


@pytest.mark.parametrize(("text", "pause_ms"), [("", 0), ("soon", 0), ("-5", 0), ("7", 7000), ("9" * 40, MAX_PAUSE_MS)])
def test_retry_after_is_a_number_of_seconds(text: str, pause_ms: int) -> None:
    assert pause_of(httpx2.Headers({"Retry-After": text})) == pause_ms


def test_retry_after_may_be_a_date() -> None:
    date = formatdate(time.time() + 100, usegmt=True)
    assert 90_000 <= pause_of(httpx2.Headers({"Retry-After": date})) <= 100_000
    assert pause_of(httpx2.Headers({"Retry-After": formatdate(0, usegmt=True)})) == 0


def test_statuses_that_may_change_are_retried_with_the_pause_they_ask_for() -> None:
    assert [status for status in range(200, 600) if retriable_error(HttpAnswer(status, b""))] == [
        408, 425, 429, *range(500, 600),
    ]  # fmt: skip
    error = retriable_error(HttpAnswer(429, b"", 5000))
    assert isinstance(error, Throttling)
    assert error.pause_ms == 5000


def test_the_reason_of_a_refusal_is_content_and_bounded() -> None:
    (message,) = rejection(400, b"bad value 17 \xff" + b"x" * 10_000).args
    assert isinstance(message, Message)
    assert str(message) == "the target answered HTTP 400: '<withheld>'"
    assert message.content.startswith("the target answered HTTP 400: bad value 17 \ufffdx")
    assert len(message.content) < 600
