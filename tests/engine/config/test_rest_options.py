"""Listeners and the address for other drivers, as Kafka Connect reads them."""

from __future__ import annotations

import pytest

from engine.config.rest import Listener
from engine.config.worker import parse_worker, read_worker
from engine.startup.wiring import advertised

BOTH = "HTTPS://engine:8443, http://engine:8083"


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("http://h:1", Listener("http", "h", 1)),
        ("HTTPS://H:1/", Listener("https", "h", 1)),
        ("http://[::1]:0", Listener("http", "::1", 0)),
        ("h:1", Listener("http", "h", 1)),
        ("http://:1", Listener("http", "127.0.0.1", 1)),
        ("https://h", Listener("https", "h", 8083)),
    ],
)
def test_a_listener_is_a_url(text: str, listener: Listener) -> None:
    assert parse_worker({"listeners": text}).rest.listeners == (listener,)


@pytest.mark.parametrize("text", ["ftp://h:1", "http://h:x", "http://h:70000", "http://u:hush@h:1", "http://h/p", ""])
def test_anything_else_is_a_problem_without_its_password(text: str) -> None:
    problems = read_worker({"listeners": text})[1]
    assert {name for name, _, _ in problems} == {"listeners"}
    assert "hush" not in str(problems)


@pytest.mark.parametrize(
    ("properties", "url"),
    [
        ({"listeners": "https://0.0.0.0:0", "rest.advertised.host.name": "e"}, "https://e:8443"),
        ({"listeners": BOTH}, "http://engine:8083"),
        ({"listeners": BOTH, "rest.advertised.listener": "https"}, "https://engine:8443"),
        ({"listeners": BOTH, "rest.advertised.listener": "HTTPS", "rest.advertised.port": "1"}, "https://engine:1"),
    ],
)
def test_other_drivers_are_given_the_advertised_listener(properties: dict[str, str], url: str) -> None:
    addresses = ["https://0.0.0.0:8443"] if "0.0.0.0" in properties["listeners"] else BOTH.lower().split(", ")
    assert advertised(parse_worker(properties), addresses) == url


def test_an_advertised_listener_that_is_not_there_is_a_problem() -> None:
    assert read_worker({"rest.advertised.listener": "https"})[1][0][0] == "rest.advertised.listener"
