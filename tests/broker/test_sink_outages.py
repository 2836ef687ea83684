"""Targets of sinks that are away for a minute: every record arrives, and none is blamed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import orjson
import pytest
from deltalake import DeltaTable

from dlqadmin.host.network import free_ports
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector
from tests.broker.exactly import ExactlyOnce
from tests.broker.test_delta_sink import BucketTarget
from tests.broker.test_object_store_sink import forwarded
from tests.support.http_target import HttpTarget
from tests.support.opensearch import OpenSearchNode
from tests.support.s3_server import S3Server, s3_server

pytestmark = pytest.mark.soak  # each waits for a minute; the tests of each sink have short outages
AWAY_S = 60
RETRIES = {"errors.retry.limit": "-1", "errors.retry.delay.max.ms": "1000"}
HALF = 500


class Target(Protocol):
    """A target that can be away. `arrived` lists the numbers that it has, as often as it has them."""

    once: bool  # whether the sink is exactly once

    def options(self) -> Mapping[str, str]: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def arrived(self, topic: str) -> list[int]: ...


class Api:
    """An HTTP API."""

    once = False

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self._bodies: list[bytes] = []

    def options(self) -> Mapping[str, str]:
        return {"connector.class": "HttpSink", "http.url": f"http://127.0.0.1:{self.port}", **RETRIES}

    def start(self) -> None:
        self._server = HttpTarget(port=self.port)

    def stop(self) -> None:
        self._bodies += self._server.bodies()
        self._server.close()

    def arrived(self, _topic: str) -> list[int]:
        return [orjson.loads(body)["n"] for body in [*self._bodies, *self._server.bodies()]]


class Search:
    """An OpenSearch node, which is killed."""

    once = True  # an offset names its document

    def __init__(self, home: Path) -> None:
        self._node = OpenSearchNode(home)
        self.stop = self._node.kill

    def options(self) -> Mapping[str, str]:
        return {
            "connector.class": "ElasticsearchSink", "connection.url": self._node.url, "key.ignore": "true", **RETRIES,
        }  # fmt: skip

    def start(self) -> None:
        self._node.start()

    def arrived(self, topic: str) -> list[int]:
        return [document["n"] for document in self._node.documents(topic).values()]


class Bucket:
    """An S3 store behind a door that closes, because the store itself keeps its objects in memory."""

    once = True

    def __init__(self, server: S3Server, sink: str) -> None:
        self._server, self._sink = server, sink
        (self.port,) = free_ports(1)

    def options(self) -> Mapping[str, str]:
        more = {"auto.create": "true"} if self._sink == "DeltaSink" else {}
        url = f"http://127.0.0.1:{self.port}"
        return {"connector.class": self._sink, **self._server.options(), "store.url": url, **more}

    def start(self) -> None:
        self._door = HttpTarget(
            lambda one: forwarded(
                self._server,
                one,
                {name: text for name, text in one.headers.items() if name not in {"Host", "Content-Length"}},
            ),
            self.port,
        )

    def stop(self) -> None:
        self._door.close()

    def arrived(self, topic: str) -> list[int]:
        if self._sink == "ObjectStoreSink":
            objects = self._server.objects(f"topics/{topic}/partition=0").values()
            return [orjson.loads(line)["n"] for text in objects for line in text.splitlines()]
        reader = BucketTarget(self._server)
        rows = DeltaTable(reader.uri(topic), storage_options=reader.storage).to_pyarrow_table()
        return [int(number) for number in rows["n"].to_pylist()]


@pytest.fixture(params=["HttpSink", "ElasticsearchSink", "ObjectStoreSink", "DeltaSink"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    if request.param == "HttpSink":
        yield Api()
    elif request.param == "ElasticsearchSink":
        yield Search(tmp_path / "node")
    else:
        with s3_server() as server:
            yield Bucket(server, request.param)


def test_a_minute_without_the_target_loses_and_doubles_nothing(broker: str, target: Target) -> None:
    target.start()
    try:
        kind = ExactlyOnce if isinstance(target, Bucket) else Connector
        connector = kind(broker, target.options()).with_dead_letters()
        connector.configure(1)
        connector.send(b'{"n": %d}' % number for number in range(HALF))
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        target.stop()
        connector.send(b'{"n": %d}' % number for number in range(HALF, 2 * HALF))
        back = threading.Timer(AWAY_S, target.start)
        back.start()
        try:
            ends = [connector.run().end]
            while ends[-1] is not LeaseEnd.CAUGHT_UP:
                assert ends[-1] in {LeaseEnd.PARKED, LeaseEnd.BUDGET}
                ends.append(connector.run().end)
        finally:
            back.join()
        arrived = target.arrived(connector.topic)
        assert sorted(arrived if target.once else set(arrived)) == list(range(2 * HALF))
        assert connector.letters() == []
        assert len(ends) > 1
    finally:
        target.stop()
