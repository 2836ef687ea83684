"""Record the dead letters of the demo's past week with Kafka Connect: `python -m tests.conformance.record_week`."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import httpx

from benchmarks.anchors import start_connect
from demo.broker import LocalBroker
from demo.past_week import CONFIG, CONNECTOR, DEAD_LETTERS, RECORDED, PastWeek, past_events
from dlqadmin.host.network import HOST, free_ports, wait_until
from tests.support.topics import Record, read

SETTLE_S = 120


def main() -> None:
    """Run the connector over the events of the week, and write the key and the headers of each dead letter."""
    with tempfile.TemporaryDirectory(prefix="record-week-") as folder:
        broker = LocalBroker(Path(folder, "broker"), free_ports(2)[0]).start()
        try:
            letters = recorded(Path(folder), broker.bootstrap_servers)
        finally:
            broker.stop()
    damaged = {event.key for event, _ in past_events() if event.damage}
    assert {letter["key"].encode() for letter in letters} == damaged
    lines = "".join(json.dumps(letter) + "\n" for letter in letters)
    RECORDED.write_bytes(gzip.compress(lines.encode(), mtime=0))


def recorded(folder: Path, bootstrap_servers: str) -> list[dict[str, Any]]:
    """Return keys and headers of the dead letters of Kafka Connect, in their order in the topic."""
    week = PastWeek(bootstrap_servers)
    week.create_topics()
    week.send_events()
    expected = sum(bool(event.damage) for event, _ in past_events())
    with (
        start_connect(folder / "connect", bootstrap_servers) as connect,
        httpx.Client(base_url=f"http://{HOST}:{connect.port}", timeout=60) as http,
    ):
        wait_until(lambda: is_up(http), "Kafka Connect", SETTLE_S)
        config = {**CONFIG, "file": str(folder / "catalog.txt")}
        http.put(f"/connectors/{CONNECTOR}/config", json=config).raise_for_status()
        wait_until(lambda: len(read(bootstrap_servers, DEAD_LETTERS)) == expected, "The dead letters", SETTLE_S, 2)
        return [as_json(letter) for letter in read(bootstrap_servers, DEAD_LETTERS)]


def is_up(http: httpx.Client) -> bool:
    try:
        return http.get("/connectors").is_success
    except httpx.TransportError:
        return False


def as_json(letter: Record) -> dict[str, Any]:
    """Return the dead letter without its value, which is that of the event. All headers of Kafka Connect are text."""
    headers = [[name, (value or b"").decode()] for name, value in letter.headers]
    return {"key": (letter.key or b"").decode(), "headers": headers}


if __name__ == "__main__":
    main()
