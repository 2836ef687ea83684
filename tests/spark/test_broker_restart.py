"""A broker goes away and comes back: nothing fails, nothing is missing."""

from __future__ import annotations

from pathlib import Path

import orjson

from demo.broker import LocalBroker
from tests.broker.mirror import Cluster
from tests.spark.engine_process import Engine, Topics, file_sink
from tests.spark.test_mirror import mirror


def test_an_engine_and_a_mirror_from_its_broker_wait_for_the_broker_and_go_on(
    engine: Engine, second_engine: Engine, second_broker: LocalBroker, second_topics: Topics, tmp_path: Path
) -> None:
    """The engine lives on the broker that goes away. The mirror's engine lives on another one, and reads from it."""
    sink, away, topic = f"waiting-{tmp_path.name}", f"away-{tmp_path.name}", second_topics.create()
    second_engine.put(sink, **file_sink(topic, tmp_path / "sink"))
    engine.put(away, **mirror(Cluster(second_broker.bootstrap_servers), topic))
    second_topics.write(topic, [b'{"n": %d}' % number for number in range(100)])
    second_engine.await_delivered(sink, 100)
    second_engine.until(lambda: second_engine.caught_up(sink), "the sink has caught up")
    engine.await_delivered(away, 100)

    second_broker.kill()
    second_engine.until(lambda: second_engine.health() == "degraded", "the engine shows the trouble")
    engine.until(
        lambda: any("source cluster A" in (task["parked_reason"] or "") for task in engine.tasks(away)),
        "the mirror names the cluster",
    )
    assert engine.health() == "ok"

    second_broker.start()
    second_topics.write(topic, [b'{"n": %d}' % number for number in range(100, 200)])
    second_engine.await_delivered(sink, 200)
    assert second_engine.states(sink) == ["RUNNING"]
    written = [orjson.loads(line)["n"] for line in (tmp_path / "sink").read_bytes().splitlines()]
    assert set(written) == set(range(200))
    engine.await_delivered(away, 200)
