"""Write a few records to a topic of the own cluster, and wait until they are durable."""

from __future__ import annotations

from collections.abc import Iterable

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from engine import errors
from engine.kafka.producer import KafkaProducer

DELIVERY_TIMEOUT_MS = 10_000


def publish(topic: str, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Write (key, value) rows in order; return when all are durable.

    Raises BrokerUnavailable; some rows may have been written by then.
    """
    options = topics.client_config(
        {"enable.idempotence": "true", "acks": "all", "delivery.timeout.ms": DELIVERY_TIMEOUT_MS}
    )
    try:
        producer = KafkaProducer({name: str(value) for name, value in options.items()})
        try:
            producer.produce_all([(topic, key, value, (), None, None) for key, value in rows])
            producer.flush()
        finally:
            producer.close()
    except errors.EngineError as error:
        raise BrokerUnavailable(str(error)) from error
