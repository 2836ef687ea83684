"""A confluent-kafka consumer that writes records which failed to a dead letter topic, in a JSON envelope.

Usage: python writer.py BOOTSTRAP TOPIC DEAD_LETTERS GROUP
"""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Consumer, Message, Producer

ATTEMPTS = 3


def main(bootstrap: str, topic: str, dead_letters: str, group: str) -> None:
    """Consume until SIGTERM."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE earthquakes (id TEXT PRIMARY KEY, gap REAL, depth REAL CHECK (depth >= 0))")
    options = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**options, "enable.auto.commit": False})
    producer = Producer({"bootstrap.servers": bootstrap})
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    consumer.subscribe([topic])
    while not stopped:
        message = consumer.poll(0.2)
        if message is None or message.error():
            continue
        for attempt in range(1, ATTEMPTS + 1):
            try:
                store(database, message.value() or b"")
                break
            except Exception as error:  # noqa: BLE001, whatever the record raises
                if attempt == ATTEMPTS:
                    producer.produce(dead_letters, key=message.key(), value=envelope(message, error))
                    producer.flush()
        consumer.commit(message=message, asynchronous=False)
    consumer.close()


def store(database: sqlite3.Connection, value: bytes) -> None:
    """Parse and store one feature."""
    feature = json.loads(value)
    gap = round(feature["properties"]["gap"] + 0.05, 1)
    row = (feature["id"], gap, feature["geometry"]["coordinates"][2])
    with database:
        database.execute("REPLACE INTO earthquakes VALUES (?, ?, ?)", row)


def envelope(message: Message, error: Exception) -> bytes:
    """Return the dead letter: the error, where the record came from, and the record itself as text."""
    told: dict[str, Any] = {
        "error": type(error).__name__,
        "reason": str(error),
        "traceback": "".join(traceback.format_exception(error)),
        "src": {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": message.timestamp()[1],
        },
        "retries": ATTEMPTS - 1,
        "failed_at": datetime.now(UTC).isoformat(),
        "payload": (message.value() or b"").decode("utf-8", "replace"),
    }
    return json.dumps(told).encode()


if __name__ == "__main__":
    main(*sys.argv[1:])
