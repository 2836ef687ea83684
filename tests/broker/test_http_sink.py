"""HttpSink against a real broker and a real HTTP server."""

from __future__ import annotations

import base64
import json
import threading
import time
from pathlib import Path

import orjson
import pytest

from dlqadmin.host.network import free_ports
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector
from tests.broker.exactly import child_of
from tests.support.http_target import HOST, Reply, Seen, http_target

EVENTS = (Path(__file__).resolve().parents[2] / "demo" / "usgs-earthquakes-2018w06.jsonl").read_bytes().splitlines()
RETRIES = {"errors.retry.limit": "-1", "errors.retry.delay.max.ms": "200"}


def sink(url: str, **more: str) -> dict[str, str]:
    return {"connector.class": "HttpSink", "http.url": url, **more}


def values(bodies: list[bytes]) -> list[object]:
    return [orjson.loads(body) for body in bodies]


def test_each_record_is_a_request_with_its_own_key(broker: str) -> None:
    with http_target() as target:
        connector = Connector(broker, sink(f"{target.url}/in?a=1", **{"http.headers.additional": "X-Team: quakes"}))
        connector.send(EVENTS[:300])
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        assert values(target.bodies()) == values(EVENTS[:300])
        first = target.accepted[0]
        assert (first.method, first.path) == ("POST", "/in?a=1")
        assert (first.headers["Content-Type"], first.headers["X-Team"]) == ("application/json", "quakes")
        assert [one.headers["Idempotency-Key"] for one in target.accepted] == [
            f"{connector.topic}-0-{offset}" for offset in range(300)
        ]


def test_refused_records_are_dead_letters_with_status_and_reason_and_the_others_go_on(broker: str) -> None:
    def answer(one: Seen) -> Reply:
        number = orjson.loads(one.body)["n"]
        return Reply(422, b"n must not be %d" % number) if number % 10 == 3 else Reply()

    with http_target(answer) as target:
        connector = Connector(broker, sink(target.url)).with_dead_letters()
        connector.configure(1)
        connector.send(b'{"n": %d}' % number for number in range(30))
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        assert [orjson.loads(body)["n"] for body in target.bodies()] == [n for n in range(30) if n % 10 != 3]
        assert len(target.seen) == 30  # nothing was sent twice
        assert report.metrics["records-delivered"] == 27
        contexts = connector.contexts()
        assert [one["original_record"]["offset"] for one in contexts] == [3, 13, 23]
        assert contexts[0]["message"] == "the target answered HTTP 422: n must not be 3"


def test_a_reason_is_withheld_where_messages_are(broker: str) -> None:
    with http_target(lambda _: Reply(400, b"secret of the record")) as target:
        connector = Connector(broker, sink(target.url)).with_dead_letters(
            **{"errors.deadletterqueue.include.messages": "false", "errors.log.include.messages": "false"}
        )
        connector.configure(1)
        connector.send([b'{"n": 1}'])
        connector.run()
        (letter,) = connector.letters()
        assert b"HTTP 400" in (letter.value or b"")
        assert b"secret of" not in (letter.value or b"")


def test_the_refused_records_of_a_batch_are_found(broker: str) -> None:
    """The target takes a batch as a whole or not at all."""

    def answer(one: Seen) -> Reply:
        return Reply(400) if any(row["n"] in {7, 8, 40} for row in orjson.loads(one.body)) else Reply()

    array = {"batch.prefix": "[", "batch.separator": ",", "batch.suffix": "]", "batch.max.size": "32"}
    with http_target(answer) as target:
        connector = Connector(broker, sink(target.url, **array, **{"batching.enabled": "true"})).with_dead_letters()
        connector.configure(1)
        connector.send(b'{"n": %d}' % number for number in range(64))
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        delivered = [row["n"] for body in target.bodies() for row in orjson.loads(body)]
        assert delivered == [n for n in range(64) if n not in {7, 8, 40}]
        assert [one["original_record"]["offset"] for one in connector.contexts()] == [7, 8, 40]


