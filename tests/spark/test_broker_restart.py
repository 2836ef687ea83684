"""The broker goes away and comes back: nothing fails, nothing is missing."""

from __future__ import annotations

from pathlib import Path

import orjson

from demo.broker import Broker
from tests.spark.engine_process import Engine, Topics, file_sink


def test_the_engine_waits_for_its_broker_and_goes_on(tmp_path: Path, own_broker: Broker) -> None:
    engine, topics = Engine(tmp_path / "engine", own_broker.bootstrap_servers), Topics(own_broker.bootstrap_servers)
    try:
        engine.start()
        topic = topics.create()
        engine.put("c", **file_sink(topic, tmp_path / "sink"))
        topics.write(topic, [b'{"n": %d}' % number for number in range(100)])
        engine.until(lambda: engine.caught_up("c") and engine.metric("c", "records-delivered"), "it has caught up")
        own_broker.kill()
        engine.until(lambda: engine.http.get("/health").json()["status"] == "degraded", "the trouble is shown")
        own_broker.start()
        topics.write(topic, [b'{"n": %d}' % number for number in range(100, 200)])
        engine.until(lambda: engine.metric("c", "records-delivered") == 200, "it goes on")
        assert engine.states("c") == ["RUNNING"]
        written = [orjson.loads(line)["n"] for line in (tmp_path / "sink").read_bytes().splitlines()]
        assert set(written) == set(range(200))
    finally:
        engine.close()
