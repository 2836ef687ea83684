"""Sinks that put several records at once, against a real broker and real HTTP servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import orjson
import pytest

from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector
from tests.broker.exactly import child_of
from tests.support.http_target import Answerer, HttpTarget, Reply, Seen, http_target

KEYS = 40
COUNT = 600


def lanes(broker: str, url: str, count: int = 16, /, **more: str) -> Connector:
    options = {"put.max.concurrency": str(count), "errors.retry.limit": "-1", "errors.retry.delay.max.ms": "100"}
    connector = Connector(broker, {"connector.class": "HttpSink", "http.url": url, **options, **more})
    connector.with_dead_letters()
    connector.configure(1)
    for number in range(COUNT):
        connector.producer.produce(connector.topic, b"k%d" % (number % KEYS), b'{"n": %d}' % number, (), None, 0)
    connector.producer.flush()
    return connector


def numbers(target: HttpTarget) -> list[int]:
    return [orjson.loads(body)["n"] for body in target.bodies()]


def counted(answer: Answerer) -> tuple[Answerer, Callable[[], int]]:
    """Return the answerer, and a function that returns the most requests that were answered at the same time."""
    lock, running, most = threading.Lock(), [0], [0]

    def count(one: Seen) -> Reply:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.005)
        reply = answer(one)
        with lock:
            running[0] -= 1
        return reply

    return count, lambda: most[0]


def is_ordered_by_key(sent: list[int]) -> bool:
    return all(own == sorted(own) for own in ([n for n in sent if n % KEYS == key] for key in range(KEYS)))


def test_refused_and_busy_records_of_sixteen_lanes_keep_the_order_of_each_key(broker: str) -> None:
    busy = set(range(5, COUNT, 97))

    def answer(one: Seen) -> Reply:
        number = orjson.loads(one.body)["n"]
        if number in busy:
            busy.discard(number)
            return Reply(503)
        return Reply(422, b"no") if number % 50 == 7 else Reply()

    counting, most = counted(answer)
    with http_target(counting) as target:
        connector = lanes(broker, target.url)
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        sent = numbers(target)
        refused = [number for number in range(COUNT) if number % 50 == 7]
        assert sorted(sent) == [number for number in range(COUNT) if number not in refused]
        assert is_ordered_by_key(sent)
        assert [one["original_record"]["offset"] for one in connector.contexts()] == refused
        assert report.metrics["records-delivered"] == COUNT - len(refused)
        assert 8 <= most() <= 16


def test_lanes_share_one_token_and_renew_it_once(broker: str) -> None:
    tokens = iter(["old", "new", "one too many"])

    def answer(one: Seen) -> Reply:
        if one.path == "/token":
            return Reply(body=orjson.dumps({"access_token": next(tokens), "expires_in": 3600}))
        return Reply() if one.headers["Authorization"] == "Bearer new" else Reply(401)

    with http_target(answer) as target:
        token = {"oauth2.access.token.url": f"{target.url}/token", "oauth2.client.id": "id"}
        oauth = {"http.authorization.type": "oauth2", "oauth2.client.secret": "s", **token}
        report = lanes(broker, f"{target.url}/in", **oauth).run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        assert len([one for one in target.accepted if one.path == "/in"]) == COUNT
        assert [one.path for one in target.seen].count("/token") == 2


def test_all_records_arrive_when_a_worker_with_lanes_is_killed_in_the_middle(broker: str) -> None:
    with http_target(lambda _: Reply(delay_s=0.01)) as target:
        connector = lanes(broker, target.url, 8)
        with child_of(connector.lease(60_000)) as child:
            while len(target.accepted) < 100:
                time.sleep(0.01)
            child.kill()
        killed_after = len(target.accepted)
        assert connector.run().end is LeaseEnd.CAUGHT_UP
        sent = numbers(target)
        assert set(sent) == set(range(COUNT))
        assert is_ordered_by_key(sent[killed_after + 8 :])  # the requests under way were answered meanwhile
        assert connector.letters() == []


@pytest.mark.parametrize("count", [1, 8])
def test_a_stopped_lease_ends_during_the_wait_for_a_busy_key(broker: str, count: int) -> None:
    busy = {"n": 3}
    with http_target(lambda one: Reply(503 if orjson.loads(one.body) == busy else 200)) as target:
        connector = lanes(broker, target.url, count, **{"errors.retry.delay.max.ms": "60000"})
        began = time.monotonic()
        report = connector.run(3_000)
        assert time.monotonic() - began < 10
        assert report.end is not LeaseEnd.FAILED
        assert {place.offset for place in connector.committed().values() if place} == {3}
        assert connector.letters() == []
        if count > 1:
            assert set(numbers(target)) >= {number for number in range(COUNT) if number % KEYS != 3}