@pytest.mark.parametrize(
    ("behaviour", "requests", "letters"),
    [
        ("fail", [("POST", "/v")], [1]),  # nothing is sent between both values, so they are one batch
        ("ignore", [("POST", "/v")], []),
        ("delete", [("POST", "/v"), ("DELETE", "/v/k%2F1"), ("POST", "/v")], []),
    ],
)
def test_a_record_without_a_value(
    broker: str, behaviour: str, requests: list[tuple[str, str]], letters: list[int]
) -> None:
    with http_target(lambda one: Reply(404 if one.method == "DELETE" else 200)) as target:
        options = sink(f"{target.url}/v", **{"behavior.on.null.values": behaviour, "batching.enabled": "true"})
        connector = Connector(broker, options).with_dead_letters()
        connector.configure(1)
        connector.send([b'{"n": 0}', None, b'{"n": 2}'], key=b"k/1")
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        assert [(one.method, one.path) for one in target.seen] == requests
        assert [one["original_record"]["offset"] for one in connector.contexts()] == letters


def test_a_deletion_with_a_key_that_no_url_can_hold_is_a_dead_letter(broker: str) -> None:
    """With `..`, `.` or nothing as its last segment, the URL names another resource."""
    surrogate = {"key.converter": "JsonConverter", "key.converter.schemas.enable": "false"}
    keys = ["..", ".", "", "x" * 70_000, "\ud800", {"id": 1}, None, "..a", "é/", 7, "x" * 50_000]
    with http_target(lambda one: Reply(404)) as target:
        options = sink(f"{target.url}/v/w", **{"behavior.on.null.values": "delete"}, **surrogate)
        connector = Connector(broker, options).with_dead_letters()
        connector.configure(1)
        for key in keys:
            connector.send([None], key=json.dumps(key).encode())
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        assert [one["original_record"]["offset"] for one in connector.contexts()] == list(range(7))
        sent = [(one.method, one.path) for one in target.seen]
        segments = ("..a", "%C3%A9%2F", "7", "x" * 50_000)
        assert sent == [("DELETE", f"/v/w/{segment}") for segment in segments]


def test_keys_of_bytes_name_the_resources_of_their_bytes(broker: str) -> None:
    with http_target() as target:
        options = sink(target.url, **{"behavior.on.null.values": "delete", "key.converter": "ByteArrayConverter"})
        connector = Connector(broker, options)
        for key in (b"a", b"\xff", b"\xfe"):
            connector.send([None], key=key)
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        assert [one.path for one in target.seen] == ["/a", "/%FF", "/%FE"]


def test_nothing_is_lost_or_blamed_while_the_target_is_down(broker: str) -> None:
    (port,) = free_ports(1)
    connector = Connector(broker, sink(f"http://{HOST}:{port}", **RETRIES)).with_dead_letters()
    connector.configure(1)
    connector.send(EVENTS[:50])

    def come_back() -> None:
        time.sleep(1.5)
        with http_target(port=port) as target:
            while len(target.accepted) < 50:
                time.sleep(0.02)
            bodies.extend(target.bodies())

    bodies: list[bytes] = []
    server = threading.Thread(target=come_back)
    server.start()
    report = connector.run(30_000)
    server.join()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert values(bodies) == values(EVENTS[:50])
    assert connector.letters() == []
    assert report.metrics["total-retries"] > 0


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_a_busy_target_is_asked_again_after_the_pause_that_it_wants(broker: str, status: int) -> None:
    times: list[float] = []

    def answer(_: Seen) -> Reply:
        times.append(time.monotonic())
        return Reply(status, headers={"Retry-After": "1"}) if len(times) == 3 else Reply()

    with http_target(answer) as target:
        connector = Connector(broker, sink(target.url, **RETRIES)).with_dead_letters()
        connector.configure(1)
        connector.send(b'{"n": %d}' % number for number in range(5))
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        assert [orjson.loads(body)["n"] for body in target.bodies()] == [0, 1, 2, 3, 4]
        assert len(target.seen) == 6  # the two records before it were not sent again
        assert times[3] - times[2] >= 1.0
        assert connector.letters() == []


