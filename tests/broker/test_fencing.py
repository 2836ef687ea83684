"""Rounds of fencing, changed offsets and lag after transactions, on a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from dlqadmin.host.network import wait_until
from engine.assembly.driver import TransactionLimit, fence_tasks, task_settings
from engine.config.worker import parse_worker
from engine.errors import ConfigError, EngineError, GenerationFenced
from engine.herder.offset_refresh import OffsetRefresh
from engine.herder.positions import GroupOffsets
from engine.herder.state import HerderSettings, HerderState, TaskRun, lag
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, consumer_settings, transactional_settings
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.transactional import KafkaTransactional
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.startup.wiring import examine_connector
from engine.worker_messages import Delivery, LeaseEnd, TaskConfig
from tests.broker.connector import Connector, file_sink
from tests.broker.driver import Driver, running
from tests.broker.test_leader import Cluster


@pytest.fixture
def cluster(broker: str, tmp_path: Path) -> Cluster:
    return Cluster(broker, tmp_path)


@pytest.fixture
def driver(cluster: Cluster) -> Iterator[Driver]:
    started = cluster.driver()
    with running(started):
        yield started.start().await_leading()


def sink(name: str, cluster: Cluster, **more: str) -> dict[str, str]:
    return {"name": name, **cluster.connector(**more)}


def test_an_open_transaction_of_an_older_task_is_aborted_and_its_producer_shut_out(cluster: Cluster) -> None:
    worker = parse_worker(cluster.properties)
    properties = sink("c", cluster)
    zombie = KafkaTransactional(task_settings(properties, 3, worker))
    with closing(zombie):
        zombie.init()
        zombie.begin()
        zombie.produce(cluster.target, None, b"7")
        zombie.flush()
        fence_tasks(properties, range(4), worker)
        with pytest.raises(GenerationFenced):
            zombie.commit()
    assert cluster.arrived() == []


def test_many_tasks_are_fenced_in_seconds(cluster: Cluster) -> None:
    """32 ids took one second on an idle machine; the limit is generous."""
    worker = parse_worker(cluster.properties)
    begun = time.monotonic()
    fence_tasks(sink("c", cluster), range(32), worker)
    assert time.monotonic() - begun < 30


def test_brokers_that_do_not_answer_are_an_error(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.assembly.driver.KafkaTransactional", partial(KafkaTransactional, timeout_s=1.0))
    monkeypatch.setattr("engine.kafka.consumer.PATIENCE_S", 1.0)
    properties = {**cluster.properties, "bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(EngineError):
        fence_tasks({"name": "c", **cluster.connector()}, [0], parse_worker(properties))


def test_a_zombie_of_the_generation_before_changes_nothing(cluster: Cluster, driver: Driver) -> None:
    """The case that needs a round: partition 1 has moved to task 0, whose id is not the zombie's."""
    assert driver.put("c", cluster.connector()).status_code == 201
    cluster.send(100)
    driver.until(cluster.is_whole, "the first have arrived")
    worker = parse_worker(cluster.properties)
    with closing(KafkaTransactional(task_settings(sink("c", cluster), 1, worker))) as zombie:
        zombie.init()  # as a lease would that the old leader granted and that sleeps since
        zombie.begin()
        zombie.produce(cluster.target, None, b"1")
        zombie.send_offsets({TopicPartition(cluster.origin, 1): Committed(0)}, "connect-c")
        zombie.flush()
        assert driver.put("c", cluster.connector(**{"tasks.max": "1"})).status_code == 200
        driver.until(lambda: cluster.config().connectors["c"].task_count == 1, "the round is written down")
        with pytest.raises(GenerationFenced):
            zombie.commit()
    cluster.send(100)
    driver.until(cluster.is_whole, "all have arrived, once")


def test_offsets_are_altered_and_reset_over_rest(cluster: Cluster, driver: Driver) -> None:
    assert driver.put("c", cluster.connector(**{"tasks.max": "1"})).status_code == 201
    cluster.send(20)
    driver.until(cluster.is_whole, "they have arrived")
    driver.until(lambda: len(driver.get("/connectors/c/offsets")["offsets"]) == 2, "both are committed")
    path = "/connectors/c/offsets"
    assert driver.http.delete(path).status_code == 400
    assert driver.http.put("/connectors/c/stop").status_code == 204
    row = {"partition": {"kafka_topic": cluster.origin, "kafka_partition": 1}, "offset": {"kafka_offset": 8}}
    driver.until(lambda: driver.http.patch(path, json={"offsets": [row]}).status_code == 200, "it is changed")
    offsets = {one["partition"]["kafka_partition"]: one["offset"] for one in driver.get(path)["offsets"]}
    assert offsets[1] == {"kafka_offset": 8}
    assert offsets[0]["kafka_offset"] >= 10
    assert driver.http.put("/connectors/c/resume").status_code == 202
    driver.until(lambda: sorted(cluster.arrived()) == sorted([*range(20), 17, 19]), "two have come again")
    assert driver.http.put("/connectors/c/stop").status_code == 204
    driver.until(lambda: driver.http.delete(path).status_code == 200, "it is reset")
    assert {one["offset"]["kafka_offset"] for one in driver.get(path)["offsets"]} == {0}


