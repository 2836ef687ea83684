"""Drivers of one cluster on a real broker, each in a process of its own: one leads, and nobody else writes."""

from __future__ import annotations

import signal
from pathlib import Path
from uuid import uuid4

import orjson
import pytest

from demo.broker import LocalBroker
from engine.config.client_names import leader_id
from engine.config.topic import ConfigState, fold_all
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, producer_settings, transactional_settings
from engine.kafka.producer import KafkaProducer
from engine.kafka.transactional import KafkaTransactional
from engine.record.record import RawRecord, TopicPartition
from tests.broker.connector import read_all
from tests.broker.driver import Driver, running
from tests.support.permissions import ALLOWED


class Cluster:
    """Topics and drivers of one cluster of workers."""

    def __init__(self, broker: str, home: Path) -> None:
        mark = uuid4().hex[:8]
        self.broker, self.home, self.group = broker, home, f"g-{mark}"
        self.configs, self.origin, self.target = f"configs-{mark}", f"in-{mark}", f"out-{mark}"
        self.properties = {
            "bootstrap.servers": broker,
            **ALLOWED,
            "group.id": self.group,
            "config.storage.topic": self.configs,
            "status.storage.topic": f"status-{mark}",
            "offset.storage.topic": f"offsets-{mark}",
            "offset.storage.partitions": "1",
            "outcome.storage.topic": f"outcomes-{mark}",
            "session.timeout.ms": "6000",
            "offset.flush.interval.ms": "200",
            "lease.budget.ms": "2000",
            "reconnect.backoff.max.ms": "200",  # the client waits up to ten seconds after a broker is back
        }
        self.client = {"bootstrap.servers": broker}
        self.admin = KafkaAdmin(admin_settings(self.client))
        self.admin.create_topic(self.origin, 2, 1)
        self.admin.create_topic(self.target, 1, 1)
        self.sent = 0

    def driver(self) -> Driver:
        return Driver(self.home, self.properties)

    def connector(self, **more: str) -> dict[str, str]:
        return {
            "connector.class": "KafkaSink",
            "topics": self.origin,
            "topic": self.target,
            "tasks.max": "2",
            "key.converter": "StringConverter",
            "value.converter": "StringConverter",
            **more,
        }

    def send(self, records: int) -> None:
        """Numbered records, in order in each of the two partitions."""
        producer = KafkaProducer(producer_settings(self.client))
        for number in range(self.sent, self.sent + records):
            producer.produce(self.origin, b"%d" % (number % 2), b"%d" % number, partition=number % 2)
        producer.flush()
        self.sent += records

    def arrived(self) -> list[int]:
        """What a read_committed reader finds at the target."""
        return [int(record.value or b"") for record in read_all(self.broker, TopicPartition(self.target, 0))]

    def is_whole(self) -> bool:
        """Is every record there? Fails when one is there twice, or out of order."""
        found = self.arrived()
        for half in (0, 1):
            numbers = [number for number in found if number % 2 == half]
            assert numbers == sorted(set(numbers))
        return len(found) == self.sent

    def records(self) -> list[RawRecord]:
        """The config topic as it was written."""
        return read_all(self.broker, TopicPartition(self.configs, 0))

    def config(self) -> ConfigState:
        return fold_all(ConfigState(), [(record.key, record.value) for record in self.records()])


@pytest.fixture
def cluster(broker: str, tmp_path: Path) -> Cluster:
    return Cluster(broker, tmp_path)


def leaders(cluster: Cluster) -> list[tuple[int, str]]:
    """(epoch, url) of each leader record, in order."""
    rows = [orjson.loads(record.value or b"{}") for record in cluster.records() if record.key == b"leader"]
    return [(row["epoch"], row["url"]) for row in rows]


def test_the_second_takes_over_when_the_first_stops_and_goes_on_with_its_work(cluster: Cluster) -> None:
    first, second = cluster.driver(), cluster.driver()
    with running(first, second):
        first.start().await_leading()
        second.start().await_standby()
        assert first.put("c", cluster.connector()).status_code == 201
        cluster.send(1000)
        first.until(cluster.is_whole, "the first half has arrived")
        second.until(lambda: second.health() == "standby", "it still stands by")
        first.stop()
        second.await_leading()
        cluster.send(1000)
        second.until(cluster.is_whole, "all have arrived")
        assert leaders(cluster)[-1] == (3, second.url)  # the first resigned with an epoch of its own


