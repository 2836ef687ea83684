"""The engine tells what became of records that were written back."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from engine.record.replay import ITEM
from tests.spark.engine_process import Engine, Topics, file_sink


def test_the_driver_makes_the_outcome_topic_for_seven_days(engine: Engine) -> None:
    resource = ConfigResource(ResourceType.TOPIC, engine.outcome_topic)
    client = AdminClient({"bootstrap.servers": engine.bootstrap_servers})
    config = client.describe_configs([resource])[resource].result(60)
    assert (config["cleanup.policy"].value, config["retention.ms"].value) == ("delete", "604800000")


def test_what_is_replayed_is_reported_by_its_item(engine: Engine, topics: Topics, tmp_path: Path) -> None:
    name, topic = f"replayed-{tmp_path.name}", topics.create()
    topics.write(topic, [b'{"n": 1}'], headers=((ITEM, b"r/1"),))
    topics.write(topic, [b'{"n": 2}'])
    engine.put(name, **file_sink(topic, tmp_path / "sink"))
    engine.until(lambda: engine.caught_up(name), "it has caught up")
    reports = [line for line in topics.read(engine.outcome_topic) if line["connector"] == name]
    assert [(line["item"], line["offset"], line["outcome"]) for line in reports] == [("r/1", 0, "delivered")]
