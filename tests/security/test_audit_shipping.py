"""Sealed audit entries reach a Kafka topic in the order of their chain."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from pytest_django import Settings

from dlqadmin.audit import chain, shipments
from dlqadmin.audit.entries import record
from dlqadmin.audit.models import AuditEntry
from dlqadmin.broker import topics


@pytest.mark.usefixtures("db")
def test_entries_reach_a_topic_in_order(settings: Settings, broker: str) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_SECURITY, settings.KAFKA_TIMEOUT_S = broker, {}, 30.0
    topic = f"audit-{secrets.token_hex(4)}"
    topics.create(topic, 3, {})
    settings.AUDIT_SHIP_TO = f"kafka:{topic}"
    AuditEntry.objects.all().delete()
    for number in range(20):
        record("somebody", "did", "act", str(number))
    chain.seal_all()
    assert shipments.ship() == 20
    assert shipments.shipping_lag() == (0, "")
    assert [row["seq"] for row in read(broker, topic, 20)] == [*range(1, 21)]


def read(broker: str, topic: str, count: int) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": broker, "group.id": topic, "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(3)])
        found = [message for _ in range(count) if (message := consumer.poll(30))]
        assert all(message.error() is None for message in found)
        assert len({message.partition() for message in found}) == 1
        return [json.loads(message.value() or b"") for message in found]
    finally:
        consumer.close()