def test_a_request_that_timed_out_is_repeated_with_the_same_key(broker: str) -> None:
    def answer(one: Seen) -> Reply:
        return Reply(delay_s=1.5) if len(target.seen) == 1 else Reply()

    with http_target(answer) as target:
        connector = Connector(broker, sink(target.url, **RETRIES, **{"http.timeout": "1"}))
        connector.configure(1)
        connector.send([b'{"n": 1}'])
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        keys = [one.headers["Idempotency-Key"] for one in target.seen]
        assert keys == [f"{connector.topic}-0-0"] * 2


def test_all_records_arrive_when_the_worker_is_killed_in_the_middle(broker: str) -> None:
    with http_target(lambda _: Reply(delay_s=0.002)) as target:
        connector = Connector(broker, sink(target.url))
        connector.send(EVENTS[:600])
        with child_of(connector.lease(60_000)) as child:
            while len(target.accepted) < 100:
                time.sleep(0.01)
            child.kill()
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        arrived = {one.headers["Idempotency-Key"]: orjson.loads(one.body) for one in target.accepted}
        assert [arrived[f"{connector.topic}-0-{offset}"] for offset in range(600)] == values(EVENTS[:600])


@pytest.mark.parametrize(("status", "word"), [(401, "not accepted by the target"), (302, "redirects to another")])
def test_wrong_credentials_and_redirects_stop_the_task_and_blame_no_record(broker: str, status: int, word: str) -> None:
    headers = {"Location": "http://169.254.169.254/latest/meta-data"} if status == 302 else {}
    with http_target(lambda one: Reply(status, headers=headers)) as target:
        connector = Connector(broker, sink(target.url)).with_dead_letters()
        connector.configure(1)
        connector.send([b'{"n": 1}', b'{"n": 2}'])
        report = connector.run()
        assert report.end is LeaseEnd.FAILED
        assert word in str(report.trace)
        assert len(target.seen) == 1


def test_each_kind_of_authorization_sends_its_header(broker: str) -> None:
    tokens = iter(["old", "new"])
    wanted = ["Bearer fixed", "Basic " + base64.b64encode(b"u:p w").decode(), "Bearer new"]

    def answer(one: Seen) -> Reply:
        if one.path == "/token":
            assert one.body == b"grant_type=client_credentials&scope=write"
            assert one.headers["Authorization"] == "Basic " + base64.b64encode(b"id:shh").decode()
            return Reply(body=b'{"access_token": "%s", "expires_in": 3600}' % next(tokens).encode())
        return Reply() if one.headers.get("Authorization") in wanted else Reply(401)

    with http_target(answer) as target:
        oauth = {
            "http.authorization.type": "OAUTH2", "oauth2.access.token.url": f"{target.url}/token",
            "oauth2.client.id": "id", "oauth2.client.secret": "shh", "oauth2.client.scope": "write",
        }  # fmt: skip
        for options in (
            {"http.authorization.type": "static", "http.headers.authorization": "Bearer fixed"},
            {"http.authorization.type": "basic", "connection.user": "u", "connection.password": "p w"},
            oauth,
        ):
            connector = Connector(broker, sink(f"{target.url}/in", **options))
            connector.send([b"{}", b"{}"])
            report = connector.run()
            assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        sent = [one.headers["Authorization"] for one in target.accepted if one.path == "/in"]
        assert sent == [one for one in wanted for _ in range(2)]
        assert [one.path for one in target.seen].count("/token") == 2  # the refused token was renewed once


def test_a_host_that_the_worker_does_not_allow_is_never_asked(broker: str) -> None:
    with http_target() as target:
        connector = Connector(broker, sink(target.url))
        connector.worker["http.hosts.allow"] = "*.example.com"
        connector.send([b"{}"])
        report = connector.run()
        assert report.end is LeaseEnd.FAILED
        assert "http.hosts.allow" in str(report.trace)
        assert target.seen == []
