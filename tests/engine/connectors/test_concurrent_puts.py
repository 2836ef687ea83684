"""State that the threads of a sink share: tokens, and the choice of a node."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

import orjson
import pytest

from engine.config.options import parse_own
from engine.config.permissions import Permissions
from engine.connectors.elasticsearch.sink import ElasticsearchSink
from engine.connectors.http.authorization import ClientCredentials
from engine.connectors.http.options import OPTIONS
from engine.connectors.http_client import HttpAnswer, HttpClient
from engine.errors import RetriableError
from engine.record.record import Record

TOKENS = {
    "http.url": "http://a/",
    "oauth2.access.token.url": "http://a/token",
    "oauth2.client.id": "i",
    "oauth2.client.secret": "s",
}


class TokenClient:
    """Gives numbered tokens, and each slowly enough for other threads to ask meanwhile."""

    def __init__(self) -> None:
        self.given = 0

    def send(self, *_: Any) -> HttpAnswer:
        threading.Event().wait(0.02)
        self.given += 1
        return HttpAnswer(200, orjson.dumps({"access_token": f"t{self.given}", "expires_in": 3600}))


def at_once(count: int, call: Callable[[], object]) -> list[object]:
    """Return the results of calls that several threads make at the same time."""
    meeting, found = threading.Barrier(count), list[object]()

    def run() -> None:
        meeting.wait(10)
        found.append(call())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_threads_share_a_token_and_renew_it_once() -> None:
    client = TokenClient()
    tokens = ClientCredentials(parse_own(OPTIONS, TOKENS), cast("HttpClient", client))
    old = tokens.headers()
    assert at_once(8, tokens.headers) == [old] * 8

    def renew() -> Mapping[str, str]:
        assert tokens.renew(old)
        return tokens.headers()

    assert at_once(8, renew) == [{"Authorization": "Bearer t2"}] * 8
    assert client.given == 2


def test_threads_whose_requests_fail_at_the_same_time_pass_by_one_node() -> None:
    asked: list[str] = []
    meeting = threading.Barrier(3)

    class DeadClient:
        def send(self, _: str, url: str, *__: Any) -> HttpAnswer:
            asked.append(url.partition("/_bulk")[0])
            meeting.wait(10)
            raise RetriableError("no answer")

    sink = ElasticsearchSink(Permissions())
    sink.start({"connection.url": "http://a,http://b", "key.ignore": "true"})
    sink.stop()
    sink._client = cast("HttpClient", DeadClient())

    def put() -> None:
        with pytest.raises(RetriableError):
            sink.put([Record("t", 0, None, None, {"a": 1}, offset=1)])

    at_once(3, put)
    at_once(3, put)
    assert asked == ["http://a"] * 3 + ["http://b"] * 3