def test_offsets_of_a_source_are_shown_and_changed_over_rest(cluster: Cluster, driver: Driver, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("0\n1\n2\n")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(lines),
        "topic": cluster.target,
        "value.converter": "StringConverter",
    }
    assert driver.put("s", config).status_code == 201
    driver.until(lambda: cluster.arrived() == [0, 1, 2], "they have arrived")
    driver.until(lambda: driver.get("/connectors/s/offsets")["offsets"], "they are committed")
    assert driver.http.put("/connectors/s/stop").status_code == 204
    [row] = driver.get("/connectors/s/offsets")["offsets"]
    assert row["partition"] == {"filename": str(lines)}
    driver.until(lambda: driver.http.delete("/connectors/s/offsets").status_code == 200, "it is reset")
    assert driver.get("/connectors/s/offsets")["offsets"] == []
    assert driver.http.put("/connectors/s/resume").status_code == 202
    driver.until(lambda: cluster.arrived() == [0, 1, 2] * 2, "they have come again")


def test_control_records_leave_no_lag(broker: str, tmp_path: Path) -> None:
    """After transactions the end counts their markers, and after aborted ones all that nobody reads."""
    connector = Connector(broker, file_sink(tmp_path / "sink"))
    partition = connector.partitions[0]
    with closing(KafkaTransactional(transactional_settings(f"x-{connector.topic}", connector.client))) as producer:
        producer.init()
        for number in range(3):
            producer.begin()
            producer.produce(connector.topic, b"k", b"%d" % number, partition=0)
            producer.flush()
            (producer.abort if number == 2 else producer.commit)()
    report = connector.run()
    admin = KafkaAdmin(admin_settings(connector.client))
    ends = admin.end_offsets([partition])
    assert ends[partition] == 6  # three records and three markers
    committed = GroupOffsets(admin, no_consumer, unused).of_connector(connector.name, [partition])
    task = TaskRun(TaskConfig(connector.name, 0, 1, {}, (partition,)), positions=committed, located=True)
    assert (lag(task, ends), report.end) == (0, LeaseEnd.CAUGHT_UP)
    assert (tmp_path / "sink").read_text() == "0\n1\n"


def test_an_aborted_transaction_alone_keeps_no_task_busy(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "sink"))
    connector.run()
    partition = connector.partitions[0]
    with closing(KafkaTransactional(transactional_settings(f"x-{connector.topic}", connector.client))) as producer:
        producer.init()
        producer.begin()
        producer.produce(connector.topic, b"k", b"1", partition=0)
        producer.flush()
        producer.abort()
    ends = KafkaAdmin(admin_settings(connector.client)).end_offsets
    wait_until(lambda: ends([partition]) == {partition: 2}, "The abort's marker", 20, 0.02)  # written after the answer
    report = connector.run()
    assert report.positions == {f"{connector.topic}-0": 2}
    assert connector.committed()[partition] is not None
    assert (connector.committed()[partition] or Committed(0)).offset == 2


def no_consumer(_: str) -> KafkaConsumer:
    raise AssertionError("nothing is written without a transaction")


def unused(_: object, __: int) -> KafkaTransactional:
    raise AssertionError("nothing is written in a transaction")


def test_offsets_are_committed_again_in_a_transaction_and_unchanged(cluster: Cluster) -> None:
    worker, properties = parse_worker(cluster.properties), sink("c", cluster)
    partition = TopicPartition(cluster.origin, 0)
    consumer = KafkaConsumer(consumer_settings("connect-c", cluster.client))
    with closing(consumer):
        consumer.commit({partition: Committed(3, '{"memory": 1}')})
    offsets = GroupOffsets(
        cluster.admin, no_consumer, lambda rows, task: KafkaTransactional(task_settings(rows, task, worker))
    )
    task = TaskRun(TaskConfig("c", 0, 1, properties, (partition,), exactly_once=True), located=True)
    OffsetRefresh(offsets, cluster.admin.offsets_retention_ms, HerderSettings()).turn(
        HerderState(tasks={("c", 0): task}), 0
    )
    found = cluster.admin.committed("connect-c", [partition])
    assert found == {partition: Committed(3, '{"memory": 1}')}


def test_the_brokers_tell_how_long_they_keep_offsets(cluster: Cluster) -> None:
    assert cluster.admin.offsets_retention_ms() == 7 * 24 * 3_600_000


def test_a_driver_refuses_transactions_that_its_brokers_would_refuse(cluster: Cluster) -> None:
    worker = parse_worker(cluster.properties)
    limit = TransactionLimit(worker)
    assert limit() == cluster.admin.transaction_max_ms() == 900_000
    longest = {"name": "c", "connector.class": "KafkaSink", "topics": "t", "topic": "o"}
    timeout = "producer.override.transaction.timeout.ms"
    assert examine_connector({**longest, timeout: "900000"}, worker, limit).delivery is Delivery.EXACTLY_ONCE
    with pytest.raises(ConfigError, match="must be at most 900000"):
        examine_connector({**longest, timeout: "900001"}, worker, limit)