def test_a_driver_that_stands_by_forwards_requests_to_the_leader(cluster: Cluster) -> None:
    first, second = cluster.driver(), cluster.driver()
    with running(first, second):
        first.start().await_leading()
        second.start().await_standby()
        answer = second.put("c", cluster.connector())
        assert (answer.status_code, answer.headers["location"]) == (201, f"{first.url}/connectors/c")
        assert second.http.get("/connectors").json() == first.http.get("/connectors").json() == ["c"]
        assert second.http.get("/connectors?forward=false").status_code == 409
        assert second.get("/health/details")["leader"] == first.url


def test_the_second_takes_over_from_a_killed_leader(cluster: Cluster) -> None:
    first, second = cluster.driver(), cluster.driver()
    with running(first, second):
        first.start().await_leading()
        second.start().await_standby()
        assert first.put("c", cluster.connector()).status_code == 201
        cluster.send(4000)
        first.until(cluster.arrived, "some have arrived")
        first.kill()
        second.await_leading()
        second.until(cluster.is_whole, "all have arrived, once")


def test_a_leader_that_sleeps_and_wakes_writes_nothing_and_stands_by(cluster: Cluster) -> None:
    """KIP-618, leader access to config topic: the zombie leader is shut out, and so are its leases."""
    first, second = cluster.driver(), cluster.driver()
    with running(first, second):
        first.start().await_leading()
        assert first.put("c", cluster.connector()).status_code == 201
        second.start().await_standby()
        cluster.send(4000)
        first.until(cluster.arrived, "some have arrived")
        first.signal(signal.SIGSTOP)
        second.await_leading()
        assert second.put("c", cluster.connector(**{"tasks.max": "1"})).status_code == 200
        second.until(lambda: cluster.config().connectors["c"].fenced, "the new generation is fenced in")
        second.until(cluster.is_whole, "all have arrived, once")
        ours = len(cluster.records())
        first.signal(signal.SIGCONT)
        first.await_standby()
        first.until(lambda: first.get("/health/details")["leader"] == second.url, "it knows who leads")
        cluster.send(1000)
        second.until(cluster.is_whole, "what came later has arrived, once")
        assert {url for _, url in leaders(cluster)[1:] if url != first.url} == {second.url}
        assert [record for record in cluster.records()[ours:] if record.key != b"leader"] == []
        assert leaders(cluster)[-1][1] == second.url
        assert second.health() == "ok"


def test_a_leader_whose_id_is_taken_fails_one_request_and_goes_on(cluster: Cluster) -> None:
    """E-91, ExactlyOnceSourceIntegrationTest#testFencedLeaderRecovery: with a sink that writes transactions."""
    driver = cluster.driver()
    with running(driver):
        driver.start().await_leading()
        cluster.send(500)
        assert driver.put("c", cluster.connector()).status_code == 201
        driver.until(cluster.is_whole, "the first have arrived")
        epoch = cluster.config().leader.epoch
        other = KafkaTransactional(transactional_settings(leader_id(cluster.group), cluster.client))
        other.init()
        assert driver.put("c", cluster.connector(**{"tasks.max": "1"})).status_code in {307, 409}
        driver.until(lambda: driver.put("c", cluster.connector(**{"tasks.max": "1"})).status_code == 200, "it is done")
        assert cluster.config().leader.epoch == epoch + 1
        cluster.send(500)
        driver.until(cluster.is_whole, "all have arrived, once")
        other.close()


def test_a_driver_alone_leads_again_at_once_after_a_stop(cluster: Cluster) -> None:
    for epoch in (1, 3):
        driver = cluster.driver()
        with running(driver):
            driver.start().await_leading()
            assert cluster.config().leader.epoch == epoch


@pytest.mark.soak  # tests/spark/test_broker_restart.py shows it with Spark
def test_a_driver_alone_outlives_its_broker(own_broker: LocalBroker, tmp_path: Path) -> None:
    """It shows what it saw last and writes nothing meanwhile, and its connector goes on when the broker is back."""
    cluster = Cluster(own_broker.bootstrap_servers, tmp_path)
    driver = cluster.driver()
    with running(driver):
        driver.start().await_leading()
        assert driver.put("c", cluster.connector()).status_code == 201
        cluster.send(100)
        driver.until(cluster.is_whole, "the first have arrived")
        own_broker.kill()
        one = cluster.connector(**{"tasks.max": "1"})
        driver.until(lambda: driver.put("c", one).status_code in {409, 503}, "a change is refused")
        assert driver.get("/connectors") == ["c"]
        own_broker.start()
        driver.await_leading()
        cluster.send(100)
        driver.until(cluster.is_whole, "all have arrived, once")
