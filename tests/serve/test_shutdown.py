"""SIGTERM ends each process of the dashboard within its grace time, and no work is lost."""

from __future__ import annotations

import secrets
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dlqadmin.host.network import HOST, wait_until
from tests.interop.recordings import load
from tests.serve.dashboard import DashboardProcesses

GRACE_S = 10  # Docker's, for a service without a stop_grace_period
WORKERS_GRACE_S = 30  # the stop_grace_period of workers in compose.yaml


@pytest.fixture
def web(dashboard: DashboardProcesses) -> Iterator[DashboardProcesses]:
    """A dashboard whose web server runs."""
    dashboard.start("web")
    yield dashboard
    dashboard.end()


def test_the_web_server_answers_an_open_request_and_ends_open_streams(web: DashboardProcesses) -> None:
    body = b'{"username": "nobody", "password": "wrong"}'
    head = (
        f"POST /api/v1/session HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    address = httpx.URL(web.url)
    with web.client() as client, client.stream("GET", "live") as stream:
        chunks = stream.iter_text()
        assert "event: state" in next(chunks)
        with socket.create_connection((address.host, address.port or 0)) as slow:
            slow.sendall(head.encode() + body[:10])
            time.sleep(0.5)  # the server has begun to read it
            web.signal("web")
            time.sleep(0.5)
            slow.sendall(body[10:])
            slow.settimeout(GRACE_S)
            assert slow.recv(1000).startswith(b"HTTP/1.1 403 ")
        try:
            rest = "".join(chunks)
        except httpx.RemoteProtocolError:
            rest = ""  # the browser connects again, as after any end of a stream
    ended = web.wait("web", GRACE_S)
    assert ended.code in (0, -15), web.log("web")
    assert ended.seconds < GRACE_S
    assert "Traceback" not in rest
    assert [line for line in web.lines("web") if line["level"] == "CRITICAL"] == []


def test_beat_and_an_idle_worker_end_at_once(dashboard: DashboardProcesses) -> None:
    dashboard.start("beat", "worker")
    try:
        assert dashboard.stop("beat", GRACE_S).code == 0
        assert dashboard.stop("worker", WORKERS_GRACE_S).code == 0
    finally:
        dashboard.end()
    for name in ("beat", "worker"):
        assert [line for line in dashboard.lines(name) if "exception" in line] == []


def test_the_indexer_commits_what_it_indexed(dashboard: DashboardProcesses, broker: str) -> None:
    topic, letters = f"ended-{secrets.token_hex(4)}.DLT", load("spring-listener").letters
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(topic, 1, 1, config={"retention.ms": "-1"})])[topic].result(20)
    producer = Producer({"bootstrap.servers": broker})

    def write() -> None:
        for letter in letters:
            producer.produce(topic, letter.value, letter.key, 0, headers=list(letter.headers))
        producer.flush()

    def indexed() -> int:
        with closing(sqlite3.connect(dashboard.home / "dlqadmin.sqlite3", timeout=20)) as database:
            query = "SELECT count(*) FROM deadletters_deadletter WHERE topic = ?"
            return int(database.execute(query, (topic,)).fetchone()[0])

    write()
    dashboard.start("indexer")
    try:
        wait_until(lambda: indexed() >= len(letters), "The dead letters", 60)
        write()  # some of these may be read when the signal arrives
        assert dashboard.stop("indexer", GRACE_S).code == 0
    finally:
        dashboard.end()
    group = Consumer({"bootstrap.servers": broker, "group.id": dashboard.env["INDEX_GROUP"]})
    [committed] = group.committed([TopicPartition(topic, 0)], 20)
    group.close()
    assert committed.offset == indexed()
