"""ElasticsearchSink against a real broker and a real OpenSearch node."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from engine.record.record import TopicPartition
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector
from tests.broker.exactly import child_of
from tests.support.http_target import Reply, Seen, http_target
from tests.support.opensearch import OpenSearchNode

EVENTS = (Path(__file__).resolve().parents[2] / "demo" / "usgs-earthquakes-2018w06.jsonl").read_bytes().splitlines()
RETRIES = {"errors.retry.limit": "-1", "errors.retry.delay.max.ms": "200"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearchNode]:
    started = OpenSearchNode(tmp_path_factory.mktemp("opensearch")).start()
    yield started
    started.kill()


def sink(url: str, **more: str) -> dict[str, str]:
    return {"connector.class": "ElasticsearchSink", "connection.url": url, **RETRIES, **more}


def ids(connector: Connector, count: int) -> list[str]:
    return [f"{connector.topic}+0+{offset}" for offset in range(count)]


def test_each_record_is_a_document(broker: str, node: OpenSearchNode) -> None:
    connector = Connector(broker, sink(node.url, **{"key.ignore": "true", "batch.size": "200"}))
    connector.send(EVENTS[:450])
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    found = node.documents(connector.topic)
    assert [found[name] for name in ids(connector, 450)] == [orjson.loads(event) for event in EVENTS[:450]]


def test_refused_documents_are_dead_letters_and_the_others_of_the_request_go_on(
    broker: str, node: OpenSearchNode
) -> None:
    connector = Connector(broker, sink(node.url, **{"key.ignore": "true"})).with_dead_letters()
    connector.configure(1)
    node.put(connector.topic, {"mappings": {"properties": {"mag": {"type": "double"}}}})
    rows = [b'{"mag": "strong"}' if number % 10 == 4 else b'{"mag": %d}' % number for number in range(40)]
    connector.send([*rows, b'"no object"'])
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert sorted(found["mag"] for found in node.documents(connector.topic).values()) == [
        number for number in range(40) if number % 10 != 4
    ]
    contexts = connector.contexts()
    assert [one["original_record"]["offset"] for one in contexts] == [4, 14, 24, 34, 40]
    assert contexts[0]["message"].startswith("the document was refused: mapper_parsing_exception (HTTP 400): failed to")
    assert "strong" in contexts[0]["message"]
    assert report.metrics["records-delivered"] == 36


def test_an_older_record_of_a_key_never_replaces_a_newer_one(broker: str, node: OpenSearchNode) -> None:
    connector = Connector(broker, sink(node.url, **{"behavior.on.null.values": "delete", "batch.size": "2"}))
    connector.configure(1)
    for key, value in [("a", b'{"n": 0}'), ("b", b'{"n": 1}'), ("a", b'{"n": 2}'), ("b", None), ("c", None)]:
        connector.send([value], key=key.encode())
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    assert node.documents(connector.topic) == {"a": {"n": 2}}
    again = Connector(broker, connector.props)  # reads all of them again, as after a crash before the commit
    again.partitions = connector.partitions
    again.props |= {"name": again.name, "topics": connector.topic}
    again.configure(1)
    report = again.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert report.metrics["records-delivered"] == 5
    assert node.documents(connector.topic) == {"a": {"n": 2}}


def test_an_upsert_keeps_the_other_fields(broker: str, node: OpenSearchNode) -> None:
    connector = Connector(broker, sink(node.url, **{"write.method": "upsert"}))
    connector.send([b'{"a": 1, "b": 1}', b'{"b": 2}'])
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    assert node.documents(connector.topic) == {"k": {"a": 1, "b": 2}}


@pytest.mark.parametrize("size", ["1", "100"])
def test_a_deletion_after_upserts_leaves_no_document(broker: str, node: OpenSearchNode, size: str) -> None:
    """Upserts raise the version of a document beyond the offsets of its records."""
    more = {"write.method": "upsert", "behavior.on.null.values": "delete", "batch.size": size}
    connector = Connector(broker, sink(node.url, **more)).with_dead_letters()
    connector.configure(1)
    connector.send([b'{"a": 1}', b'{"a": 2}', b'{"a": 3}', None])
    connector.send([b'{"a": 1}', None, b'{"b": 2}'], key=b"other")
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert report.metrics["records-delivered"] == 7
    assert node.documents(connector.topic) == {"other": {"b": 2}}


def test_topics_that_a_transform_merges_keep_all_their_records(broker: str, node: OpenSearchNode) -> None:
    connector = Connector(broker, sink(node.url, **{"key.ignore": "true"}))
    other, merged = f"{connector.topic}-b", f"{connector.topic}-merged"
    connector.admin.create_topic(other, 1, 1, {})
    router = {"transforms": "r", "transforms.r.type": "RegexRouter", "transforms.r.regex": ".*"}
    connector.props |= {"topics": f"{connector.topic},{other}", **router, "transforms.r.replacement": merged}
    connector.partitions = (TopicPartition(connector.topic, 0), TopicPartition(other, 0))
    connector.configure(1)
    connector.send([b'{"from": "a"}'])
    connector.producer.produce(other, b"k", b'{"from": "b"}', (), None, 0)
    connector.producer.flush()
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert node.documents(merged) == {f"{connector.topic}+0+0": {"from": "a"}, f"{other}+0+0": {"from": "b"}}


def test_a_read_only_index_is_waited_for(broker: str, node: OpenSearchNode) -> None:
    """As when a disk is nearly full. The server answers 403 for each document."""
    connector = Connector(broker, sink(node.url, **{"key.ignore": "true"})).with_dead_letters()
    connector.configure(1)
    node.put(connector.topic, {"settings": {"index.blocks.write": True}})
    connector.send(EVENTS[:20])
    opening = threading.Timer(1.5, node.put, (f"{connector.topic}/_settings", {"index.blocks.write": False}))
    opening.start()
    report = connector.run(30_000)
    opening.join()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert set(node.documents(connector.topic)) == set(ids(connector, 20))
    assert connector.letters() == []
    assert report.metrics["total-retries"] > 0


@pytest.mark.parametrize("method", ["insert", "upsert"])
def test_only_documents_that_are_not_accepted_are_sent_again(broker: str, node: OpenSearchNode, method: str) -> None:
    """A node is rarely too busy for a test, so this one stands before it and answers 429 for some documents once."""
    refused: set[str] = set()
    sent: list[str] = []

    def answer(one: Seen) -> Reply:
        lines = one.body.splitlines()
        names = [next(iter(orjson.loads(line).values()))["_id"] for line in lines[::2]]
        sent.extend(names)
        busy = {name for number, name in enumerate(names) if number % 5 == 2 and name not in refused}
        refused.update(busy)
        kept = [part for number, name in enumerate(names) if name not in busy for part in lines[2 * number :][:2]]
        answers = httpx.post(
            node.url + one.path, content=b"\n".join([*kept, b""]), headers={"Content-Type": "application/x-ndjson"}
        ).json()["items"]
        error = {"type": "rejected_execution_exception", "reason": "queue capacity 0"}
        items = [{"index": {"status": 429, "error": error}} if name in busy else answers.pop(0) for name in names]
        return Reply(body=orjson.dumps({"items": items}))

    with http_target(answer) as between:
        connector = Connector(broker, sink(between.url, **{"write.method": method})).with_dead_letters()
        connector.configure(1)
        for number in range(20):
            connector.send([b'{"n": %d}' % number], key=b"%d" % (number % 18))  # two keys have two records
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        assert connector.letters() == []
        found = node.documents(connector.topic)
        assert found == {str(number): {"n": number} for number in range(2, 18)} | {"0": {"n": 18}, "1": {"n": 19}}
        assert len(sent) < 40
        assert {name for name in sent if sent.count(name) > 1} >= refused


@pytest.mark.soak  # the node alone needs a minute; test_http_sink.py has the short case
def test_nothing_is_lost_when_the_worker_and_the_node_are_killed_in_the_middle(broker: str, tmp_path: Path) -> None:
    node = OpenSearchNode(tmp_path / "node").start()
    try:
        connector = Connector(broker, sink(node.url, **{"key.ignore": "true", "batch.size": "20"}))
        connector.with_dead_letters().configure(1)
        connector.send(EVENTS[:1700])
        with child_of(connector.lease(120_000)) as child:
            while httpx.get(f"{node.url}/{connector.topic}/_count").json().get("count", 0) < 1:
                time.sleep(0.05)
            node.kill()
            time.sleep(0.5)
            child.kill()
        threading.Timer(0.5, node.start).start()
        report = connector.run(180_000)  # the node alone may need a minute to start
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        assert set(node.documents(connector.topic)) == set(ids(connector, 1700))
        assert connector.letters() == []
    finally:
        node.kill()


def test_another_server_and_wrong_rights_fail_the_task(broker: str) -> None:
    for status, word in [(404, "is no node"), (401, "may not write"), (403, "may not write")]:
        with http_target(lambda _, status=status: Reply(status)) as target:  # type: ignore[misc]  # a lambda with a default
            connector = Connector(broker, sink(target.url)).with_dead_letters()
            connector.configure(1)
            connector.send([b'{"n": 1}'])
            report = connector.run()
            assert report.end is LeaseEnd.FAILED
            assert word in str(report.trace)


def test_the_next_node_is_asked_when_one_is_away(broker: str, node: OpenSearchNode) -> None:
    connector = Connector(broker, sink(f"http://127.0.0.1:9,{node.url}", **{"key.ignore": "true"}))
    connector.send([b'{"n": 1}'])
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    assert list(node.documents(connector.topic)) == ids(connector, 1)
