"""Offsets topics of a connector's own, on a real broker (KIP-618, per-connector offsets topics)."""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson

from engine.assembly.lease import run_lease
from engine.assembly.own_offsets import offsets_copier
from engine.config.worker import parse_worker
from engine.record.record import TopicPartition
from engine.worker_messages import LeaseEnd
from tests.broker.connector import read_all
from tests.broker.source import ExactlyOnce
from tests.broker.test_source_exactly_once import counting

OWN = "offsets.storage.topic"


def rows(source: ExactlyOnce, topic: str) -> dict[bytes | None, list[bytes | None]]:
    """Every value of each key, in order; without memories of tasks."""
    found: dict[bytes | None, list[bytes | None]] = {}
    for number in range(source.admin.partitions(topic) or 0):
        for record in read_all(source.broker, TopicPartition(topic, number)):
            if b"engine.task" not in (record.key or b""):
                found.setdefault(record.key, []).append(record.value)
    return found


def until(check: Callable[[], bool], claim: str) -> None:
    late = time.monotonic() + 30
    while not check():
        assert time.monotonic() < late, claim
        time.sleep(0.05)


def test_offsets_are_in_a_topic_of_the_connectors_own_and_copied(broker: str) -> None:
    """E-94, ExactlyOnceSourceIntegrationTest#testSeparateOffsetsTopic."""
    source = counting(broker, count="1000", batch="100")
    own = source.props[OWN] = f"own-{source.name}"
    source.configure(2)
    worker = parse_worker(source.worker)
    key = f'["{source.name}",{{"task":"0"}}]'.encode()
    with offsets_copier(worker, lambda: {source.name: source.props}):
        assert source.run().end is LeaseEnd.CAUGHT_UP
        assert source.emitted() == list(range(1, 1001))
        sentinel = f'["{source.name}"]'.encode()
        assert rows(source, own) == {
            sentinel: [b'{"migrated":true}'],
            key: [orjson.dumps({"at": number}) for number in range(100, 1001, 100)],
        }
        until(lambda: source.offsets() == {key.decode(): {"at": 1000}}, "the last offset is copied")
        source.worker["exactly.once.source.enabled"] = "false"  # the soft downgrade
        source.props["count"] = "1500"
        source.configure(3)
        assert source.run().end is LeaseEnd.CAUGHT_UP
        assert source.emitted() == list(range(1, 1501))
        until(lambda: source.offsets() == {key.decode(): {"at": 1500}}, "what it commits now is copied, too")
    del source.props[OWN]  # and back to the worker's topic, as after a hard downgrade
    source.props["count"] = "1600"
    source.configure(4)
    source.run()
    assert source.emitted() == list(range(1, 1601))


def test_what_the_shared_topic_holds_is_brought_along_once(broker: str) -> None:
    source = counting(broker, count="100")
    assert source.run().end is LeaseEnd.CAUGHT_UP
    own = source.props[OWN] = f"own-{source.name}"
    source.props["count"] = "200"
    source.configure(2)
    report = source.run()
    assert (report.end, report.trace) == (LeaseEnd.CAUGHT_UP, None)
    assert source.emitted() == list(range(1, 201))
    assert report.metrics["records-delivered"] == 200  # its memory came along
    source.props["count"] = "300"
    source.configure(3)
    source.run()
    assert source.emitted() == list(range(1, 301))
    assert len(rows(source, own)[f'["{source.name}"]'.encode()]) == 1


def test_other_tasks_wait_until_task_0_has_brought_the_offsets(broker: str) -> None:
    source = counting(broker, 2)
    source.props[OWN] = f"own-{source.name}"
    source.configure(2)
    [report] = run_lease(source.lease(only=1))
    assert report.end is LeaseEnd.PARKED
    assert "does not exist" in (report.trace or "")
    source.admin.create_topic(source.props[OWN], 1, 1)
    [report] = run_lease(source.lease(only=1))
    assert (report.end, source.emitted()) == (LeaseEnd.PARKED, [])
    assert "waiting for task 0" in (report.trace or "")
    assert {one.end for one in run_lease(source.lease())} == {LeaseEnd.CAUGHT_UP}
    assert sorted(source.emitted()) == sorted([*range(1, 101)] * 2)


def test_a_connector_that_used_the_workers_topic_meanwhile_is_refused_and_the_remedy_works(broker: str) -> None:
    """Own topic, the worker's, own again: the own topic's offsets would deliver records twice."""
    source = counting(broker, count="10")
    own = source.props[OWN] = f"own-{source.name}"
    source.configure(2)
    worker = parse_worker(source.worker)
    with offsets_copier(worker, lambda: {source.name: source.props}):
        assert source.run().end is LeaseEnd.CAUGHT_UP
        until(lambda: list(source.offsets().values()) == [{"at": 10}], "the offset is copied")
    del source.props[OWN]
    source.props["count"] = "20"
    source.configure(3)
    assert source.run().end is LeaseEnd.CAUGHT_UP
    source.props |= {OWN: own, "count": "30"}
    source.configure(4)
    report = source.run()
    assert (report.end, source.emitted()) == (LeaseEnd.FAILED, list(range(1, 21)))
    assert f"Set offsets.storage.topic to the name of a new topic, or stop the connector, delete {own}" in (
        report.trace or ""
    )
    source.props[OWN] = f"{own}-2"
    source.configure(5)
    assert source.run().end is LeaseEnd.CAUGHT_UP
    assert source.emitted() == list(range(1, 31))
