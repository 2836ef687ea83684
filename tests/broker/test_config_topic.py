"""Readers of the config topic on a real broker: records of an aborted transaction never count (KIP-618)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from engine.config.topic import KeyValue, commit_record, connector_record
from engine.kafka.client_options import transactional_settings
from engine.kafka.transactional import KafkaTransactional
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector, file_sink
from tests.broker.driver import Driver, running

UNCOMMITTED = {"consumer.isolation.level": "read_uncommitted"}


def abort(connector: Connector, *rows: KeyValue) -> None:
    """Write the rows to the config topic in a transaction that is aborted, as that of a fenced leader is."""
    name = f"leader-{connector.name}"
    with closing(KafkaTransactional(transactional_settings(name, connector.client))) as producer:
        producer.init()
        producer.begin()
        for row in rows:
            producer.produce(connector.worker["config.storage.topic"], *row)
        producer.flush()
        producer.abort()


def test_a_lease_ignores_an_aborted_generation_whatever_the_workers_isolation_level(
    broker: str, tmp_path: Path
) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    connector.worker |= UNCOMMITTED
    connector.send([b"1"])
    abort(connector, commit_record(connector.name, 1, 2))
    assert connector.run().end is LeaseEnd.CAUGHT_UP


def test_a_driver_ignores_an_aborted_connector_whatever_the_workers_isolation_level(
    broker: str, tmp_path: Path
) -> None:
    connector = Connector(broker, file_sink(tmp_path / "out"))
    abort(connector, connector_record("never", {"name": "never"}))
    worker = {
        **connector.worker,
        **UNCOMMITTED,
        "status.storage.topic": f"status-{connector.name}",
        "offset.storage.topic": f"offsets-{connector.name}",
        "offset.storage.partitions": "1",
    }
    driver = Driver(tmp_path, worker)
    with running(driver):
        assert driver.start().await_leading().get("/connectors") == [connector.name]
